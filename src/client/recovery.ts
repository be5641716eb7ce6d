/**
 * Decides which requests are sent again after a failure.
 *
 * @module
 */
import { McpError } from "../core/protocol/errors.ts";
import { ErrorCode, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { metaOf } from "../core/protocol/lifecycle.ts";
import { ClientError } from "./errors.ts";
import type { Tool } from "./results.ts";

/** The member of `_meta` by which a server recognises a repeated call, and the capability that declares it. */
export const IDEMPOTENCY_KEY = "mcp-edge/idempotencyKey";

/** Returns a key that nobody can guess. Pages that were not loaded over HTTPS lack `crypto.randomUUID`. */
export function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}

/** How often a request is sent again after its connection broke. */
export const REPEATS_MAX = 3;

/** Requests that change nothing, or nothing further when they are repeated. */
const HARMLESS =
  /^(ping|server\/discover|.*\/list|resources\/((directory\/)?read|subscribe|unsubscribe)|(prompts|skills|tasks)\/get|completion\/complete|logging\/setLevel|tasks\/result)$/;

/**
 * Whether a request may be sent again although the server may have run it. A call may be if the tool says so in its hints,
 * or if a key lets the server recognise it.
 *
 * @param tool The tool of a call, if it was listed.
 */
export function isRepeatable(
  method: string,
  params: JsonObject | undefined,
  tool: Pick<Tool, "annotations"> | undefined,
): boolean {
  if (HARMLESS.test(method)) return true;
  if (metaOf(params)[IDEMPOTENCY_KEY] !== undefined) return true;
  const { readOnlyHint, idempotentHint } = tool?.annotations ?? {};
  return method === "tools/call" && (readOnlyHint === true || idempotentHint === true);
}

/** Whether a request failed because the connection broke, or because the server was not there for a moment. */
export function isInterruption(error: unknown): error is ClientError {
  if (!ClientError.is(error)) return false;
  if (error.code === "http-status") return [502, 503, 504].includes(error.response?.status ?? 0);
  return error.code === "unreachable" || error.code === "stream-lost";
}

/** Whether the server refused a call because its `Mcp-Param-*` headers are wrong. */
export function isHeaderMismatch(error: unknown): boolean {
  return McpError.is(error) && error.code === ErrorCode.HeaderMismatch;
}

/** Whether a failure shows by itself that the server has not run the request. */
export function wasRefused(error: unknown): boolean {
  if (ClientError.is(error)) return !error.mayHaveRun;
  return McpError.is(error) && error.code === ErrorCode.UnsupportedProtocolVersion;
}

/** Whether a failure can mean that the server is of another era than assumed. */
export function mayBeOtherEra(error: unknown): boolean {
  return McpError.is(error) || (ClientError.is(error) && error.code === "http-status" && !error.mayHaveRun);
}
