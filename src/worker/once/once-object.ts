/**
 * The object of one call that runs at most once, or of many such calls of callers without a principal. Each Worker that
 * presents a call opens a WebSocket: the first Worker runs the call, and all others wait for the outcome, which is stored
 * before it is sent. The object can hibernate while calls run.
 *
 * One key is stored for each call: the claim, which is written when the call is first presented and again with the outcome.
 * For a call that asks by returning `inputRequired()`, both writes are repeated in each round. The alarm deletes expired
 * claims.
 *
 * @module
 */

import { goesOn, INTERRUPTED_OUTCOME, type Presented, withAnswers } from "../../core/serve/idempotency.ts";
import type { RoleObject } from "../object.ts";
import { openSockets } from "../open-sockets.ts";

/** Describes the call that is presented. Sent in a header, because a WebSocket upgrade has no body. */
export interface Presentation extends Omit<Presented, "isAnonymous"> {
  /**
   * The id of the run. A reconnect sends the same id, and so does a call of a session that continues after its object was
   * restarted.
   */
  readonly run: string;
  /** How long the outcome is kept, in milliseconds, counted from the first presentation of the call. */
  readonly ttlMs: number;
}

export const PRESENT_HEADER = "X-Mcp-Once";
/**
 * The message that makes a Worker run the call, or continue if the call is already running. Any other message of the object
 * is the outcome.
 */
export const RUN = "run";

/**
 * The maximum number of calls that one object stores.
 * @limit count Calls that one of these objects stores. The outcome that expires first is evicted. If all calls are running,
 * an additional call is refused with 429.
 */
const CALLS_MAX = 500;
/** @limit characters The outcomes that one of these objects stores, together. The outcomes that expire first are evicted. */
const CHARS_MAX = 4 * 1024 * 1024;
/** The minimum time between two deletions of expired calls in an object of many calls, in milliseconds. */
const SWEEP_MS = 10 * 60_000;

interface Claim {
  readonly digest: string;
  readonly run: string;
  readonly untilMs: number;
  /** See {@link withAnswers}. */
  readonly answered?: readonly string[];
  readonly outcome?: string;
  /** When the Worker that runs the call was first found to be disconnected, in milliseconds since 1970. */
  readonly lostAtMs?: number | undefined;
}

const PREFIX = "claim:";
/** How long the Worker that runs the call has to reconnect after its socket was lost, in milliseconds. */
const GRACE_MS = 10_000;

export class OnceObject implements RoleObject {
  readonly #ctx: DurableObjectState;
  /** The stored claims by the name of their call. Undefined until they are read. */
  #stored: Map<string, Claim> | undefined;
  #alarmAtMs: number | undefined;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  async fetch(request: Request): Promise<Response> {
    const given = JSON.parse(request.headers.get(PRESENT_HEADER) ?? "") as Presentation;
    const { name, digest, run, ttlMs, round } = given;
    const found = this.#find(name);
    if (found && found.digest !== digest) return new Response(null, { status: 409 });
    const isNext = found?.outcome !== undefined && goesOn(found.outcome, round, found.answered);
    if (round?.isExpired && (!found || isNext)) return new Response(null, { status: 404 });
    let claim = found;
    if (!claim || isNext) {
      if (!found && !this.#hasRoom(1)) return new Response(null, { status: 429 });
      const { untilMs = Date.now() + ttlMs, answered } = found ?? {};
      claim = this.#put(name, { digest, run, untilMs, answered: withAnswers(answered, round) });
      if (!found) await this.#wakeAt(untilMs).catch((error: unknown) => this.#refuse(name, error));
    }
    const { 0: theirs, 1: ours } = new WebSocketPair();
    const runs = claim.run === run && claim.outcome === undefined;
    this.#ctx.acceptWebSocket(ours, ["once", name, ...(runs ? [run] : [])]);
    if (claim.outcome !== undefined) ours.send(claim.outcome);
    else if (!runs) await this.#watchRunner(name, claim);
    else {
      if (claim.lostAtMs !== undefined) this.#put(name, { ...claim, lostAtMs: undefined });
      ours.send(RUN);
    }
    return new Response(null, { status: 101, webSocket: theirs });
  }

  /** Receives the outcome, which is the only message. It is accepted only from the Worker that currently runs the call. */
  async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    try {
      const [name, claim] = this.#claimOf(socket);
      if (claim && claim.outcome === undefined && this.#ctx.getTags(socket).includes(claim.run)) {
        this.#settle(name, claim, String(message));
      }
    } catch (error) {
      // The Worker reconnects, and sends the outcome again.
      socket.close(1011);
      throw error;
    }
  }

  async webSocketClose(socket: WebSocket): Promise<void> {
    const [name, claim] = this.#claimOf(socket);
    const waiting = openSockets(this.#ctx, name);
    if (claim && claim.outcome === undefined && waiting.length > 0) {
      await this.#watchRunner(name, claim).catch(() => {
        // Their Workers present the call again, which sets the alarm.
        for (const each of waiting) each.close(1011);
      });
    }
  }

  /** Deletes expired calls, and settles the calls whose Worker has not reconnected in time. */
  async alarm(): Promise<void> {
    this.#alarmAtMs = undefined;
    const nowMs = Date.now();
    for (const [name, claim] of [...this.#claims]) {
      if (claim.untilMs <= nowMs) {
        for (const socket of this.#ctx.getWebSockets(name)) socket.close(1000);
        this.#forget(name);
      } else if (claim.outcome === undefined && this.#runners(name, claim).length === 0) {
        const { lostAtMs = nowMs } = claim;
        if (lostAtMs + GRACE_MS <= nowMs) this.#settle(name, claim, INTERRUPTED_OUTCOME);
        else await this.#watchRunner(name, claim);
      }
    }
    const claims = [...this.#claims.values()];
    if (claims.length === 0) await this.#ctx.storage.deleteAll();
    else {
      // Claims that expire within one sweep period are deleted together, when the last of them has expired.
      const untilMs = claims.map((claim) => claim.untilMs);
      await this.#wakeAt(Math.max(Math.min(...untilMs), Math.min(Math.max(...untilMs), nowMs + SWEEP_MS)));
    }
  }

  // Claims

  get #claims(): Map<string, Claim> {
    this.#stored ??= new Map(
      [...this.#ctx.storage.kv.list<Claim>({ prefix: PREFIX })].map(([key, claim]) => [
        key.slice(PREFIX.length),
        claim,
      ]),
    );
    return this.#stored;
  }

  /** Returns a claim that has not expired. */
  #find(name: string): Claim | undefined {
    const claim = this.#claims.get(name);
    return claim && claim.untilMs > Date.now() ? claim : undefined;
  }

  #claimOf(socket: WebSocket): readonly [string, Claim | undefined] {
    const [, name = ""] = this.#ctx.getTags(socket);
    return [name, this.#find(name)];
  }

  #put(name: string, claim: Claim): Claim {
    const claims = this.#claims;
    // If the claim cannot be stored, the call may be presented again.
    this.#ctx.storage.kv.put(PREFIX + name, claim);
    claims.set(name, claim);
    return claim;
  }

  /** Removes the claim of a call that cannot run, so that it runs when it is presented again. */
  #refuse(name: string, error: unknown): never {
    this.#forget(name);
    throw error;
  }

  #forget(name: string): void {
    this.#claims.delete(name);
    this.#ctx.storage.kv.delete(PREFIX + name);
  }

  /** Evicts the outcomes that expire first until there is room. Returns false if too many calls are running. */
  #hasRoom(more: number): boolean {
    const computeSize = ({ outcome = "" }: Claim) => outcome.length;
    let chars = [...this.#claims.values()].reduce((sum, claim) => sum + computeSize(claim), 0);
    const settled = [...this.#claims].filter(([, { outcome }]) => outcome !== undefined);
    for (const [name, claim] of settled.sort(([, one], [, other]) => one.untilMs - other.untilMs)) {
      if (this.#claims.size + more <= CALLS_MAX && chars <= CHARS_MAX) break;
      chars -= computeSize(claim);
      this.#forget(name);
    }
    return this.#claims.size + more <= CALLS_MAX;
  }

  #settle(name: string, claim: Claim, outcome: string): void {
    this.#put(name, { ...claim, outcome });
    for (const socket of openSockets(this.#ctx, name)) socket.send(outcome);
    this.#hasRoom(0);
  }

  #runners(name: string, { run }: Claim): WebSocket[] {
    return openSockets(this.#ctx, run).filter((socket) => this.#ctx.getTags(socket).includes(name));
  }

  /** Sets the alarm that settles the call as interrupted, unless the Worker that runs it is connected. */
  async #watchRunner(name: string, claim: Claim): Promise<void> {
    if (this.#runners(name, claim).length > 0) return;
    const { lostAtMs = Date.now() } = claim;
    this.#put(name, { ...claim, lostAtMs });
    await this.#wakeAt(lostAtMs + GRACE_MS);
  }

  /** Sets the alarm unless an earlier one is set. */
  async #wakeAt(atMs: number): Promise<void> {
    const { storage } = this.#ctx;
    // If this is the first claim of the object, there is no alarm to look up.
    this.#alarmAtMs ??= (this.#claims.size > 1 ? await storage.getAlarm() : undefined) ?? Infinity;
    if (this.#alarmAtMs <= atMs) return;
    this.#alarmAtMs = atMs;
    await storage.setAlarm(atMs).catch((error: unknown) => {
      this.#alarmAtMs = undefined;
      throw error;
    });
  }
}
