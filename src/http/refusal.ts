/**
 * All refusals: responses to a request before dispatch. Each is a tagged value, and only {@link describe} decides its
 * status, code and message. A reason without a case there does not compile.
 *
 * @module
 */

import { quote } from "../core/basics/quote.ts";
import * as ErrorCode from "../core/protocol/error-codes.ts";
import { type McpError, toErrorObject } from "../core/protocol/errors.ts";
import { encodeError, type RequestId } from "../core/protocol/jsonrpc.ts";

/** Why a request is refused, with the values that explain it. */
export type Refusal =
  | { readonly reason: "host-not-allowed"; readonly host: string }
  | { readonly reason: "origin-not-allowed"; readonly origin: string }
  | { readonly reason: "method-not-allowed"; readonly method: string; readonly allow: string }
  | { readonly reason: "unauthorized"; readonly tokenPresented: boolean }
  | { readonly reason: "internal"; readonly correlationId: string }
  | { readonly reason: "content-type"; readonly contentType: string }
  | { readonly reason: "not-acceptable"; readonly accept: string }
  | { readonly reason: "body-too-large"; readonly bytesMax: number }
  | { readonly reason: "body-too-deep"; readonly depthMax: number }
  | { readonly reason: "body-too-many-values"; readonly valuesMax: number }
  | { readonly reason: "not-json" }
  | { readonly reason: "not-jsonrpc"; readonly problem: string }
  | { readonly reason: "batch"; readonly problem: string }
  | { readonly reason: "version-header"; readonly version: string; readonly served: readonly string[] }
  | { readonly reason: "header-mismatch"; readonly problem: string }
  | { readonly reason: "session-missing" }
  | { readonly reason: "sessions-unavailable"; readonly correlationId: string }
  | { readonly reason: "client-response" }
  | { readonly reason: "protocol"; readonly error: McpError }
  /** Refusals of parts include their wire form: see session-refusals.ts. */
  | { readonly reason: PartReason | OwnReason; readonly form: WireForm };

/** A reason that an author of a plugin has chosen. */
export type OwnReason = string & Record<never, never>;

/** The reasons of refusals that include their wire form. */
export type PartReason =
  | "unauthorized"
  | "invalid_request"
  | "invalid_token"
  | "insufficient_scope"
  | "invalid_dpop_proof"
  | "use_dpop_nonce"
  | "unverified"
  | "misconfigured"
  | "already-initialized"
  | "session-unknown"
  | "cursor-invalid"
  | "stream-over"
  | "no-stream"
  | "scope-missing"
  | "too-many"
  | "body-too-slow"
  | "uncounted";

/** The wire form of a refusal: the HTTP status and headers, and the members of the JSON-RPC error. */
export interface WireForm {
  /** The HTTP status. */
  readonly status: number;
  /** The code of the JSON-RPC error. */
  readonly code: number;
  /** The message of the error, for the client. */
  readonly message: string;
  /** Additional headers of the response. */
  readonly headers?: Record<string, string> | undefined;
  /** The data of the error. @default the reason of the refusal */
  readonly data?: unknown;
}

/** Returns the wire form of an invalid request. */
export function invalid(status: number, message: string, headers?: Record<string, string>): WireForm {
  return { status, code: ErrorCode.InvalidRequest, message, headers };
}

/** Returns the status, code and public message of a refusal. */
function describe(refusal: Exclude<Refusal, { error: McpError }>): WireForm {
  if ("form" in refusal) return refusal.form;
  switch (refusal.reason) {
    case "host-not-allowed":
      return invalid(
        403,
        `Host ${quote(refusal.host)} is not allowed over HTTP. Use HTTPS, a loopback name, the option allowedHosts, or "wrangler dev --local-upstream localhost".`,
      );
    case "origin-not-allowed":
      return invalid(403, `Origin ${quote(refusal.origin)} is not in the option allowedOrigins of the server.`);
    case "method-not-allowed":
      return invalid(405, `Method ${quote(refusal.method)} is not allowed. Allowed: ${refusal.allow}.`, {
        Allow: refusal.allow,
      });
    case "unauthorized":
      return invalid(401, refusal.tokenPresented ? "The token is not accepted." : "A token is required.", {
        "WWW-Authenticate": refusal.tokenPresented ? 'Bearer error="invalid_token"' : "Bearer",
      });
    case "internal":
      return {
        status: 500,
        code: ErrorCode.InternalError,
        message: `Internal error. Reference: ${refusal.correlationId}`,
      };
    case "content-type":
      return invalid(415, `Content-Type ${quote(refusal.contentType)} is not application/json.`);
    case "not-acceptable":
      return invalid(406, `Accept ${quote(refusal.accept)} admits neither application/json nor text/event-stream.`);
    case "body-too-large":
      return invalid(413, `The body is larger than ${refusal.bytesMax} bytes.`);
    case "body-too-deep":
      return invalid(400, `The body is nested deeper than ${refusal.depthMax} levels.`);
    case "body-too-many-values":
      return invalid(413, `The body has more than ${refusal.valuesMax} values.`);
    case "not-json":
      return { status: 400, code: ErrorCode.ParseError, message: "The body is not JSON." };
    case "not-jsonrpc":
      return invalid(400, `Not a JSON-RPC message: ${refusal.problem}.`);
    case "batch":
      return invalid(400, `Batch refused: ${refusal.problem}.`);
    case "version-header":
      return invalid(
        400,
        `MCP-Protocol-Version ${quote(refusal.version)} is not served. Served: ${refusal.served.join(", ")}.`,
      );
    case "header-mismatch":
      return { status: 400, code: ErrorCode.HeaderMismatch, message: `Header mismatch: ${refusal.problem}.` };
    case "session-missing":
      return invalid(400, "Mcp-Session-Id is missing. Send initialize first, and then the id that it returns.");
    case "sessions-unavailable":
      return {
        status: 503,
        code: ErrorCode.InternalError,
        message: `Sessions are temporarily unavailable. Reference: ${refusal.correlationId}`,
        headers: { "Retry-After": "5" },
      };
    case "client-response":
      return invalid(400, "Clients send no responses in this protocol version.");
  }
}

/** Returns the HTTP status for the result of a dispatched request. Legacy errors are sent with 200. */
export function toStatus(errorCode: number | undefined, isModern: boolean): number {
  if (errorCode === undefined || !isModern) return 200;
  switch (errorCode) {
    case ErrorCode.MethodNotFound:
      return 404;
    case ErrorCode.HeaderMismatch:
    case ErrorCode.MissingRequiredClientCapability:
    case ErrorCode.UnsupportedProtocolVersion:
      return 400;
    default:
      return 200;
  }
}

/** The headers of a response that is one JSON object. */
export const JSON_HEADERS = { "Content-Type": "application/json" };

/**
 * A refused request. It stays a value until the endpoint responds, so that hooks get the reason without parsing a
 * response.
 */
export class Refused {
  /** The reason, with the values that explain it. */
  readonly refusal: Refusal;
  /** The id of the refused request, if it could be read. */
  readonly id: RequestId | undefined;

  /** @internal */
  constructor(refusal: Refusal, id?: RequestId) {
    this.refusal = refusal;
    this.id = id;
  }

  /** The status, headers and JSON-RPC error of the response. */
  get form(): WireForm {
    const { refusal } = this;
    return "error" in refusal ? { status: 400, ...toErrorObject(refusal.error) } : describe(refusal);
  }

  /** Returns the HTTP response. */
  toResponse(): Response {
    const { status, headers, data = { reason: this.refusal.reason }, ...error } = this.form;
    return new Response(encodeError(this.id, { ...error, data }), { status, headers: { ...JSON_HEADERS, ...headers } });
  }
}

/** A response, or the refusal that becomes one. */
export type Reply = Response | Refused;

/** Refuses a request. @param id The id of the request, if it could be read. */
export function refuse(refusal: Refusal, id?: RequestId): Refused {
  return new Refused(refusal, id);
}
