/**
 * One answer, as JSON or as an SSE stream: JSON until the first emission or `limits.jsonWaitMs`, SSE after it.
 *
 * @module
 */
import type { JSONRPCNotification, JSONRPCRequest } from "../core/protocol/jsonrpc.ts";
import type { Limits } from "../core/protocol/limits.ts";
import { isChange } from "../core/protocol/notices.ts";
import { EventStream, type Watched } from "./event-stream.ts";
import type { AcceptedForm } from "./headers.ts";
import { encodeEvent } from "./sse.ts";

/** What a run ends with. `text` undefined: no answer is due, since the request was cancelled. */
export interface Outcome {
  readonly text: string | undefined;
  /** HTTP status when the answer is JSON. A stream has begun with 200 by then. */
  readonly status: number;
}

export type Emit = (message: JSONRPCNotification | JSONRPCRequest) => void;

/** Does the work. Never rejects. @param stream Says when the client is gone. */
export type Run = (emit: Emit, stream: Pick<EventStream, "signal">) => Promise<Outcome>;

export interface RespondOptions {
  readonly form: AcceptedForm;
  readonly limits: Limits;
  /** The HTTP request, where its client is watched: leaving cancels a run of the modern era, and none of the legacy one. */
  readonly request?: Watched;
}

/** What the response may become instead. */
export interface Beginning {
  readonly hasBegun: boolean;
  /** For those who look before it has. */
  readonly begun: Promise<void>;
}

/** Runs and answers. */
export async function respond(run: Run, { form, limits, request }: RespondOptions): Promise<Response> {
  const stream = new EventStream(limits, request);
  // A client that takes only JSON has no place for anything but the answer. Questions are never dropped.
  const running = run((message) => {
    if (form === "json") return;
    const frame = encodeEvent(JSON.stringify(message));
    if (isChange(message)) stream.notify(frame);
    else stream.write(frame, !("id" in message));
  }, stream);
  const finished = await untilStreaming(running, stream, form, limits);
  if (finished) return toJson(finished);
  void running.then(({ text }) => {
    if (text !== undefined) stream.write(encodeEvent(text));
    stream.end();
  });
  return stream.respond();
}

/** Turns of the microtask queue within which a run is over that waits for nothing outside. */
const TURNS = 64;

/**
 * The outcome when the answer is to be JSON, undefined when a stream is to begin: something was emitted, or it takes long.
 *
 * @param onWait Told of a run that waits for something outside, before anything else can happen.
 */
export async function untilStreaming(
  running: Promise<Outcome>,
  beginning: Beginning,
  form: AcceptedForm | "own",
  { jsonWaitMs }: Limits,
  onWait?: () => void,
): Promise<Outcome | undefined> {
  let finished: Outcome | undefined;
  void running.then((outcome) => {
    finished = outcome;
  });
  // A timer costs more than all of these turns, and so does what is done for those that wait.
  for (let turn = 0; turn < TURNS && !finished && !beginning.hasBegun; turn += 1) await undefined;
  if (!finished) onWait?.();
  if (form === "json") return running;
  if (form !== "either") return undefined;
  if (!finished && !beginning.hasBegun) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const waited = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, jsonWaitMs);
    });
    await Promise.race([beginning.begun, running, waited]);
    clearTimeout(timer);
  }
  // The emission first: a run that emitted and has ended by now is a stream all the same.
  return beginning.hasBegun ? undefined : finished;
}

const headers = { "Content-Type": "application/json" };
/** The head of most answers. Copying one is cheaper than reading it from an object. */
const OK = new Response(null, { headers });

/** An answer as JSON; 202 when none is due. */
export function toJson({ text, status }: Outcome): Response {
  if (text === undefined) return new Response(null, { status: 202 });
  return new Response(text, status === 200 ? OK : { headers, status });
}
