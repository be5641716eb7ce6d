/**
 * A client of one session without an SDK. It corrects nothing, stores everything, and always resumes after its last
 * event.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type HttpStream, openStream, type StreamOptions } from "../../src/testing/http-stream.ts";
import { initialize, isMembers, type Members, notification, request } from "../http/messages.ts";
import type { WireOracle } from "../oracle/oracle.ts";
import { Ledger } from "./ledger.ts";
import type { CallLane, ListenLane, NoteLane, Reading, SessionScript } from "./script.ts";
import type { Tally, Violation } from "./tally.ts";

/** A longer wait counts as hanging. On a busy machine, a restart takes 75 s. */
export const HANG_MS = 120_000;
/** Milliseconds between two attempts to reach an unavailable server. */
const RETRY_MS = 15;

export interface PeerOptions {
  readonly url: string;
  readonly name: string;
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>;
  readonly script: SessionScript;
  readonly tally: Tally;
  readonly oracle: WireOracle;
  /** Milliseconds for which a stream can be resumed after its last event. */
  readonly resumeMs: number;
  readonly trace: (what: string) => void;
  /** Whether a fault has been injected that may interrupt a call. */
  readonly isDisturbed: () => boolean;
}

class Hanging extends Error {}

export class Peer {
  readonly #options: PeerOptions;
  readonly #ledgers: Ledger[] = [];
  #headers: Record<string, string> = {};
  #calls = 0;
  #exchanges = 0;
  /** DELETE was sent: from then on the session may be unknown. */
  #isEnding = false;
  #isQuiet = false;
  readonly #quiet = new AbortController();
  #heard = 0;
  #listening = 0;

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  get ledgers(): readonly Ledger[] {
    return this.#ledgers;
  }

  get script(): SessionScript {
    return this.#options.script;
  }

  get name(): string {
    return this.#options.name;
  }

  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Opens the session and subscribes to all notifications. */
  async open(): Promise<void> {
    const { version, subscribes } = this.script;
    const elicitation = version >= "2025-06-18" ? { elicitation: {} } : {};
    const greeting = initialize(version, "hello", { roots: { listChanged: true }, sampling: {}, ...elicitation });
    const answer = await this.#insist(greeting);
    const named = version >= "2025-06-18" ? { "mcp-protocol-version": version } : {};
    this.#headers = { "mcp-session-id": answer.headers["mcp-session-id"] ?? "", ...named };
    await this.#insist(notification("notifications/initialized"));
    await this.#insist(request("logging/setLevel", { level: "debug" }, "level"));
    if (subscribes) await this.#insist(request("resources/subscribe", { uri: "chaos://a" }, "subscribe"));
  }

  /** Calls the tool; resolves when the call has its outcome. */
  async call(lane: CallLane): Promise<void> {
    const { tally } = this.#options;
    this.#calls += 1;
    tally.count("calls");
    const id = `c${this.#calls}`;
    await this.#guard(`call ${id}`, () => this.#converse(id, lane));
  }

  /** Listens on a GET stream until it is stopped, and resumes it whenever it is cut. */
  async listen({ readings }: ListenLane): Promise<void> {
    this.#listening += 1;
    const name = `listener ${this.#listening}`;
    await this.#guard(name, async () => {
      let ledger: Ledger | undefined;
      for (let turn = 0; !this.#isQuiet; turn += 1) {
        if (!ledger?.lastId) {
          ledger = new Ledger(`${this.name}, ${name}`, this.#options.tally);
          this.#ledgers.push(ledger);
        }
        const end = await this.#get(ledger, readings[turn], () => undefined, this.#quiet.signal);
        if (end === "unknown") return;
        if (end === "over") throw new Error("a GET stream was refused with 405");
        await delay(RETRY_MS);
      }
    });
  }

  async note({ count, size }: NoteLane): Promise<void> {
    const message = notification("notifications/roots/list_changed", { _meta: { count, size } });
    await this.#guard("note", () => this.#insist(message));
  }

  /** Waits until a GET stream has delivered a notification that is published now. */
  async hearNotice(): Promise<void> {
    await this.#guard("notice", async () => {
      const before = this.#heard;
      await this.#within("a notification", async (isLate) => {
        while (this.#heard === before && !isLate()) {
          // A notification may be lost with the hub; a later one is not.
          await this.#insist(request("tools/call", { name: "touch", arguments: {} }, `touch ${this.#nextScope()}`));
          await delay(50);
        }
      });
      this.#options.tally.count("notices");
    });
  }

  /** Ends all GET streams. */
  hush(): void {
    this.#isQuiet = true;
    this.#quiet.abort();
  }

  async delete(): Promise<void> {
    await this.#guard("DELETE", async () => {
      this.#isEnding = true;
      const { status } = await this.#insist(undefined, { method: "DELETE" });
      if (status !== 204 && status !== 404) throw new Error(`DELETE was answered ${status}`);
      const after = await this.#insist(undefined, { method: "GET", cutAfterBytes: 0 });
      if (after.status !== 404) throw new Error(`GET after DELETE was answered ${after.status}`);
    });
  }

  /** Replays a stream from its beginning, and expects exactly the events that were received. */
  async replay(ledger: Ledger): Promise<void> {
    const { tally } = this.#options;
    const { firstId, place } = ledger;
    if (firstId === undefined || place === undefined || ledger.texts.size === 0) return;
    await this.#guard("replay", async () => {
      const again = new Ledger(`${this.name}, replay`, tally);
      again.lastId = firstId;
      const first = Number.parseInt(firstId.split("-")[2] ?? "0", 36);
      again.place = { ...place, seq: first };
      const done = new AbortController();
      const look = () => {
        if ((again.place?.seq ?? 0) >= place.seq) done.abort();
      };
      for (let end = ""; (again.place?.seq ?? 0) < place.seq && end !== "over" && end !== "unknown"; ) {
        end = await this.#get(again, undefined, look, done.signal);
      }
      if (again.texts.size === 0 && this.#mayHaveExpired(ledger)) return tally.count("expired");
      for (const [seq, text] of ledger.texts) {
        if (again.texts.has(seq) ? again.texts.get(seq) !== text : seq > first && again.pruned === 0) {
          tally.violate("lost", `${this.name}: event ${seq} is another, or none, when replayed`);
        }
      }
    });
  }

  /** Whether a stream may be gone, since it can only be resumed for a time. On a busy machine a restart takes as long. */
  #mayHaveExpired({ sinceMs }: Ledger): boolean {
    return Date.now() - sinceMs >= this.#options.resumeMs;
  }

  // One call

  async #converse(id: string, lane: CallLane): Promise<void> {
    const { tally, trace } = this.#options;
    const key = `${this.name} ${id}`;
    const token = lane.json ? {} : { _meta: { progressToken: id } };
    const message = request("tools/call", { name: "play", arguments: { key, steps: lane.steps }, ...token }, id);
    const canceller = lane.cancelMs === undefined ? undefined : setTimeout(() => this.#cancel(id), lane.cancelMs);
    const ledger = new Ledger(key, tally);
    this.#ledgers.push(ledger);
    const outcomes: Members[] = [];
    let progress = 0;
    const hear = (heard: Members) => {
      if (heard.method === "notifications/progress") progress += 1;
      else if (heard.id === id && heard.method === undefined) outcomes.push(heard);
      else if (heard.id !== undefined && lane.answerMs !== undefined) this.#answer(heard, lane.answerMs);
    };
    let end = await this.#begin(message, lane, ledger, hear, outcomes);
    for (let turn = 1; end !== "over" && end !== "unknown" && end !== "json" && ledger.lastId; turn += 1) {
      if (end === "complete" && outcomes.length > 0) {
        // Nothing follows an outcome.
        end = await this.#get(ledger, undefined, hear, undefined);
        if (end === "complete") tally.violate("broken", `${key}: the stream continues after its outcome`);
        break;
      }
      end = await this.#get(ledger, lane.readings[turn], hear, undefined);
    }
    clearTimeout(canceller);
    trace(`${id}: ${end}, ${outcomes.length} outcomes, last id ${ledger.lastId}`);
    const [outcome] = outcomes;
    if (outcomes.length > 1) tally.violate("duplicated", `${key}: ${outcomes.length} outcomes`);
    if (outcome) this.#judge(outcome, lane, key, progress, ledger, end === "json");
    else if (this.#isEnding && (end === "unknown" || ledger.lastId === undefined)) tally.count("ended");
    else if (end === "over" && lane.cancelMs !== undefined) tally.count("cancelled");
    else if (end === "json" && lane.cancelMs !== undefined) tally.count("cancelled");
    else if (end === "over" && this.#mayHaveExpired(ledger)) tally.count("expired");
    else if (ledger.lastId === undefined && end !== "complete") tally.count("unknown");
    else if (ledger.lastId === undefined && this.script.version < "2025-11-25") tally.count("unknown");
    else tally.violate("lost", `${key}: no outcome (${end})`);
  }

  /** Sends the call and reads the response to its POST. */
  async #begin(
    message: Members,
    { json, readings }: CallLane,
    ledger: Ledger,
    hear: (message: Members) => void,
    outcomes: Members[],
  ): Promise<string> {
    const headers = json ? { accept: "application/json" } : {};
    this.#observe("client", message, ledger);
    const stream = await this.#open({ body: message, headers, ...optionsOf(readings[0]) }).catch((error: unknown) => {
      if (error instanceof Hanging) throw error;
      return undefined;
    });
    if (!stream) return "refused";
    if (stream.headers["content-type"]?.startsWith("text/event-stream")) {
      return this.#read(stream, ledger, readings[0], hear, undefined);
    }
    stream.resume();
    const end = await this.#ended(stream);
    if (end !== "complete") return "refused";
    if (stream.status === 404 && this.#isEnding) return "unknown";
    const [answer] = stream.messages;
    if (isMembers(answer)) {
      this.#observe("server", answer, ledger);
      outcomes.push(answer);
    } else if (stream.status !== 202) {
      this.#options.tally.violate("broken", `${this.name}: a call was answered ${stream.status} ${stream.raw}`);
    }
    return "json";
  }

  #judge(outcome: Members, lane: CallLane, key: string, progress: number, ledger: Ledger, isJson: boolean): void {
    const { tally, isDisturbed } = this.#options;
    const { result, error } = outcome;
    if (isMembers(error)) {
      const isInterrupted = error.code === -32603 && (isMembers(error.data) ? error.data.reason : "") === "interrupted";
      // A call that is interrupted before its stream begins is an internal error.
      const isExpected = isDisturbed() && (isInterrupted || (isJson && error.code === -32603));
      if (isExpected) tally.count("interrupted");
      else tally.violate("broken", `${key}: ${JSON.stringify(error)}`);
      return;
    }
    tally.count("results");
    const [block] = isMembers(result) && Array.isArray(result.content) ? result.content : [];
    const text = isMembers(block) ? String(block.text) : "";
    const said = Number(text.slice(key.length + 1));
    if (!text.startsWith(`${key} `)) tally.violate("broken", `${key}: its result is ${text}`);
    if (isJson || lane.cancelMs !== undefined || this.#isEnding) return;
    // Dropped messages can include others than progress, such as the cancellation of a question.
    if (ledger.pruned === 0 ? said !== progress : said > progress + ledger.pruned) {
      tally.violate("lost", `${key}: ${said} sent, ${progress} received, ${ledger.pruned} dropped`);
    }
  }

  #answer({ id, method }: Members, afterMs: number): void {
    const answers: Record<string, Members> = {
      "elicitation/create": { action: "accept", content: { name: "n" } },
      "sampling/createMessage": { model: "m", role: "assistant", content: { type: "text", text: "t" } },
      "roots/list": { roots: [] },
    };
    const result = answers[String(method)];
    const say = async () => {
      await delay(afterMs);
      const message = result ? { jsonrpc: "2.0", id, result } : undefined;
      if (message) await this.#insist(message);
    };
    void this.#guard("answer", say);
  }

  #cancel(requestId: string): void {
    const message = notification("notifications/cancelled", { requestId, reason: "chaos" });
    void this.#guard("cancel", () => this.#insist(message));
  }

  // Connections

  /**
   * Opens or resumes a GET stream and reads it.
   *
   * @returns How it ended; "over": nothing more follows; "unknown": the session does not exist.
   */
  async #get(
    ledger: Ledger,
    reading: Reading | undefined,
    hear: (message: Members) => void,
    until: AbortSignal | undefined,
  ): Promise<string> {
    const headers = ledger.lastId === undefined ? {} : { "last-event-id": ledger.lastId };
    const stream = await this.#insist(undefined, { method: "GET", headers, ...optionsOf(reading) }, until);
    if (stream.status === 405) return "over";
    if (stream.status === 404 && this.#isEnding) return "unknown";
    if (stream.status !== 200) throw new Error(`GET was answered ${stream.status} ${stream.raw}`);
    return this.#read(stream, ledger, reading, hear, until);
  }

  async #read(
    stream: HttpStream,
    ledger: Ledger,
    reading: Reading | undefined,
    hear: (message: Members) => void,
    until: AbortSignal | undefined,
  ): Promise<string> {
    const { tally } = this.#options;
    const timers: NodeJS.Timeout[] = [];
    if (reading?.afterMs !== undefined) timers.push(setTimeout(() => stream.cut(reading.how), reading.afterMs));
    if (reading?.stallMs !== undefined) timers.push(setTimeout(() => stream.resume(), reading.stallMs));
    const stop = () => stream.cut("fin");
    until?.addEventListener("abort", stop, { once: true });
    if (until?.aborted) stop();
    ledger.connected();
    let isReplay = false;
    for (let seen = 0; ; ) {
      for (; seen < stream.events.length; seen += 1) {
        const event = stream.events[seen];
        const message = event && ledger.take(event);
        if (!message) continue;
        if (message.method === "notifications/resources/updated") this.#heard += 1;
        this.#observe("server", message, ledger, isReplay || ledger.name.endsWith("replay"));
        hear(message);
      }
      isReplay = false;
      if (stream.ended !== undefined) break;
      const more = () =>
        stream.waitFor("more", ({ events, ended }) => events.length > seen || ended !== undefined, {
          timeoutMs: until ? 2 ** 30 : HANG_MS,
        });
      await more().catch(() => {
        stream.cut();
        throw new Hanging("a stream says nothing and does not end");
      });
    }
    for (const timer of timers) clearTimeout(timer);
    until?.removeEventListener("abort", stop);
    if (stream.ended === "cut" && !until?.aborted) tally.count("cuts");
    if (stream.ended === "complete" && stream.retryMs !== undefined) await delay(stream.retryMs);
    return stream.ended;
  }

  /** Repeats a request until an available server responds. */
  #insist(message: unknown, options: StreamOptions = {}, until?: AbortSignal): Promise<HttpStream> {
    const scope = this.#nextScope();
    if (message !== undefined) this.#observe("client", message, scope);
    const what = `an answer to ${JSON.stringify(message ?? options)}`;
    return this.#within(what, async (isLate) => {
      for (let why = ""; ; await delay(RETRY_MS)) {
        if (isLate()) throw new Hanging(`${what}: ${why}`);
        const stream = await this.#open({ ...(message === undefined ? {} : { body: message }), ...options }).catch(
          (error: unknown) => {
            if (error instanceof Hanging) throw error;
            return undefined;
          },
        );
        if (!stream) continue;
        if (stream.status >= 500) {
          why = `${stream.status} ${stream.raw}`;
          this.#options.trace(`answered ${stream.status}`);
          if (!this.#options.isDisturbed()) throw new Error(`${what} is ${stream.status}, though nothing had happened`);
          stream.cut();
          continue;
        }
        if (stream.headers["content-type"]?.startsWith("text/event-stream")) return stream;
        stream.resume();
        if ((await this.#ended(stream)) !== "complete" && options.cutAfterBytes === undefined && !until?.aborted)
          continue;
        const [answer] = stream.messages;
        if (isMembers(answer)) this.#observe("server", answer, scope);
        return stream;
      }
    });
  }

  async #open(options: StreamOptions): Promise<HttpStream> {
    const headers = { ...this.#options.headers, ...this.#headers, ...options.headers };
    const opening = openStream(this.#options.url, { ...options, headers });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Hanging("no answer at all")), HANG_MS);
    });
    return Promise.race([opening, late]).finally(() => clearTimeout(timer));
  }

  async #ended(stream: HttpStream): Promise<string> {
    return stream.end({ timeoutMs: HANG_MS }).catch(() => {
      stream.cut();
      throw new Hanging("an answer does not end");
    });
  }

  async #within<T>(what: string, work: (isLate: () => boolean) => Promise<T>): Promise<T> {
    const deadline = Date.now() + HANG_MS;
    const result = await work(() => Date.now() > deadline);
    if (Date.now() > deadline) throw new Hanging(what);
    return result;
  }

  /** Reports a rejection of `work` as a violation. */
  async #guard(what: string, work: () => Promise<unknown>): Promise<void> {
    const { tally, trace } = this.#options;
    await work().catch((error: unknown) => {
      const violation: Violation = error instanceof Hanging ? "hanging" : "broken";
      const why = error instanceof Error ? error.message : String(error);
      trace(`${what}: ${why}`);
      tally.violate(violation, `${this.name}, ${what}: ${why}`);
    });
  }

  #nextScope(): string {
    this.#exchanges += 1;
    return `${this.name} ${this.#exchanges}`;
  }

  #observe(from: "client" | "server", message: unknown, where: Ledger | string, replay = false): void {
    const scope = typeof where === "string" ? where : where.name;
    // The refusal of a GET or DELETE has no id.
    const unreadableId = typeof where === "string" && isMembers(message) && "error" in message && !("id" in message);
    const hint = { version: this.script.version, session: this.name, scope, replay, unreadableId };
    this.#options.oracle.observe(from, message, hint);
  }
}

function optionsOf(reading: Reading | undefined): StreamOptions {
  if (!reading) return {};
  const { afterBytes, how, stallMs } = reading;
  return {
    cutHow: how,
    ...(afterBytes === undefined ? {} : { cutAfterBytes: afterBytes }),
    ...(stallMs === undefined ? {} : { paused: true }),
  };
}
