/**
 * Responds to a request with JSON or with an SSE stream. The response becomes a stream when a message is emitted before
 * the result, or when the result takes longer than `jsonWaitMs`.
 *
 * @module
 */

import { isChange } from "../core/protocol/change-notifications.ts";
import type { JSONRPCNotification, JSONRPCRequest } from "../core/protocol/jsonrpc.ts";
import { type Disconnectable, EventStream } from "./event-stream.ts";
import type { AcceptedForm } from "./headers.ts";
import { JSON_HEADERS } from "./refusal.ts";
import type { HttpLimits } from "./response-times.ts";
import { encodeEvent } from "./sse.ts";

/**
 * The result of a run. `text` is undefined if there is no response, because the request was cancelled or is a
 * notification.
 */
export interface Outcome {
  readonly text: string | undefined;
  /** The HTTP status of a JSON response. A stream has already begun with 200. */
  readonly status: number;
}

export type Emit = (message: JSONRPCNotification | JSONRPCRequest) => void;

/** Does the work. Never rejects. @param stream Its signal aborts when the client disconnects. */
export type Run = (emit: Emit, stream: Pick<EventStream, "signal">) => Promise<Outcome>;

export interface RespondOptions {
  readonly form: AcceptedForm;
  readonly limits: HttpLimits;
  /** The HTTP request, for modern clients only: a disconnect cancels a modern call, but not a legacy one. */
  readonly request?: Disconnectable;
}

/** The stream that the response may become. */
export interface PendingStream {
  readonly hasBegun: boolean;
  /** Resolves when the stream begins. Get it while `hasBegun` is false. */
  readonly begun: Promise<void>;
}

/** Runs the work and returns the response. */
export async function respond(run: Run, options: RespondOptions): Promise<Response> {
  const { form, limits, request } = options;
  const stream = new EventStream(limits, request);
  // A client that accepts only JSON receives only the response. Questions (messages with an id) must not be dropped.
  const running = run((message) => {
    if (form === "json") return;
    const frame = encodeEvent(JSON.stringify(message));
    if (isChange(message)) stream.notify(frame);
    else stream.write(frame, !("id" in message));
  }, stream);
  const finished = await untilStreaming(running, stream, options);
  if (finished) return toJson(finished);
  void running.then(({ text }) => {
    if (text !== undefined) stream.write(encodeEvent(text));
    stream.end();
  });
  return stream.respond();
}

/** The number of turns of the microtask queue within which a run without I/O finishes. */
const TURNS = 64;

/**
 * Returns the outcome if the response is JSON, or undefined if a stream begins because something was emitted or the run
 * takes long.
 *
 * @param onWait Called before anything else if the run waits for I/O.
 */
export async function untilStreaming(
  running: Promise<Outcome>,
  beginning: PendingStream,
  { form, limits }: { readonly form: AcceptedForm | "own"; readonly limits: HttpLimits },
  onWait?: () => void,
): Promise<Outcome | undefined> {
  let finished: Outcome | undefined;
  void running.then((outcome) => {
    finished = outcome;
  });
  // All of these turns together cost less than a timer or `onWait`.
  for (let turn = 0; turn < TURNS && !finished && !beginning.hasBegun; turn += 1) await undefined;
  if (!finished) onWait?.();
  if (form === "json") return running;
  if (form !== "either") return undefined;
  if (!finished && !beginning.hasBegun) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const waited = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limits.jsonWaitMs);
    });
    await Promise.race([beginning.begun, running, waited]);
    clearTimeout(timer);
  }
  // A run that has emitted something becomes a stream even if it has also finished by now.
  return beginning.hasBegun ? undefined : finished;
}

/** The status and headers of most responses. Copying a response is cheaper than building headers from an object. */
const OK = new Response(null, { headers: JSON_HEADERS });

/** Returns a JSON response, or 202 if there is no JSON-RPC response. */
export function toJson({ text, status }: Outcome): Response {
  if (text === undefined) return new Response(null, { status: 202 });
  return new Response(text, status === 200 ? OK : { headers: JSON_HEADERS, status });
}
