/**
 * One answer, as JSON or as an SSE stream: JSON until the first emission or `limits.jsonWaitMs`, SSE after it.
 *
 * @module
 */
import type { JSONRPCNotification, JSONRPCRequest } from "../core/jsonrpc.ts";
import type { Limits } from "../core/limits.ts";
import { EventStream } from "./event-stream.ts";
import type { AcceptedForm } from "./headers.ts";
import { encodeEvent } from "./sse.ts";

/** What a run ends with. `text` undefined: no answer is due, since the request was cancelled. */
export interface Outcome {
  readonly text: string | undefined;
  /** HTTP status when the answer is JSON. A stream has begun with 200 by then. */
  readonly status: number;
}

export type Emit = (message: JSONRPCNotification | JSONRPCRequest) => void;

/** Does the work. Never rejects. */
export type Run = (emit: Emit, signal: AbortSignal) => Promise<Outcome>;

export interface RespondOptions {
  readonly form: AcceptedForm;
  readonly limits: Limits;
  /** Fires when the client of the HTTP request is gone. */
  readonly clientGone: AbortSignal | undefined;
  /** Whether a vanished client cancels the run: yes in the modern era, no in the legacy one. */
  readonly cancelsWithClient: boolean;
}

/** Runs and answers. */
export async function respond(run: Run, options: RespondOptions): Promise<Response> {
  const { form, limits } = options;
  const stream = new EventStream(limits, options.clientGone);
  let announce: () => void = () => undefined;
  const emitted = new Promise<void>((resolve) => {
    announce = resolve;
  });
  const emit: Emit = (message) => {
    // A client that takes only JSON has no place for anything but the answer. Questions are never dropped.
    if (form === "json") return;
    stream.write(encodeEvent(JSON.stringify(message)), !("id" in message));
    announce();
  };
  const running = run(emit, options.cancelsWithClient ? stream.gone : new AbortController().signal);
  const finished = await untilStreaming(running, emitted, options);
  if (finished) return toJson(finished);
  void running.then(({ text }) => {
    if (text !== undefined) stream.write(encodeEvent(text));
    stream.end();
  });
  return stream.respond();
}

/** The outcome when the answer is to be JSON, undefined when a stream is to begin: something was emitted, or it takes long. */
export async function untilStreaming(
  running: Promise<Outcome>,
  emitted: Promise<void>,
  { form, limits }: Pick<RespondOptions, "form" | "limits">,
): Promise<Outcome | undefined> {
  if (form === "json") return running;
  if (form === "sse") return undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waited = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limits.jsonWaitMs);
  });
  // The emission first: a run that emitted and has ended by now is a stream all the same.
  const finished = await Promise.race([emitted, running, waited]);
  clearTimeout(timer);
  return finished ?? undefined;
}

/** An answer as JSON; 202 when none is due. */
export function toJson({ text, status }: Outcome): Response {
  if (text === undefined) return new Response(null, { status: 202 });
  return new Response(text, { status, headers: { "Content-Type": "application/json" } });
}
