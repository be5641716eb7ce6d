/**
 * A client of HTTP+SSE without an SDK. It cannot resume, so its rules apply as long as its one connection is open:
 *
 * - The stream ends only when the client cuts it, or when the process that holds it is killed.
 * - Each message arrives once and in order. Only notifications beyond the limits may be missing, and then a warning
 *   says how many.
 * - A call that was accepted with 202 ends with its result, or with the error "interrupted" after a fault.
 * - While the stream is open, no POST gets 404.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type HttpStream, openStream } from "../../src/testing/http-stream.ts";
import { initialize, isMembers, type Members, notification, request } from "../http/messages.ts";
import type { WireOracle } from "../oracle/oracle.ts";
import { forgotten } from "./ledger.ts";
import { HANG_MS } from "./peer.ts";
import type { CallLane, ReaderScript } from "./script.ts";
import type { Tally, Violation } from "./tally.ts";

export interface HttpSsePeerOptions {
  readonly url: string;
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly script: ReaderScript;
  readonly tally: Tally;
  readonly oracle: WireOracle;
  readonly trace: (what: string) => void;
  /** Whether a fault has been injected that may interrupt a call. */
  readonly isDisturbed: () => boolean;
  /** Whether the process was killed, with every connection it held. */
  readonly isKilled: () => boolean;
}

/** The messages received for one call. */
interface Heard {
  readonly lane: CallLane | undefined;
  readonly outcomes: Members[];
  /** The last progress value. */
  progress: number;
}

export class HttpSsePeer {
  readonly #options: HttpSsePeerOptions;
  readonly #calls = new Map<unknown, Heard>();
  readonly #watchers = new Set<() => void>();
  #stream: HttpStream | undefined;
  #endpoint = "";
  #reading: Promise<void> = Promise.resolve();
  #isCut = false;
  #ids = 0;
  #notifications = 0;
  /** Messages that did not arrive, and messages that the server reported as dropped. */
  #missing = 0;
  #forgotten = 0;

  constructor(options: HttpSsePeerOptions) {
    this.#options = options;
  }

  get script(): ReaderScript {
    return this.#options.script;
  }

  get isOpen(): boolean {
    return this.#stream?.ended === undefined;
  }

  async open(): Promise<void> {
    const { url, headers, tally } = this.#options;
    tally.count("readers");
    const stream = await openStream(url, { headers });
    this.#stream = stream;
    await stream.waitFor("the endpoint", ({ events }) => events.length > 0);
    this.#endpoint = new URL(String(stream.messages[0]), url).href;
    this.#reading = this.#read(stream);
    const { version, subscribes } = this.script;
    const elicitation = version >= "2025-06-18" ? { elicitation: {} } : {};
    await this.#ask(
      initialize(version, this.#nextId(), { roots: { listChanged: true }, sampling: {}, ...elicitation }),
    );
    await this.#insist(notification("notifications/initialized"));
    if (subscribes) await this.#ask(request("resources/subscribe", { uri: "chaos://a" }, this.#nextId()));
  }

  /** Cuts the connection, or pauses reading, as the script says. */
  async suffer(): Promise<void> {
    const { cut, stall } = this.script;
    const stalling = async () => {
      if (!stall) return;
      await delay(stall.atMs);
      this.#stream?.pause();
      await delay(stall.ms);
      this.#stream?.resume();
    };
    const cutting = async () => {
      if (!cut) return;
      await delay(cut.atMs);
      this.#cut(cut.how);
    };
    await Promise.all([stalling(), cutting()]);
  }

  /** Calls the tool; resolves when the call has its outcome, or can no longer get one. */
  async call(lane: CallLane): Promise<void> {
    const { tally } = this.#options;
    tally.count("calls");
    const id = this.#nextId();
    await this.#guard(`call ${id}`, async () => {
      const key = `${this.#options.name} ${id}`;
      const token = { _meta: { progressToken: id } };
      const heard: Heard = { lane, outcomes: [], progress: 0 };
      this.#calls.set(id, heard);
      const status = await this.#post(
        request("tools/call", { name: "play", arguments: { key, steps: lane.steps }, ...token }, id),
      );
      const cancelled = lane.cancelMs === undefined ? undefined : this.#cancel(id, lane.cancelMs);
      if (status !== 202) {
        await cancelled;
        tally.count("unknown");
        return;
      }
      let isCancelled = false;
      void cancelled?.then(() => {
        isCancelled = true;
        this.#tell();
      });
      await this.#until(`the outcome of ${id}`, () => heard.outcomes.length > 0 || isCancelled || !this.isOpen);
      await cancelled;
      if (!this.isOpen) await this.#reading;
      const [outcome] = heard.outcomes;
      if (outcome) this.#judge(outcome, heard, key);
      else tally.count(isCancelled ? "cancelled" : "unknown");
    });
  }

  /** Waits until the stream has delivered a notification that is published now. */
  async hearNotice(): Promise<void> {
    await this.#guard("notice", async () => {
      const before = this.#notifications;
      const deadline = Date.now() + HANG_MS;
      while (this.isOpen && this.#notifications === before) {
        if (Date.now() > deadline) throw new Error("no notification comes");
        // A notification may be lost with the hub; a later one is not.
        await this.#ask(request("tools/call", { name: "touch", arguments: {} }, this.#nextId()));
        await delay(50);
      }
      if (this.isOpen) this.#options.tally.count("notices");
    });
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    this.#cut("fin");
    await this.#reading;
  }

  #cut(how: "fin" | "rst"): void {
    if (!this.isOpen) return;
    this.#isCut = true;
    this.#options.tally.count("cuts");
    this.#stream?.cut(how);
  }

  async #read(stream: HttpStream): Promise<void> {
    for (let seen = 1; ; ) {
      for (; seen < stream.messages.length; seen += 1) this.#take(stream.messages[seen]);
      this.#tell();
      if (stream.ended !== undefined) break;
      await stream.waitFor("more", ({ messages, ended }) => messages.length > seen || ended !== undefined, {
        timeoutMs: 2 ** 30,
      });
    }
    this.#options.trace(`its stream has ended: ${stream.ended}`);
    if (stream.ids.length > 0) this.#violate("broken", `it was given event ids: ${stream.ids[0]}`);
    if (!this.#isCut && !this.#options.isKilled())
      this.#violate("broken", `its stream ended by itself (${stream.ended})`);
  }

  #take(message: unknown): void {
    const { tally } = this.#options;
    tally.count("events");
    if (!isMembers(message)) {
      this.#violate("broken", `no message: ${JSON.stringify(message).slice(0, 100)}`);
      return;
    }
    this.#observe("server", message);
    const { id, method, params = {} } = message;
    const count = forgotten(message);
    this.#forgotten += count;
    tally.count("pruned", count);
    if (method === "notifications/resources/updated") this.#notifications += 1;
    if (method === "notifications/progress" && isMembers(params)) this.#progress(params);
    if (method === undefined) this.#outcome(id, message);
    else if (id !== undefined) this.#answer(message);
  }

  #progress({ progressToken, progress }: Members): void {
    const heard = this.#calls.get(progressToken);
    if (!heard) {
      this.#violate("broken", `progress of ${String(progressToken)}, which was not asked for`);
      return;
    }
    const value = Number(progress);
    if (value <= heard.progress) {
      this.#violate("duplicated", `${String(progressToken)}: progress ${value} came after ${heard.progress}`);
      return;
    }
    this.#miss(value - heard.progress - 1, `${String(progressToken)}: progress ${value} came after ${heard.progress}`);
    heard.progress = value;
  }

  #miss(count: number, what: string): void {
    this.#missing += count;
    if (count === 0 || this.#missing <= this.#forgotten) return;
    this.#violate("lost", `${what}; ${this.#forgotten} were said to be forgotten`);
    this.#missing = this.#forgotten;
  }

  #outcome(id: unknown, message: Members): void {
    const heard = this.#calls.get(id);
    if (!heard) {
      this.#violate("broken", `an answer to ${String(id)}, which was not asked`);
      return;
    }
    heard.outcomes.push(message);
    if (heard.outcomes.length > 1) this.#violate("duplicated", `${String(id)}: ${heard.outcomes.length} outcomes`);
  }

  #judge({ result, error }: Members, { lane, progress }: Heard, key: string): void {
    const { tally, isDisturbed } = this.#options;
    if (isMembers(error)) {
      const isInterrupted = error.code === -32603 && isMembers(error.data) && error.data.reason === "interrupted";
      if (isInterrupted && isDisturbed()) tally.count("interrupted");
      else this.#violate("broken", `${key}: ${JSON.stringify(error)}`);
      return;
    }
    tally.count("results");
    const [block] = isMembers(result) && Array.isArray(result.content) ? result.content : [];
    const text = isMembers(block) ? String(block.text) : "";
    if (!text.startsWith(`${key} `)) this.#violate("broken", `${key}: its result is ${text}`);
    else if (lane?.cancelMs === undefined) {
      const said = Number(text.slice(key.length + 1));
      this.#miss(said - progress, `${key}: ${said} sent, ${progress} received`);
    }
  }

  #answer({ id, method }: Members): void {
    const answers: Record<string, Members> = {
      "elicitation/create": { action: "accept", content: { name: "n" } },
      "sampling/createMessage": { model: "m", role: "assistant", content: { type: "text", text: "t" } },
      "roots/list": { roots: [] },
    };
    const { answerMs } = this.script;
    const result = answers[String(method)];
    if (answerMs === undefined || !result) return;
    void this.#guard("answer", async () => {
      await delay(answerMs);
      await this.#insist({ jsonrpc: "2.0", id, result });
    });
  }

  /** Everything sent for the call after the cancellation has arrived when this resolves. */
  async #cancel(requestId: string, afterMs: number): Promise<void> {
    await delay(afterMs);
    await this.#guard("cancel", async () => {
      await this.#insist(notification("notifications/cancelled", { requestId, reason: "chaos" }));
      await this.#ask(request("ping", undefined, this.#nextId()));
    });
  }

  /** Repeats a request until it has a response, each time with another id. */
  async #ask(message: Members): Promise<void> {
    for (let id = message.id; this.isOpen; id = this.#nextId()) {
      const heard: Heard = { lane: undefined, outcomes: [], progress: 0 };
      this.#calls.set(id, heard);
      const status = await this.#post({ ...message, id });
      if (status === 202) {
        await this.#until(`the answer to ${JSON.stringify(message)}`, () => heard.outcomes.length > 0 || !this.isOpen);
        const [outcome] = heard.outcomes;
        if (!outcome || outcome.result !== undefined) return;
        // The first attempt of a handshake may have been stored although its response was lost.
        if (JSON.stringify(outcome).includes('"initialized"')) return;
        if (!JSON.stringify(outcome).includes('"interrupted"')) {
          throw new Error(`${JSON.stringify(message)} was answered ${JSON.stringify(outcome)}`);
        }
      }
      await delay(15);
    }
  }

  /** Repeats a message without a response until it is accepted. */
  async #insist(message: Members): Promise<void> {
    const deadline = Date.now() + HANG_MS;
    for (let isRepeated = false; this.isOpen; isRepeated = true) {
      if ((await this.#post(message, isRepeated)) === 202) return;
      if (Date.now() > deadline) throw new Error(`${JSON.stringify(message)} is not accepted`);
      await delay(15);
    }
  }

  /**
   * @param isRepeated The same message was sent before and its POST was lost, so the oracle has already seen it.
   * @returns The status; undefined when the connection was lost first.
   */
  async #post(message: Members, isRepeated = false): Promise<number | undefined> {
    const { headers, tally, isDisturbed, isKilled, name, trace } = this.#options;
    if (!isRepeated) this.#observe("client", message);
    const answer = await openStream(this.#endpoint, { body: message, headers }).catch(() => undefined);
    const end = await answer?.end({ timeoutMs: HANG_MS });
    if (!answer || end !== "complete") {
      if (!isKilled()) tally.violate("broken", `${name}: a POST got no answer although nothing was killed`);
      return undefined;
    }
    const { status, raw } = answer;
    trace(`${String(message.id ?? message.method)}: ${status}`);
    if (status === 404) {
      // The server may have noticed meanwhile that the client has disconnected.
      await this.#until("the end of the stream", () => !this.isOpen).catch(() => {
        this.#violate("broken", "a POST was answered 404 while its stream was open");
      });
    } else if (status >= 500 ? !isDisturbed() : status !== 202) {
      this.#violate("broken", `a POST was answered ${status} ${raw}`);
    }
    return status;
  }

  async #until(what: string, holds: () => boolean): Promise<void> {
    if (holds()) return;
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!holds()) return;
        settle();
        resolve();
      };
      const timer = setTimeout(() => {
        settle();
        reject(new Hanging(what));
      }, HANG_MS);
      const settle = () => {
        clearTimeout(timer);
        this.#watchers.delete(look);
      };
      this.#watchers.add(look);
    });
  }

  #tell(): void {
    for (const look of [...this.#watchers]) look();
  }

  #nextId(): string {
    this.#ids += 1;
    return `h${this.#ids}`;
  }

  /** Reports a rejection of `work` as a violation. */
  async #guard(what: string, work: () => Promise<unknown>): Promise<void> {
    await work().catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      this.#options.trace(`${what}: ${why}`);
      this.#violate(error instanceof Hanging ? "hanging" : "broken", `${what}: ${why}`);
    });
  }

  #observe(from: "client" | "server", message: unknown): void {
    const { name, oracle, script } = this.#options;
    oracle.observe(from, message, { version: script.version, session: name, scope: name });
  }

  #violate(violation: Violation, what: string): void {
    this.#options.tally.violate(violation, `${this.#options.name}: ${what}`);
  }
}

class Hanging extends Error {}
