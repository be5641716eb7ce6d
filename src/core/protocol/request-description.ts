/**
 * Descriptions of requests and notifications for hooks and reports.
 *
 * @module
 */
import type { ClientFacts, Principal } from "./client-facts.ts";
import type { ErrorSubject } from "./error-reports.ts";
import type { JSONRPCNotification, JSONRPCRequest, RequestId } from "./jsonrpc.ts";
import { findRequest } from "./methods.ts";
import { normalUri } from "./uri.ts";

/** A request, its client, and the tool, prompt or resource that it names. */
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
  /** The name of the called tool. */
  readonly tool?: string;
  /** The name of the requested prompt. */
  readonly prompt?: string;
  /** The URI of the resource in its normal form, so that all spellings of a URI give the same value. */
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
  const { runs } = findRequest(request.method) ?? {};
  return {
    method: request.method,
    requestId: request.id,
    ...(runs && runs !== "resource" && typeof name === "string" ? { [runs]: name } : {}),
    ...(typeof uri === "string" ? { uri: normalUri(uri) } : {}),
    arguments: args,
  };
}

/** Describes a notification for `onError`. */
export function describeNotification({ method, params }: Pick<JSONRPCNotification, "method" | "params">): ErrorSubject {
  return { method, params };
}
