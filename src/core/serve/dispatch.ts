/**
 * Turns a request into the JSON text of its response, for both eras. A method that the era of the client lacks gets
 * -32601.
 *
 * @module
 */

import { explainQuestion, QuestionError } from "../ask/question-errors.ts";
import { quote } from "../basics/quote.ts";
import type { ContextOf } from "../define/handler-context.ts";
import type { RequestEnd } from "../define/hook-types.ts";
import type { Registry } from "../define/registry.ts";
import * as ErrorCode from "../protocol/error-codes.ts";
import { BusyError, isReasonOf, KitError, McpError, toErrorObject } from "../protocol/errors.ts";
import {
  encodeError,
  encodeResult,
  type JSONRPCNotification,
  type JSONRPCRequest,
  JsonText,
} from "../protocol/jsonrpc.ts";
import { completeResult, readMeta } from "../protocol/lifecycle.ts";
import { findRequest, type RequestName } from "../protocol/methods.ts";
import { describeNotification, describeSubject } from "../protocol/request-description.ts";
import type { MethodTable, RequestContext, Serve } from "../run/request-context.ts";
import { isAnswering } from "../run/run-rounds.ts";
import { hookData, listAroundHooks, type RequestWork, runAround } from "./hooks.ts";
import { METHODS, serveCustom } from "./methods.ts";
import { listElicitationIds } from "./subscriptions.ts";
import { withinTime } from "./with-context.ts";

/** A response: its JSON text, and its error code if it is an error. HTTP derives the status from the code. */
export interface Answer {
  readonly text: string;
  readonly errorCode: number | undefined;
  /** Whether it is a tool result with `isError`. */
  readonly isError?: boolean;
  /** Whether the request was refused because a limit is reached. */
  readonly isBusy?: boolean;
}

/** Serves one request. Never rejects: failures become error responses, and unexpected exceptions go to `onError`. */
export function dispatch(context: RequestContext): Promise<Answer> {
  const asker = context.asker.for?.(context);
  const own = asker ? { ...context, asker } : context;
  return context.registry.options.onRequestEnd || context.endpointHooks?.onRequestEnd.length
    ? serveAndReport(own)
    : serve(own);
}

async function serveAndReport(context: RequestContext): Promise<Answer> {
  const startedAtMs = performance.now();
  const { signal } = context.ending;
  let isReported = false;
  const report = (outcome: RequestEnd["outcome"], errorCode?: number) => {
    if (isReported) return;
    isReported = true;
    const about = hookData(context);
    const durationMs = performance.now() - startedAtMs;
    context.registry.reportEnd(
      { ...about, outcome, errorCode, durationMs },
      context.onError,
      context.endpointHooks?.onRequestEnd,
    );
  };
  // Reported immediately, because a runtime may stop the work of a request whose client has disconnected, and the
  // handler may run for long.
  const onAbort = () => report("cancelled");
  signal.addEventListener("abort", onAbort);
  const answer = await serve(context);
  signal.removeEventListener("abort", onAbort);
  const { errorCode, isError } = answer;
  if (signal.aborted) onAbort();
  else report(errorCode === undefined && !isError ? "ok" : "error", errorCode);
  return answer;
}

async function serve(given: RequestContext): Promise<Answer> {
  try {
    const context = await given.registry.withContext(given);
    const { registry, request } = context;
    const around = listAroundHooks(registry, context);
    const result = await (around.length === 0
      ? run(context)
      : runAround(around, hookData(context), () => run(context)));
    const complete = result instanceof JsonText ? result : completeResult(result, registry, context.client.rules);
    // For a legacy client, a custom method may have returned any JSON value.
    const { isError } = (complete ?? {}) as { isError?: unknown };
    return { text: encodeResult(request.id, complete), errorCode: undefined, isError: isError === true };
  } catch (error) {
    const known = McpError.is(error) ? error : redact(error, given);
    // The message for the client does not say what the platform has refused.
    if (known.cause !== undefined) redact(known.cause, given);
    try {
      // Before the client gets the error, because the elicitations may be completed immediately afterwards.
      if (known.code === ErrorCode.UrlElicitationRequired) await given.awaitElicitations?.(listElicitationIds(known));
      return encode(known, given.request);
    } catch (unencodable) {
      // The data of the author's error cannot be encoded as JSON.
      return encode(redact(unencodable, given), given.request);
    }
  }
}

async function run(context: RequestContext): ReturnType<RequestWork> {
  try {
    return await findMethod(context)(context);
  } catch (error) {
    if (isAnswering(error)) return error.answer(context);
    throw error;
  }
}

function encode(error: McpError, { id }: JSONRPCRequest): Answer {
  return { text: encodeError(id, toErrorObject(error)), errorCode: error.code, isBusy: error instanceof BusyError };
}

/**
 * @throws {McpError} -32601 for a method without a custom handler that the version of the client lacks, or that the server
 *   does not offer.
 */
function findMethod(context: RequestContext): Serve {
  const { client, registry, request } = context;
  const { method } = request;
  const row = findRequest(method);
  if (row && !client.rules.lacks.includes(method)) {
    const list = row.capability?.split(".")[0];
    const isOffered = () => list === undefined || registry.offers(list);
    for (const methods of [context.methods, METHODS] as readonly (MethodTable | undefined)[]) {
      const found = methods?.[method as RequestName];
      if (found && (found.isOffered ?? isOffered)(context)) return found.serve;
    }
  }
  if (registry.methods.has(method)) return serveCustom;
  throw new McpError(ErrorCode.MethodNotFound, `Method not found: ${quote(method)}`);
}

/**
 * Whether a request runs no code of the author. Such a request ends quickly and does not emit messages, so it is served
 * where it arrives, without an object.
 */
export function isStatic(registry: Registry, request: JSONRPCRequest): boolean {
  if (registry.around.length > 0) return false;
  const { method } = request;
  const found = findRequest(method) && (METHODS as MethodTable)[method as RequestName];
  return found?.isStatic?.(registry) ?? false;
}

/**
 * Returns a -32603 error with a correlation id instead of the exception. The exception is reported to `onError` with
 * the same id, unless it is the reason of the request's aborted signal.
 */
export function redact(
  error: unknown,
  { registry, request, ending, onError }: Pick<RequestContext, "registry" | "request" | "ending" | "onError">,
): McpError {
  const correlationId = isReasonOf(ending.signal, error)
    ? crypto.randomUUID()
    : registry.report(error, describeSubject(request), onError);
  const isTimeout = KitError.is(error) && error.code === "timeout";
  let what = isTimeout ? "The request did not finish in time." : "Internal error.";
  if (error instanceof QuestionError) what = explainQuestion("The request", error);
  return new McpError(ErrorCode.InternalError, `${what} Reference: ${correlationId}`, {
    reason: isTimeout ? error.code : "internal",
    correlationId,
  });
}

/** The part of a {@link RequestContext} that a custom notification needs. */
export type DeliveryContext = Pick<
  RequestContext,
  "client" | "env" | "principal" | "execution" | "http" | "session" | "limits" | "onError" | "context" | "endpointHooks"
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
  context: DeliveryContext,
): Promise<void> | undefined {
  const handler = registry.notifications.get(message.method);
  if (!handler) return undefined;
  const { client, env, principal, limits, onError } = context;
  const { method, params = {} } = message;
  const handle = async () => {
    const { context: value } = await registry.withContext(context);
    const about = { env, context: value as ContextOf<unknown>, auth: principal, client, meta: readMeta(params) };
    const what = `The handler of ${quote(method)}`;
    const runHandler = () =>
      withinTime(what, limits.handlerTimeoutMs, { ending: new AbortController() }, async ({ signal }, passed) => {
        const handled = handler(params, { ...about, signal });
        await (passed ? Promise.race([handled, passed]) : handled);
        return {};
      });
    const around = listAroundHooks(registry, context);
    if (around.length === 0) await runHandler();
    else await runAround(around, hookData({ ...context, registry, request: message }), runHandler);
  };
  const handled = handle().catch((error: unknown) => {
    registry.report(error, describeNotification(message), onError);
  });
  // The response does not wait for the handler, so without this the platform could stop it.
  context.execution?.waitUntil(handled);
  return handled;
}
