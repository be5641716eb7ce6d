/**
 * mcp-edge/worker/once: calls that run only once, even if another isolate receives the repetition of a call.
 *
 * @module
 */
import { waitUntil } from "cloudflare:workers";
import { checkOptions, type OptionTable, PERIOD } from "../../core/protocol/check-options.ts";
import { BusyError, KitError, type McpError } from "../../core/protocol/errors.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import {
  IDEMPOTENCY_KEY,
  type OutcomeKeeper,
  onceWith,
  otherCall,
  tooLargeOutcome,
} from "../../core/serve/idempotency.ts";
import { type ObjectReference, RoleObjects, unavailable } from "../bindings.ts";
import { OBJECTS, type WithMcpObject } from "../object.ts";
import type { OncePart, Part } from "../parts.ts";
import { ReconnectingSocket } from "../reconnecting-socket.ts";
import { retryOnReset } from "../retry-on-reset.ts";
import { OnceObject, PRESENT_HEADER, type Presentation, RUN } from "./once-object.ts";

/** Options of {@link once}. */
export interface OnceOptions {
  /**
   * How long an outcome is kept after its call arrived, in milliseconds, from 100 ms to 1 year.
   *
   * @default 24 hours
   */
  readonly ttlMs?: number;
}

const OPTIONS: OptionTable<OnceOptions> = { ttlMs: [100, PERIOD[1]] };

/**
 * The number of objects for the calls of all callers without a principal.
 * @limit count Objects that store the calls with keys of all callers without a principal.
 */
const SHARED_OBJECTS = 32;

/**
 * The maximum number of UTF-16 code units of a stored outcome, less than the limit of a row.
 * @limit characters The outcome of a call that runs once. A longer outcome is not stored, and a repeated call fails.
 */
const OUTCOME_MAX = 512 * 1024;

/** @limit count Times that the outcome of a call that runs once is sent until it is stored, with pauses of at most 250 ms. */
const SENDS_MAX = 24;

/**
 * Runs a call only once if its client identifies it in `_meta["mcp-edge/idempotencyKey"]`, or if its tool is declared
 * `once: true`: a repeated call joins the first run or gets its outcome. Each such call costs two Durable Object requests
 * and three rows; other calls cost nothing. The server declares the key as an experimental capability, so that clients that
 * support it send one with each call. Requires the exported class `McpObject`.
 *
 * The calls of callers without a principal share 32 objects, each of which stores its latest 500 outcomes.
 *
 * @example
 * ```ts
 * const app = edge(server, { use: [sessions(), once(), keys()] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @throws {KitError} `options-invalid` naming the option, its value and its range.
 */
export function once<Env>(options: OnceOptions = {}): Part<Env, WithMcpObject<Env>> {
  checkOptions("once(): ", options, OPTIONS);
  const { ttlMs = 24 * 60 * 60_000 } = options;
  const part: OncePart<Env> = {
    slot: "once",
    objects: OBJECTS,
    attach: (reference) => ({
      once: (env, session, stream) => {
        const run = stream === undefined ? undefined : `${session} ${stream}`;
        return Object.assign(onceWith(createKeeper(env, reference, ttlMs, run), session), { declare });
      },
      role: { name: "once", create: (ctx) => new OnceObject(ctx) },
    }),
  };
  return part;
}

/** Declares to clients that a call with a key may be repeated. Experimental capabilities of the author take precedence. */
function declare(capabilities: JsonObject): JsonObject {
  const own = capabilities.experimental as JsonObject | undefined;
  return { ...capabilities, experimental: { [IDEMPOTENCY_KEY]: {}, ...own } };
}

/** @param run Identifies the run of a call that continues after its object was restarted. Every other run has its own id. */
function createKeeper(env: unknown, reference: ObjectReference, ttlMs: number, run?: string): OutcomeKeeper {
  const objects = new RoleObjects("once", reference);
  return (presented, work) => {
    // Called before the call is presented, so that a missing namespace is reported first.
    objects.namespace(env);
    const { isAnonymous, ...rest } = presented;
    const presentation: Presentation = { ...rest, ttlMs, run: run ?? crypto.randomUUID() };
    const headers = { [PRESENT_HEADER]: JSON.stringify(presentation) };
    const object = isAnonymous ? sharedName(rest.name) : rest.name;
    const dial = () => retryOnReset(() => objects.dial(objects.named(env, `once:${object}`), headers));
    const outcome = present(dial, work);
    // The call continues if the client disconnects, so that the outcome can be requested later.
    waitUntil(outcome.catch(() => undefined));
    return outcome;
  };
}

/**
 * Returns the name of the object for a call of a caller without a principal. The number of these objects is fixed, so that
 * anonymous requests cannot create arbitrarily many. The name depends on the call alone, so that a repetition reaches the
 * same object from any location.
 */
function sharedName(name: string): string {
  return `anonymous ${Number.parseInt(name.slice(0, 8), 16) % SHARED_OBJECTS}`;
}

/** Presents a call to its object and returns its outcome. Runs the call if it is presented for the first time. */
function present(dial: () => Promise<Response>, run: () => Promise<string>): Promise<string> {
  return new Promise((resolve, reject) => {
    let running: Promise<string> | undefined;
    let sends = 0;
    let socket: ReconnectingSocket | undefined;
    const done = (settled: () => void) => {
      socket?.close();
      settled();
    };
    const onMessage = (text: string) => {
      // If the call ran here, its own outcome is returned, because it may have been too large to store.
      if (text !== RUN) return done(() => resolve(running ?? text));
      // After a reconnect this message arrives again. The run continues, and its outcome is sent again.
      running ??= run();
      void running.then((outcome) => {
        sends += 1;
        // If the outcome cannot be stored, only this caller gets it.
        if (sends > SENDS_MAX) done(() => resolve(outcome));
        else socket?.send(outcome.length > OUTCOME_MAX ? tooLargeOutcome(outcome) : outcome);
      });
    };
    // A call that ran here has an outcome, even if it could not be stored.
    const onEnd = () => (running ? void running.then(resolve) : reject(unreachable()));
    ReconnectingSocket.open({ dial, onMessage, onEnd }).then((opened) => {
      if (!(opened instanceof Response)) socket = opened;
      // The request state has expired without an outcome. Running the call refuses the state with the correct error.
      else if (opened.status === 404) resolve(run());
      else if (opened.status === 429) reject(new BusyError("too many calls with a key are running (once())"));
      else reject(opened.status === 409 ? otherCall() : unreachable());
    }, reject);
  });
}

function unreachable(): McpError {
  return unavailable(new KitError("object-unreachable", "The object of this call cannot be reached."));
}
