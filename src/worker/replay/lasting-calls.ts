/**
 * Calls of one session that outlive the object that ran them. What was asked and answered is stored, so that an answer
 * which comes when nothing of the run is left runs the handler again, up to where it was, on the stream it had. The
 * object may sleep while a person thinks.
 *
 * One row to each such call, in the object's key-value store: written when a question goes out, when its answer comes,
 * and for each step; a tool declared idempotent or read-only has one from when its stream begins. Deleted when the call
 * has ended.
 *
 * @module
 */
import { refusalOf, timedOut } from "../../core/asking.ts";
import { KitError } from "../../core/errors.ts";
import type { JSONRPCErrorResponse, JSONRPCResultResponse, ParsedMessage, RequestId } from "../../core/jsonrpc.ts";
import { failedEntry, type JournalEntry, newJournal } from "../../core/replay/journal.ts";
import type { McpServer } from "../../core/server.ts";
import type { SessionPost } from "../../http/sessions.ts";
import type { EventLog, StreamRow } from "../sessions/event-log.ts";
import type { Caller } from "../sessions/session-state.ts";
import { CallMemory, type StoredCall } from "./call-memory.ts";

/** What lasting calls need of their session. */
export interface LastingHost {
  readonly kv: SyncKvStorage;
  readonly log: EventLog;
  readonly session: number;
  /** Asks for an alarm, no later than this. */
  readonly wakeAt: (atMs: number) => void;
  /** Runs a call again, on the stream it had. */
  readonly rerun: (memory: CallMemory) => void;
  /** Gives up a question that somebody in memory waits for; false when nobody does. */
  readonly expire: (id: RequestId) => boolean;
}

/** Reruns of one call: what ends the object each time is not to do so for ever. */
const RERUNS_MAX = 3;

export class LastingCalls {
  readonly #host: LastingHost;
  readonly #prefix: string;
  /** Those that run in this life of the object, as the run knows them. */
  readonly #live = new Map<number, CallMemory>();

  constructor(host: LastingHost) {
    this.#host = host;
    this.#prefix = `call:${host.session}:`;
  }

  /** What a call about to run remembers; undefined for one that cannot ask. Stores nothing. */
  remember(caller: Caller, post: SessionPost, stream: number): CallMemory | undefined {
    if (post.isBatch || post.form === "json" || !post.messages.some(({ kind }) => kind === "request")) return undefined;
    const fresh = { journal: newJournal(), questions: {}, isRepeatable: false, reruns: 0 };
    return this.#keep({ stream, caller, post, ...fresh }, false);
  }

  /** The stream of a call begins: from now on it can be lost. */
  begin<Env>(memory: CallMemory, server: McpServer<Env>): void {
    if (memory.call.post.messages.every((parsed) => isRepeatable(server, parsed))) memory.repeatable();
  }

  /** The run has ended. */
  forget(stream: number): void {
    if (this.#live.get(stream)?.isStored) this.#delete(stream);
    this.#live.delete(stream);
  }

  /** The session has ended. */
  forgetAll(): void {
    for (const { stream } of this.#all()) this.#delete(stream);
  }

  /** Whether a call that was lost goes on: when its client answers, or by itself, and then it does from now on. */
  goesOn({ id }: StreamRow): boolean {
    const call = this.#host.kv.get<StoredCall>(this.#prefix + id);
    const waits = Object.keys(call?.questions ?? {}).length > 0;
    if (!call) return false;
    if (call.reruns >= RERUNS_MAX || !(waits || call.isRepeatable)) {
      this.#delete(id);
      return false;
    }
    if (!waits) this.#host.rerun(this.#keep(call, true));
    return true;
  }

  /** An answer that nobody in memory waits for: of a call that was lost, or of none. */
  answered(response: JSONRPCResultResponse | JSONRPCErrorResponse): void {
    const { id = "" } = response;
    const call = this.#all().find(({ questions }) => Object.hasOwn(questions, id));
    const question = call?.questions[id];
    if (!call || !question) return;
    const { key, digest } = question;
    const failed = "error" in response ? failedEntry(key, digest, refusalOf(response)) : undefined;
    this.#hears(call, failed ?? { key, digest, answer: "result" in response ? response.result : undefined });
  }

  /** Forgets calls of a request id that are lost and wait. @returns Their streams. */
  cancelled(id: RequestId): number[] {
    const lost = this.#all().filter(({ stream, post }) => {
      return !this.#live.has(stream) && post.messages.some((each) => each.kind === "request" && each.message.id === id);
    });
    return lost.map(({ stream }) => {
      this.#delete(stream);
      return stream;
    });
  }

  /** Gives up questions that have had their time. @returns When the next of them has had its own. */
  expire(nowMs: number): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const call of this.#all()) {
      for (const [id, { key, digest, untilMs }] of Object.entries(call.questions)) {
        if (untilMs > nowMs) nextMs = Math.min(nextMs, untilMs);
        else if (!this.#host.expire(id)) this.#hears(call, failedEntry(key, digest, timedOut("the question")));
      }
    }
    return nextMs;
  }

  /** The last progress a lost run said: what runs again goes on after it. */
  lastProgress(stream: number): number | undefined {
    let last: number | undefined;
    for (const { frames } of this.#host.log.after(stream, { seq: 0, rank: 0 })) {
      for (const [, value] of frames.matchAll(/"method":"notifications\/progress".*?"progress":(-?[\d.e+-]+)/g)) {
        last = Number(value);
      }
    }
    return last;
  }

  #hears(call: StoredCall, entry: JournalEntry): void {
    const live = this.#live.get(call.stream);
    const memory = live ?? this.#keep(call, true);
    try {
      memory.record(entry);
    } catch (error) {
      // One too large counts as invalid: the handler meets that.
      if (!KitError.is(error)) throw error;
    }
    if (!live) this.#host.rerun(memory);
  }

  #keep(call: StoredCall, isStored: boolean): CallMemory {
    const { kv, wakeAt } = this.#host;
    const put = (changed: StoredCall) => kv.put(this.#prefix + call.stream, changed);
    const memory = new CallMemory({ put, wakeAt }, call, isStored);
    this.#live.set(call.stream, memory);
    return memory;
  }

  #all(): StoredCall[] {
    return [...this.#host.kv.list<StoredCall>({ prefix: this.#prefix })].map(([, call]) => call);
  }

  #delete(stream: number): void {
    this.#host.kv.delete(this.#prefix + stream);
  }
}

/** Whether the tool called says that it may be run again. */
function isRepeatable<Env>(server: McpServer<Env>, parsed: ParsedMessage): boolean {
  if (parsed.kind !== "request" || parsed.message.method !== "tools/call") return false;
  const hints = server.tools.find(String(parsed.message.params?.name))?.hints;
  return hints !== undefined && (hints.idempotent || hints.readOnly);
}
