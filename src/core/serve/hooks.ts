/**
 * Code of the author's around every request: `around` hooks in onion order, and one callback when it is over.
 *
 * @module
 */
import type { QuestionError } from "../ask/asker.ts";
import type { McpServer } from "../define/server.ts";
import type { ClientFacts, Principal } from "../protocol/client-facts.ts";
import { KitError } from "../protocol/errors.ts";
import {
  isObject,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JsonObject,
  JsonText,
  type RequestId,
} from "../protocol/jsonrpc.ts";
import { quote } from "../protocol/quote.ts";
import type { Call, ErrorPlace } from "./context.ts";

/**
 * What hooks see of a request, or of a notification of the author's own. `result` and `error` are set once `next()` has
 * settled.
 */
export interface RequestData<Env = unknown> extends Omit<Description, "requestId"> {
  /** Absent for a notification. */
  readonly requestId?: RequestId;
  /** What a notification says. */
  readonly params?: JsonObject;
  /** The bindings of the Worker or object that serves the request; on stdio what was given to `serveStdio`. */
  readonly env: Env;
  /**
   * Keeps what serves the request (the Worker, the object of the session or task, the connection) until the promise
   * settles, also when the answer has been sent. What it rejects with goes to `onError`.
   */
  readonly waitUntil: (work: Promise<unknown>) => void;
  result?: JsonObject;
  error?: unknown;
}

/** What a request is about. */
interface Description {
  readonly method: string;
  readonly requestId: RequestId;
  readonly client: ClientFacts;
  readonly principal: Principal | undefined;
  /** Of the task whose handler runs, or that is over; absent on a request, that which makes the task included. */
  readonly taskId?: string;
  /** Name of the tool called. */
  readonly tool?: string;
  /** Name of the prompt asked for. */
  readonly prompt?: string;
  /** URI of the resource read. */
  readonly uri?: string;
  /** Arguments as the client sent them, not yet checked. */
  readonly arguments?: unknown;
}

/**
 * Wraps a request, and each run of a task's handler, which has `taskId`: its result is an unfinished task where the run
 * was cut or waits, and one that asks where it asks; what the hook returns instead counts for the last run only. Returns
 * what `next()` gave, or a result of its own; may throw McpError to refuse. Results are objects, but those of a legacy
 * client's custom method, which are whatever its handler returned.
 *
 * Wraps notifications of the author's own as well: then there is no `requestId`, `next()` gives `{}` when the handler has
 * returned, what the hook returns is not sent to anybody, and what it throws goes to `onError`.
 */
export type AroundHook<Env = unknown> = (
  data: RequestData<Env>,
  next: () => Promise<JsonObject>,
) => Promise<JsonObject | readonly unknown[] | string | number | boolean | null>;

/** What is known when a request is over. */
export interface RequestEnd<Env = unknown> extends Omit<RequestData<Env>, "result" | "error" | "requestId" | "params"> {
  readonly requestId: RequestId;
  /**
   * How it ended. error: with an error, or with a tool's result that says `isError`. cancelled: its client cancelled it,
   * went away or ended the session first, so that what came of it is of no interest.
   */
  readonly outcome: "ok" | "error" | "cancelled";
  /** The code the client was answered with; undefined for a result, also where that says `isError`, and when cancelled. */
  readonly errorCode: number | undefined;
  /** Milliseconds from dispatch to answer or cancellation, hooks included; of a task from its creation to its end. */
  readonly durationMs: number;
  /** How a task ended; with `taskId` only. expired: its time was over first. */
  readonly taskStatus?: "completed" | "failed" | "cancelled" | "expired";
}

/** Hears that a request is over. A promise it returns is waited for as by `waitUntil`, and never by the client. */
export type RequestEndHook<Env = unknown> = (end: RequestEnd<Env>) => void | Promise<void>;

/** What is known when a sampling request to a client is over. */
export interface SampleRecord<Env = unknown> extends Pick<RequestData<Env>, "env" | "waitUntil"> {
  /** The request whose handler asked. */
  readonly requestId: RequestId;
  readonly client: ClientFacts;
  readonly principal: Principal | undefined;
  readonly tool?: string;
  readonly prompt?: string;
  /** Tokens asked for. */
  readonly maxTokens: number;
  /** As the client answered. */
  readonly model?: string;
  readonly stopReason?: string;
  /** cancelled: the call ended first. The others are the reasons of `QuestionError`. */
  readonly outcome: "answered" | "cancelled" | QuestionError["reason"];
  /** Milliseconds from sending to answer. */
  readonly durationMs: number;
}

/** Hears that a sampling request is over. A promise it returns is waited for as by `waitUntil`, and never by the client. */
export type SampleHook<Env = unknown> = (record: SampleRecord<Env>) => void | Promise<void>;

/** What a request is about, for reports. */
export function describeRequest(
  request: JSONRPCRequest,
  client: ClientFacts,
  principal: Principal | undefined,
): Description {
  return { ...subjectOf(request), client, principal };
}

/** What `around` and `onRequestEnd` are given of a request. */
export function hookData<Env>(
  server: McpServer<Env>,
  request: JSONRPCRequest,
  call: HookedCall<Env>,
): RequestData<Env> & { readonly requestId: RequestId } {
  return { ...describeRequest(request, call.client, call.principal), ...reachOf(server, request, call) };
}

/** What `around` is given of a notification. */
export function noticeData<Env>(
  server: McpServer<Env>,
  { method, params = {} }: JSONRPCNotification,
  call: HookedCall<Env>,
): RequestData<Env> {
  const { client, principal } = call;
  return { method, params, client, principal, ...reachOf(server, { method }, call) };
}

/** What hooks are given to work with. */
export function reachOf<Env>(
  server: McpServer<Env>,
  { method, id }: { readonly method: string; readonly id?: RequestId },
  { env, execution, onError }: HookedCall<Env>,
): Pick<RequestData<Env>, "env" | "waitUntil"> {
  const waitUntil = (work: Promise<unknown>): void => {
    const failed = (error: unknown) => {
      const place = { correlationId: crypto.randomUUID(), method: `(waitUntil of ${quote(method)})` };
      server.report(error, id === undefined ? place : { ...place, requestId: id }, onError);
    };
    const heard = Promise.resolve(work).catch(failed);
    execution?.waitUntil(heard);
  };
  return { env, waitUntil };
}

/** What hooks need of a call. */
export type HookedCall<Env> = Pick<Call<Env>, "client" | "principal" | "env" | "execution" | "onError">;

/** What `onError` is told of a notification that failed. */
export function placeOfNotification({ method, params }: Pick<JSONRPCNotification, "method" | "params">): ErrorPlace {
  return { correlationId: crypto.randomUUID(), method, ...(params === undefined ? {} : { params }) };
}

/** What a request names: its tool, prompt or resource, and the arguments. */
export function subjectOf(request: JSONRPCRequest): Omit<Description, "client" | "principal"> {
  const { name, uri, arguments: args } = request.params ?? {};
  return {
    method: request.method,
    requestId: request.id,
    ...(request.method === "tools/call" && typeof name === "string" ? { tool: name } : {}),
    ...(request.method === "prompts/get" && typeof name === "string" ? { prompt: name } : {}),
    ...(typeof uri === "string" ? { uri } : {}),
    ...(args === undefined ? {} : { arguments: args }),
  };
}

/** What serves a request. */
export type RequestWork = () => Promise<JsonObject | JsonText>;

/**
 * Serves a request within its hooks.
 *
 * @throws {KitError} `options-invalid` naming the hook that neither called `next()` nor returned a result.
 */
export function runAround(
  hooks: readonly AroundHook<never>[],
  data: RequestData<never>,
  serve: RequestWork,
): Promise<JsonObject | JsonText> {
  const innermost = async (): Promise<JsonObject> => {
    try {
      const result = await serve();
      // Hooks see objects; the ready text of lists is for those who have none.
      data.result = result instanceof JsonText ? (JSON.parse(result.text) as JsonObject) : result;
      return data.result;
    } catch (error) {
      data.error = error;
      throw error;
    }
  };
  const onion = hooks.reduceRight<() => Promise<JsonObject>>(
    (next, hook, place) => () => runHook(hook, place, data, next),
    innermost,
  );
  return onion();
}

async function runHook(
  hook: AroundHook<never>,
  place: number,
  data: RequestData<never>,
  next: () => Promise<JsonObject>,
): Promise<JsonObject> {
  const result = await hook(data, next);
  // Modern results are objects; a legacy method of the author's own may give any JSON value.
  if (isObject(result) || (result !== undefined && !data.client.rules.resultEnvelope)) return result as JsonObject;
  throw new KitError(
    "options-invalid",
    `The around hook ${hook.name || `number ${place + 1}`} returned no result. Return what next() gives, or a result object.`,
  );
}
