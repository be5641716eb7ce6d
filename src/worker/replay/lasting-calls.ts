/**
 * Calls of one session that outlive the object that ran them. What was asked and answered is stored, so that an answer
 * which comes when nothing of the run is left runs the handler again, up to where it was, on the stream it had. The
 * object may sleep while a person thinks.
 *
 * Rows in the object's key-value store, one written when a question goes out, when its answer comes, and for each step;
 * for a tool declared idempotent or read-only also when its stream begins. All are deleted when the call has ended.
 *
 * | key | what |
 * | --- | --- |
 * | `call:<session>:<stream>` | the call; in layout 1 with all that it remembers |
 * | `more:<session>:<stream>:<n>`, n from 1 | what it remembers beyond that, in order |
 *
 * @module
 */

import { QuestionError, refused, timedOut } from "../../core/ask/question-errors.ts";
import type { Registry } from "../../core/define/registry.ts";
import type {
  JSONRPCErrorResponse,
  JSONRPCResultResponse,
  ParsedMessage,
  RequestId,
} from "../../core/protocol/jsonrpc.ts";
import { failedEntry, type JournalEntry, newJournal } from "../../core/run/journal.ts";
import type { SessionPost } from "../../http/sessions.ts";
import type { Storable } from "../../http/storable-request.ts";
import type { EventLog, StreamRow } from "../sessions/event-log.ts";
import type { Caller } from "../sessions/session-state.ts";
import { CallMemory, type StoredCall, type StoredChange } from "./call-memory.ts";

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
  readonly #storable: Storable;
  readonly #prefix: string;
  /** Those that run in this life of the object, as the run knows them. */
  readonly #live = new Map<number, CallMemory>();

  /** @param storable Gives what may be stored of the request that began a call. */
  constructor(host: LastingHost, storable: Storable) {
    this.#host = host;
    this.#storable = storable;
    this.#prefix = `call:${host.session}:`;
  }

  /** What a call about to run remembers; undefined for one that cannot ask. Stores nothing. */
  remember(caller: Caller, post: SessionPost, stream: number): CallMemory | undefined {
    if (post.isBatch || post.form === "json" || !post.messages.some(({ kind }) => kind === "request")) return undefined;
    const fresh = { journal: newJournal(), questions: {}, isRepeatable: false, reruns: 0 };
    return this.#keep(this.#memoryOf({ stream, caller, post, ...fresh }));
  }

  /** The stream of a call begins: from now on it can be lost. */
  begin(memory: CallMemory, server: Registry): void {
    if (memory.post.messages.every((parsed) => isRepeatable(server, parsed))) memory.repeatable();
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
    const memory = this.#read(this.#host.kv.get<StoredCall>(this.#prefix + id));
    if (!memory) return false;
    const waits = Object.keys(memory.questions).length > 0;
    if (memory.reruns >= RERUNS_MAX || !(waits || memory.isRepeatable)) {
      this.#delete(id);
      return false;
    }
    if (!waits) this.#host.rerun(this.#keep(memory));
    return true;
  }

  /** An answer that nobody in memory waits for: of a call that was lost, or of none. */
  answered(response: JSONRPCResultResponse | JSONRPCErrorResponse): void {
    const { id = "" } = response;
    const memory = this.#all().find(({ questions }) => Object.hasOwn(questions, id));
    const question = memory?.questions[id];
    if (!memory || !question) return;
    const { key, digest } = question;
    const failed = "error" in response ? failedEntry(key, digest, refused(response.error)) : undefined;
    this.#hears(memory, failed ?? { key, digest, answer: "result" in response ? response.result : undefined });
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
    for (const memory of this.#all()) {
      for (const [id, { key, digest, untilMs }] of Object.entries(memory.questions)) {
        if (untilMs > nowMs) nextMs = Math.min(nextMs, untilMs);
        else if (!this.#host.expire(id)) this.#hears(memory, failedEntry(key, digest, timedOut("the question")));
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

  #hears(memory: CallMemory, entry: JournalEntry): void {
    const isLive = this.#live.has(memory.stream);
    this.#keep(memory);
    try {
      memory.record(entry);
    } catch (error) {
      // The answer is too large: that is recorded, and the handler meets it.
      if (!(error instanceof QuestionError)) throw error;
    }
    if (!isLive) this.#host.rerun(memory);
  }

  #keep(memory: CallMemory): CallMemory {
    this.#live.set(memory.stream, memory);
    return memory;
  }

  #memoryOf(call: StoredCall, rows?: readonly (readonly StoredChange[])[]): CallMemory {
    const { kv, wakeAt } = this.#host;
    const put = (row: number, value: StoredCall | readonly StoredChange[]) =>
      kv.put(this.#keyOf(call.stream, row), value);
    const storable = (post: SessionPost) => ({ ...post, request: this.#storable(post.request) });
    return new CallMemory({ put, storable, wakeAt }, call, rows);
  }

  /** A stored call, by its first row. */
  #read(call: StoredCall | undefined): CallMemory | undefined {
    if (!call) return undefined;
    const rows: (readonly StoredChange[])[] = [];
    for (;;) {
      const row = this.#host.kv.get<readonly StoredChange[]>(this.#keyOf(call.stream, rows.length + 1));
      if (!row) return this.#memoryOf(call, rows);
      rows.push(row);
    }
  }

  /** The stored calls of the session: as their runs know them, or as they were left. */
  #all(): CallMemory[] {
    const calls = [...this.#host.kv.list<StoredCall>({ prefix: this.#prefix })];
    return calls.flatMap(([, call]) => this.#live.get(call.stream) ?? this.#read(call) ?? []);
  }

  #delete(stream: number): void {
    for (let row = 0; this.#host.kv.delete(this.#keyOf(stream, row)); row += 1);
  }

  #keyOf(stream: number, row: number): string {
    return row === 0 ? this.#prefix + stream : `more:${this.#host.session}:${stream}:${row}`;
  }
}

/** Whether the tool called says that it may be run again. */
function isRepeatable(server: Registry, parsed: ParsedMessage): boolean {
  if (parsed.kind !== "request" || parsed.message.method !== "tools/call") return false;
  const hints = server.tools.find(String(parsed.message.params?.name))?.hints;
  return hints !== undefined && (hints.idempotent || hints.readOnly);
}
