/**
 * Descriptions of requests and notifications for hooks and reports.
 *
 * @module
 */
import type { ClientFacts, Principal } from "./client-facts.ts";
import type { ErrorPlace } from "./error-reports.ts";
import type { JSONRPCNotification, JSONRPCRequest, RequestId } from "./jsonrpc.ts";
import { toCall } from "./methods.ts";
import { normalUri } from "./uri.ts";

/** A request, its client, and the tool, prompt or resource it names. */
export interface RequestDescription {
  /** The method, such as `tools/call`. */
  readonly method: string;
  /** The id that the client gave the request. */
  readonly requestId: RequestId;
  /** The client that sent the request. */
  readonly client: ClientFacts;
  /** The principal that the request acts for; undefined if it is anonymous. */
  readonly principal: Principal | undefined;
  /**
   * The id of the task whose handler runs or has ended. Absent for requests, including the one that creates the task.
   */
  readonly taskId?: string;
  /** Name of the tool that was called. */
  readonly tool?: string;
  /** Name of the prompt asked for. */
  readonly prompt?: string;
  /** URI of the resource read, in its normal form: however a client spells it, a record names it in the same way. */
  readonly uri?: string;
  /** The arguments as the client sent them, not yet checked. */
  readonly arguments?: unknown;
}

/** Describes a request. */
export function describeRequest(
  request: JSONRPCRequest,
  client: ClientFacts,
  principal: Principal | undefined,
): RequestDescription {
  return { ...describeSubject(request), client, principal };
}

/** Returns the tool, prompt or resource that a request names, and its arguments. */
export function describeSubject(request: JSONRPCRequest): Omit<RequestDescription, "client" | "principal"> {
  const { name, uri, arguments: args } = request.params ?? {};
  const [kind] = toCall(request.method);
  return {
    method: request.method,
    requestId: request.id,
    ...(kind && kind !== "resource" && typeof name === "string" ? { [kind]: name } : {}),
    ...(typeof uri === "string" ? { uri: normalUri(uri) } : {}),
    ...(args === undefined ? {} : { arguments: args }),
  };
}

/** Describes a notification for `onError`. */
export function placeOfNotification({ method, params }: Pick<JSONRPCNotification, "method" | "params">): ErrorPlace {
  return { correlationId: crypto.randomUUID(), method, ...(params === undefined ? {} : { params }) };
}
