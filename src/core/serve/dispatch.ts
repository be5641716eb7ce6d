/**
 * Turns a request into the text of its response, for both eras. A method that an era lacks is absent from its table, so
 * it is answered with -32601.
 *
 * @module
 */

import { explainQuestion, QuestionError } from "../ask/question-errors.ts";
import { quote } from "../basics/quote.ts";
import type { ContextOf } from "../define/handler-context.ts";
import type { RequestEnd } from "../define/hook-types.ts";
import type { Registry } from "../define/registry.ts";
import { BusyError, isReasonOf, KitError, McpError, toErrorObject } from "../protocol/errors.ts";
import {
  ErrorCode,
  encodeError,
  encodeResult,
  type JSONRPCNotification,
  type JSONRPCRequest,
  JsonText,
} from "../protocol/jsonrpc.ts";
import { completeResult, readMeta } from "../protocol/lifecycle.ts";
import type { MethodName } from "../protocol/methods.ts";
import { describeSubject, placeOfNotification } from "../protocol/request-description.ts";
import type { Method, MethodTable, RequestContext, Serve } from "../run/request-context.ts";
import { isAnswering } from "../run/run-rounds.ts";
import { hookData, listAroundHooks, notificationData, type RequestWork, runAround } from "./hooks.ts";
import { METHODS, serveCustom } from "./methods.ts";
import { listElicitationIds } from "./subscriptions.ts";
import { withinTime } from "./with-context.ts";

/** A response: its text, and its error code if it is an error. HTTP derives the status from the code. */
export interface Answer {
  readonly text: string;
  readonly errorCode: number | undefined;
  /** Whether it is a tool result with `isError`. */
  readonly isError?: boolean;
  /** Whether it was refused because a limit is reached. */
  readonly isBusy?: boolean;
}

/** Serves one request. Never rejects: failures become error responses, and unexpected exceptions go to `onError`. */
export function dispatch(call: RequestContext): Promise<Answer> {
  const asker = call.asker.for?.(call);
  const own = asker ? { ...call, asker } : call;
  return call.registry.options.onRequestEnd || call.endpointHooks?.onRequestEnd.length
    ? serveAndReport(own)
    : serve(own);
}

async function serveAndReport(call: RequestContext): Promise<Answer> {
  const startedAtMs = performance.now();
  const { signal } = call.ending;
  let isTold = false;
  const tell = (outcome: RequestEnd["outcome"], errorCode?: number) => {
    if (isTold) return;
    isTold = true;
    const about = hookData(call);
    const durationMs = performance.now() - startedAtMs;
    call.registry.reportEnd(
      { ...about, outcome, errorCode, durationMs },
      call.onError,
      call.endpointHooks?.onRequestEnd,
    );
  };
  // Reported immediately, because a runtime may stop the work for a client that has disconnected, and the handler may
  // run for long.
  const onAbort = () => tell("cancelled");
  signal.addEventListener("abort", onAbort);
  const answer = await serve(call);
  signal.removeEventListener("abort", onAbort);
  const { errorCode, isError } = answer;
  if (signal.aborted) onAbort();
  else tell(errorCode === undefined && !isError ? "ok" : "error", errorCode);
  return answer;
}

async function serve(given: RequestContext): Promise<Answer> {
  try {
    const call = await given.registry.withContext(given);
    const { registry, request } = call;
    const around = listAroundHooks(registry, call);
    const result = await (around.length === 0 ? run(call) : runAround(around, hookData(call), () => run(call)));
    const complete = result instanceof JsonText ? result : completeResult(result, registry, call.client.rules);
    // A legacy client's custom method may have returned any JSON value.
    const { isError } = (complete ?? {}) as { isError?: unknown };
    return { text: encodeResult(request.id, complete), errorCode: undefined, isError: isError === true };
  } catch (error) {
    const known = McpError.is(error) ? error : redact(error, given);
    try {
      // Before the client gets the error, because the elicitations may be completed immediately afterwards.
      if (known.code === ErrorCode.UrlElicitationRequired) await given.awaitElicitations?.(listElicitationIds(known));
      return encode(known, given.request);
    } catch (unencodable) {
      // The data of the author's error has no JSON form.
      return encode(redact(unencodable, given), given.request);
    }
  }
}

async function run(call: RequestContext): ReturnType<RequestWork> {
  try {
    return await findMethod(call)(call);
  } catch (error) {
    if (isAnswering(error)) return error.answer(call);
    throw error;
  }
}

function encode(error: McpError, { id }: JSONRPCRequest): Answer {
  return { text: encodeError(id, toErrorObject(error)), errorCode: error.code, isBusy: error instanceof BusyError };
}

function findMethod(call: RequestContext): Serve {
  const found = findIn(call.methods, call) ?? findIn(METHODS[call.client.rules.era], call);
  if (found) return found;
  if (call.registry.methods.has(call.request.method)) return serveCustom;
  throw new McpError(ErrorCode.MethodNotFound, `Method not found: ${quote(call.request.method)}`);
}

function findIn(methods: RequestContext["methods"] = {}, call: RequestContext): Serve | undefined {
  const method = methodIn(methods, call.request);
  return method && (method.isOffered?.(call) ?? true) ? method.serve : undefined;
}

function methodIn(methods: MethodTable, { method }: JSONRPCRequest): Method | undefined {
  return Object.hasOwn(methods, method) ? methods[method as MethodName] : undefined;
}

/**
 * Whether a request runs no code of the author. Such a request ends quickly and emits nothing, so it is served where it
 * arrives, without an object.
 */
export function isStatic(registry: Registry, request: JSONRPCRequest): boolean {
  if (registry.around.length > 0) return false;
  const method = methodIn(METHODS.legacy, request);
  return method?.isStatic?.(registry) ?? false;
}

/**
 * Returns a -32603 error with a correlation id instead of the exception. The exception is reported to `onError` with
 * the same id, unless it is the reason of the request's aborted signal.
 */
export function redact(
  error: unknown,
  { registry, request, ending, onError }: Pick<RequestContext, "registry" | "request" | "ending" | "onError">,
): McpError {
  const correlationId = crypto.randomUUID();
  if (!isReasonOf(ending.signal, error))
    registry.report(error, { correlationId, ...describeSubject(request) }, onError);
  const isTimeout = KitError.is(error) && error.code === "timeout";
  let what = isTimeout ? "The request did not finish in time." : "Internal error.";
  if (error instanceof QuestionError) what = explainQuestion("The request", error);
  return new McpError(ErrorCode.InternalError, `${what} Reference: ${correlationId}`, {
    reason: isTimeout ? error.code : "internal",
    correlationId,
  });
}

/** The part of a call that a custom notification needs. */
export type NotificationCall = Pick<
  RequestContext,
  "client" | "env" | "principal" | "execution" | "http" | "limits" | "onError" | "context" | "endpointHooks"
>;

/**
 * Passes a notification to its custom handler, within the hooks. A failure goes to `onError`.
 *
 * @returns A promise that resolves when the handler has ended; undefined if the server has no handler for this
 *   notification.
 */
export function takeCustomNotification(
  registry: Registry,
  message: JSONRPCNotification,
  call: NotificationCall,
): Promise<void> | undefined {
  const handler = registry.notifications.get(message.method);
  if (!handler) return undefined;
  const { client, env, principal, limits, onError } = call;
  const { method, params = {} } = message;
  const handle = async () => {
    const context = (await registry.withContext(call)).context as ContextOf<unknown>;
    const about = { env, context, auth: principal, client, meta: readMeta(params) };
    const what = `The handler of ${quote(method)}`;
    const serve = () =>
      withinTime(what, limits.handlerTimeoutMs, { ending: new AbortController() }, async ({ signal }, passed) => {
        const handled = handler(params, { ...about, signal });
        await (passed ? Promise.race([handled, passed]) : handled);
        return {};
      });
    const around = listAroundHooks(registry, call);
    await (around.length === 0 ? serve() : runAround(around, notificationData(registry, message, call), serve));
  };
  const handled = handle().catch((error: unknown) => registry.report(error, placeOfNotification(message), onError));
  // The answer does not wait for the handler, so without this the platform could stop it.
  call.execution?.waitUntil(handled);
  return handled;
}
