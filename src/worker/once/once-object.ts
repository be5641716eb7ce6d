/**
 * The object of one call that runs at most once. Each Worker that presents the call opens a WebSocket: the first one
 * runs the call, the others wait for the outcome, which is stored before it is sent. The object can hibernate while the
 * call runs.
 *
 * One key is stored: the claim, written when the call is first presented and again with the outcome; for a call that asks
 * by returning `inputRequired()`, both are written again in each round. The alarm deletes everything.
 *
 * @module
 */

import { goesOn, INTERRUPTED_OUTCOME, type Presented, withAnswers } from "../../core/serve/idempotency.ts";
import type { RoleObject } from "../object.ts";
import { openSockets } from "../open-sockets.ts";

/** Describes the call that is presented. Sent in a header, since a WebSocket upgrade has no body. */
export interface Presentation extends Omit<Presented, "name"> {
  /** Id of the run. A reconnect sends the same id, and so does a call of a session that continues after its object was lost. */
  readonly run: string;
  /** Milliseconds the outcome is kept, counted from the first presentation of the call. */
  readonly ttlMs: number;
}

export const PRESENT_HEADER = "X-Mcp-Once";
/** Message of the object: run the call, or continue if it is running already. Any other message is the outcome. */
export const RUN = "run";

interface Claim extends Omit<Presentation, "ttlMs" | "round"> {
  readonly untilMs: number;
  /** See {@link withAnswers}. */
  readonly answered?: readonly string[];
  readonly outcome?: string;
}

const KEY = "claim";
/** Milliseconds in which the Worker that runs the call must reconnect after its socket was lost. */
const GRACE_MS = 10_000;

export class OnceObject implements RoleObject {
  readonly #ctx: DurableObjectState;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  async fetch(request: Request): Promise<Response> {
    const { digest, run, ttlMs, round } = JSON.parse(request.headers.get(PRESENT_HEADER) ?? "") as Presentation;
    const found = this.#claim();
    if (found && found.digest !== digest) return new Response(null, { status: 409 });
    const isNext = found?.outcome !== undefined && goesOn(found.outcome, round, found.answered);
    if (round?.isExpired && (!found || isNext)) return new Response(null, { status: 404 });
    let claim = found;
    if (!claim || isNext) {
      const { untilMs = Date.now() + ttlMs, answered } = found ?? {};
      claim = { digest, run, untilMs, answered: withAnswers(answered, round) };
      this.#ctx.storage.kv.put(KEY, claim);
      if (!found) await this.#ctx.storage.setAlarm(untilMs);
    }
    const { 0: theirs, 1: ours } = new WebSocketPair();
    const runs = claim.run === run && claim.outcome === undefined;
    this.#ctx.acceptWebSocket(ours, runs ? ["once", run] : ["once"]);
    if (claim.outcome !== undefined) ours.send(claim.outcome);
    else if (runs) ours.send(RUN);
    else await this.#watchRunner(claim);
    return new Response(null, { status: 101, webSocket: theirs });
  }

  /** The only message is the outcome. It is accepted only from the Worker that runs the call now. */
  async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    const claim = this.#claim();
    if (claim && claim.outcome === undefined && this.#ctx.getTags(socket).includes(claim.run)) {
      this.#settle(claim, String(message));
    }
  }

  async webSocketClose(): Promise<void> {
    const claim = this.#claim();
    if (claim && claim.outcome === undefined && openSockets(this.#ctx).length > 0) await this.#watchRunner(claim);
  }

  /** Deletes the call when it expires. Before that, settles a call whose Worker has not reconnected in time. */
  async alarm(): Promise<void> {
    const claim = this.#claim();
    if (!claim || claim.untilMs <= Date.now()) {
      for (const socket of this.#ctx.getWebSockets()) socket.close(1000);
      await this.#ctx.storage.deleteAll();
      return;
    }
    if (claim.outcome === undefined && this.#runners(claim).length === 0) this.#settle(claim, INTERRUPTED_OUTCOME);
    await this.#ctx.storage.setAlarm(claim.untilMs);
  }

  #claim(): Claim | undefined {
    return this.#ctx.storage.kv.get<Claim>(KEY);
  }

  #settle(claim: Claim, outcome: string): void {
    this.#ctx.storage.kv.put(KEY, { ...claim, outcome });
    for (const socket of openSockets(this.#ctx)) socket.send(outcome);
  }

  #runners({ run }: Claim): WebSocket[] {
    return openSockets(this.#ctx, run);
  }

  /** Sets the alarm that settles the call as interrupted, unless the Worker that runs it is connected. */
  async #watchRunner(claim: Claim): Promise<void> {
    if (this.#runners(claim).length === 0) await this.#ctx.storage.setAlarm(Date.now() + GRACE_MS);
  }
}
