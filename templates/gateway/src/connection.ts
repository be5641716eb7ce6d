/** Connections to the servers behind the gateway, and descriptions of their failures. */
import { McpError, ToolError } from "mcp-edge";
import { type Client, ClientError, type ClientOptions, connect } from "mcp-edge/client";
import type { Upstream } from "./upstreams.ts";

/** Opens a connection to a server with its token. */
export function open(
  upstream: Upstream,
  token: string | undefined,
  options: Partial<ClientOptions> = {},
): Promise<Client> {
  return connect(upstream.url, {
    name: "gateway",
    version: "1.0.0",
    ...(token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } }),
    fetch: fetchWithStatus,
    // Failures are reported where they occur.
    onEvent: () => {},
    ...options,
  });
}

/** Drops the body of 401 and 403 responses, so that a refused token is recognised by the status, not by an error in the body. */
async function fetchWithStatus(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { status, headers } = response;
  if (status !== 401 && status !== 403) return response;
  await response.body?.cancel();
  return new Response(null, { status, headers });
}

/** Why a request failed, as JSON: an error from the server, or a description of the connection problem. */
export interface Failure {
  readonly message: string;
  /** The error code, if the server itself returned an error. */
  readonly code?: number;
  readonly data?: unknown;
  /** Whether the server may have run the request. */
  readonly mayHaveRun?: boolean;
}

/** Describes a failure, without revealing URLs and tokens. */
export function describeFailure(upstream: Upstream, error: unknown): Failure {
  const name = `The server "${upstream.name}"`;
  if (McpError.is(error)) {
    const { code, message, data } = error;
    return { message: `${name} returned an error: ${message}`, code, ...(data === undefined ? {} : { data }) };
  }
  if (!ClientError.is(error)) return { message: `${name} failed.` };
  const { code, response, mayHaveRun } = error;
  return { message: `${name} ${describeReason(code, response?.status, upstream)}`, mayHaveRun };
}

function describeReason(code: string, status: number | undefined, upstream: Upstream): string {
  if (status === 401 || status === 403) return `refused the token.${tokenHint(upstream)}`;
  switch (code) {
    case "unreachable":
    case "stream-lost":
      return "cannot be reached.";
    case "timeout":
    case "total-timeout":
      return "did not respond in time.";
    case "http-status":
      return `returned HTTP status ${status}.`;
    case "capability-missing":
    case "method-missing":
      return "does not support this.";
    default:
      return `failed (${code}).`;
  }
}

function tokenHint({ name, token }: Upstream): string {
  if (token === "caller") return ` Add a token for "${name}" to the caller in the secret CALLERS.`;
  const secret = `${name.toUpperCase().replaceAll("-", "_")}_TOKEN`;
  return token === "shared"
    ? ` Store a valid token as the secret ${secret}.`
    : ' Set token: "shared" or "caller" for it.';
}

/** Throws a failure. @throws {McpError} for errors of the server or of other methods. @throws {ToolError} for failed tool calls. */
export function fail({ message, code, data, mayHaveRun }: Failure, method: string): never {
  if (code !== undefined) throw new McpError(code, message, data);
  if (method !== "tools/call") throw new McpError(-32603, message);
  throw new ToolError(mayHaveRun ? `${message} It may have run the call.` : message);
}

/** Whether a server has a protocol version in which it asks questions in the middle of a call, which must then stay open. */
export const holdsCalls = ({ protocolVersion }: { readonly protocolVersion: string }): boolean =>
  protocolVersion < "2026-07-28";
