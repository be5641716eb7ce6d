/**
 * The object of one call that runs once. Whoever presents the call has a WebSocket to it: the first is told to run, the
 * others wait for the outcome, which is stored before anybody hears it. The object sleeps while the call runs.
 *
 * Stored, as one key: the claim when the call is first presented, its outcome when there is one; and again for each round
 * of a call that asks by returning. All goes with the alarm.
 *
 * @module
 */
import { goesOn, INTERRUPTED_OUTCOME, type Presented, withAnswers } from "../../core/serve/idempotency.ts";
import type { RoleObject } from "../object.ts";

/** How a call is presented: in a header, since an upgrade has no body. */
export interface Presentation extends Omit<Presented, "name"> {
  /** Made for each presentation; the same when its link was lost and is dialled again. */
  readonly run: string;
  /** Milliseconds the outcome is kept, from when the call is first presented. */
  readonly keepMs: number;
}

export const PRESENT_HEADER = "X-Mcp-Once";
/** From the object: run it now, or go on if you do. Anything else it says is the outcome. */
export const RUN = "run";

interface Claim extends Omit<Presentation, "keepMs" | "round"> {
  readonly untilMs: number;
  /** See {@link withAnswers}; absent in what was stored before calls had rounds. */
  readonly answered?: readonly string[];
  readonly outcome?: string;
}

const KEY = "claim";
/** Milliseconds that whoever runs the call has to dial again, when its link was lost. */
const GRACE_MS = 10_000;

export class OnceObject implements RoleObject {
  readonly #ctx: DurableObjectState;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
  }

  async fetch(request: Request): Promise<Response> {
    const { digest, run, keepMs, round } = JSON.parse(request.headers.get(PRESENT_HEADER) ?? "") as Presentation;
    const found = this.#claim();
    if (found && found.digest !== digest) return new Response(null, { status: 409 });
    const isNext = found?.outcome !== undefined && goesOn(found.outcome, round, found.answered);
    if (round?.isExpired && (!found || isNext)) return new Response(null, { status: 404 });
    let claim = found;
    if (!claim || isNext) {
      const { untilMs = Date.now() + keepMs, answered } = found ?? {};
      claim = { digest, run, untilMs, answered: withAnswers(answered, round) };
      this.#ctx.storage.kv.put(KEY, claim);
      if (!found) await this.#ctx.storage.setAlarm(untilMs);
    }
    const { 0: theirs, 1: ours } = new WebSocketPair();
    const runs = claim.run === run && claim.outcome === undefined;
    this.#ctx.acceptWebSocket(ours, runs ? ["once", run] : ["once"]);
    if (claim.outcome !== undefined) ours.send(claim.outcome);
    else if (runs) ours.send(RUN);
    else await this.#askWhoRuns(claim);
    return new Response(null, { status: 101, webSocket: theirs });
  }

  /** The one thing that is said: what came of the call, by whoever runs it now. */
  async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    const claim = this.#claim();
    if (claim && claim.outcome === undefined && this.#ctx.getTags(socket).includes(claim.run)) {
      this.#settle(claim, String(message));
    }
  }

  async webSocketClose(): Promise<void> {
    const claim = this.#claim();
    if (claim && claim.outcome === undefined && this.#ctx.getWebSockets().length > 0) await this.#askWhoRuns(claim);
  }

  /** Forgets the call when its time is over; before that, somebody waits for a run that nobody does any more. */
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
    for (const socket of this.#ctx.getWebSockets()) if (socket.readyState === WebSocket.OPEN) socket.send(outcome);
  }

  #runners({ run }: Claim): WebSocket[] {
    return this.#ctx.getWebSockets(run).filter(({ readyState }) => readyState === WebSocket.OPEN);
  }

  /** Somebody waits. Unless the run is heard of again soon it is lost. */
  async #askWhoRuns(claim: Claim): Promise<void> {
    if (this.#runners(claim).length === 0) await this.#ctx.storage.setAlarm(Date.now() + GRACE_MS);
  }
}
