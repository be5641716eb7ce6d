/**
 * The durable calls of one session, which survive a restart of their Durable Object. Questions and answers are stored.
 * When an answer arrives after a restart, the handler runs again up to the question, on the same stream. The object may
 * therefore be evicted while the user takes time to answer.
 *
 * One row of the object's key-value store is written for each question, each answer and each step. For a tool that is
 * declared idempotent or read-only, a row is also written when its stream begins. All rows are deleted when the call ends.
 *
 * | key | content |
 * | --- | --- |
 * | `call:<session>:<stream>` | the call, with its journal and questions while they are short |
 * | `more:<session>:<stream>:<n>`, n from 1 | later changes of the call, in order |
 *
 * @module
 */

import { QuestionError, refused, timedOut } from "../../core/ask/question-errors.ts";
import { findCalledTool } from "../../core/define/called-tool.ts";
import type { Registry } from "../../core/define/registry.ts";
import { isRepeatable } from "../../core/define/tool.ts";
import type {
  JSONRPCErrorResponse,
  JSONRPCResultResponse,
  ParsedMessage,
  RequestId,
} from "../../core/protocol/jsonrpc.ts";
import { failedEntry, type JournalEntry, newJournal } from "../../core/run/journal.ts";
import type { LegacyContext } from "../../http/legacy.ts";
import type { SessionPost } from "../../http/sessions.ts";
import type { Storable } from "../../http/storable-request.ts";
import type { EventLog, StreamRow } from "../sessions/event-log.ts";
import type { Caller } from "../sessions/session-state.ts";
import { DurableCall, type StoredCall, type StoredChange } from "./durable-call.ts";

/** The services that durable calls receive from their session. */
export interface DurableCallsHost {
  readonly kv: SyncKvStorage;
  readonly log: EventLog;
  readonly session: number;
  /** Requests an alarm at this time or earlier. */
  readonly wakeAt: (atMs: number) => void;
  /** Runs a call again on its stream. */
  readonly rerun: (call: DurableCall) => void;
  /** Rejects an open question of a run in memory. Returns false if no run waits for it. */
  readonly expire: (id: RequestId) => boolean;
}

/**
 * The maximum number of consecutive reruns of a call without progress. A call that crashes its object is not run forever.
 * @limit count Consecutive reruns of a legacy call that a reset of its object interrupts without progress. The call then
 * fails.
 */
const RERUNS_MAX = 3;

export class DurableCalls {
  readonly #host: DurableCallsHost;
  readonly #storable: Storable;
  readonly #prefix: string;
  /** The calls that are running, by stream. */
  readonly #live = new Map<number, DurableCall>();

  /** @param storable Returns the part of an HTTP request that may be stored. */
  constructor(host: DurableCallsHost, storable: Storable) {
    this.#host = host;
    this.#storable = storable;
    this.#prefix = `call:${host.session}:`;
  }

  /**
   * Returns the durable call for a POST that is about to be served, or undefined if its handler cannot ask. The call is
   * not stored yet.
   */
  remember(caller: Caller, post: SessionPost, stream: number): DurableCall | undefined {
    if (post.isBatch || post.form === "json" || !post.messages.some(({ kind }) => kind === "request")) return undefined;
    const fresh = { journal: newJournal(), questions: {}, isRepeatable: false, reruns: 0 };
    return this.#keep(this.#durableCall({ stream, caller, post, ...fresh }));
  }

  /** Called when the stream of a call begins. From then on, a reset of the object does not end the call for the client. */
  begin(call: DurableCall, registry: Registry): void {
    if (call.post.messages.every((parsed) => callsRepeatable(registry, parsed))) call.repeatable();
  }

  /** Called when the run of a call has ended. */
  forget(stream: number): void {
    const call = this.#live.get(stream);
    if (!call) return;
    if (call.isStored) this.#delete(stream);
    call.isDeleted = true;
    this.#live.delete(stream);
  }

  /** Called when the session has ended. */
  forgetAll(): void {
    for (const { stream } of this.#all()) this.#delete(stream);
  }

  /**
   * Continues a call that was interrupted by a reset, if possible. A call with open questions continues when its client
   * answers, a repeatable call immediately. Returns whether the call continues.
   */
  tryResume({ id }: StreamRow): boolean {
    const call = this.#read(this.#host.kv.get<StoredCall>(this.#prefix + id));
    if (!call) return false;
    const { isAsking } = call;
    if (call.reruns >= RERUNS_MAX || !(isAsking || call.isRepeatable)) {
      this.#delete(id);
      return false;
    }
    if (!isAsking) this.#host.rerun(this.#keep(call));
    return true;
  }

  /** Records an answer for which no run in memory waits. It is ignored unless it belongs to an interrupted call. */
  answered(response: JSONRPCResultResponse | JSONRPCErrorResponse): void {
    const { id = "" } = response;
    const call = this.#all().find(({ questions }) => Object.hasOwn(questions, id));
    const question = call?.questions[id];
    if (!call || !question) return;
    const { key, digest } = question;
    const failed = "error" in response ? failedEntry(key, digest, refused(response.error)) : undefined;
    this.#record(call, failed ?? { key, digest, answer: "result" in response ? response.result : undefined });
  }

  /**
   * Deletes the interrupted calls that contain a cancelled request.
   *
   * @param isAllowed Returns whether the client may cancel a call.
   * @returns The numbers of their streams.
   */
  cancelled(id: RequestId, isAllowed: (post: SessionPost) => boolean): number[] {
    const lost = this.#all().filter(({ stream, post }) => {
      const isCall = post.messages.some((each) => each.kind === "request" && each.message.id === id);
      return isCall && !this.#live.has(stream) && isAllowed(post);
    });
    return lost.map(({ stream }) => {
      this.#delete(stream);
      return stream;
    });
  }

  /** Times out expired questions. @returns When the next question expires, in epoch milliseconds; Infinity if none does. */
  expire(nowMs: number): number {
    let nextMs = Infinity;
    for (const call of this.#all()) {
      for (const [id, { key, digest, untilMs }] of Object.entries(call.questions)) {
        if (untilMs > nowMs) nextMs = Math.min(nextMs, untilMs);
        else if (!this.#host.expire(id)) this.#record(call, failedEntry(key, digest, timedOut("the question")));
      }
    }
    return nextMs;
  }

  /** Returns the parts of a durable call that its next run uses. */
  recordingOf({ journal, record, startTimer, reruns, stream }: DurableCall): LegacyContext["recording"] {
    const progressAfter = reruns > 0 ? this.#lastProgress(stream) : undefined;
    return { journal, record: record as (entry: unknown) => void, startTimer, progressAfter };
  }

  /** Returns the last progress that an interrupted run reported, because progress must increase. */
  #lastProgress(stream: number): number | undefined {
    let last: number | undefined;
    for (const { frames } of this.#host.log.after(stream, { seq: 0, rank: 0 })) {
      for (const [, value] of frames.matchAll(/"method":"notifications\/progress".*?"progress":(-?[\d.e+-]+)/g)) {
        last = Number(value);
      }
    }
    return last;
  }

  #record(call: DurableCall, entry: JournalEntry): void {
    try {
      call.record(entry);
    } catch (error) {
      // The answer is too large. The error has been recorded instead of the answer and will be thrown in the handler.
      if (!(error instanceof QuestionError)) throw error;
    }
    // A call whose answer could not be stored is read again when the client repeats the answer.
    if (!this.#live.has(call.stream)) this.#host.rerun(this.#keep(call));
  }

  #keep(call: DurableCall): DurableCall {
    this.#live.set(call.stream, call);
    return call;
  }

  #durableCall(call: StoredCall, rows?: readonly (readonly StoredChange[])[]): DurableCall {
    const { kv, wakeAt } = this.#host;
    const put = (row: number, value: StoredCall | readonly StoredChange[]) =>
      kv.put(this.#keyOf(call.stream, row), value);
    const storable = (post: SessionPost) => ({ ...post, request: this.#storable(post.request) });
    return new DurableCall({ put, storable, wakeAt }, call, rows);
  }

  /** Reads a stored call. @param call The first row of the call. */
  #read(call: StoredCall | undefined): DurableCall | undefined {
    if (!call) return undefined;
    const rows: (readonly StoredChange[])[] = [];
    for (;;) {
      const row = this.#host.kv.get<readonly StoredChange[]>(this.#keyOf(call.stream, rows.length + 1));
      if (!row) return this.#durableCall(call, rows);
      rows.push(row);
    }
  }

  /** Returns the stored calls of the session. A running call is returned from memory. */
  #all(): DurableCall[] {
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

/** Returns whether a message is a call of a tool that is declared idempotent or read-only. */
function callsRepeatable(registry: Registry, parsed: ParsedMessage): boolean {
  const tool = parsed.kind === "request" ? findCalledTool(registry, parsed.message) : undefined;
  return tool !== undefined && isRepeatable(tool);
}
