/** A small server of another kind than mcp-edge, which behaves correctly except for one fault that a test plants. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Finding } from "../../../src/cli/commands/doctor/diagnosis.ts";
import type { HostOutcome } from "../../../src/cli/commands/doctor/report.ts";
import { cli } from "../run.ts";

type Json = Record<string, unknown>;

/** A request, with its parsed body. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly message: Json;
  readonly origin: string;
}

/** A response of the server. */
export interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** Whether the response never comes. */
  readonly never?: boolean;
}

/** What differs from a correct server. */
export interface Fault {
  /** Replaces the response to a request, if it returns one. */
  readonly reply?: (request: Received, correct: () => Reply) => Reply | undefined;
  /** Replaces the tools. */
  readonly tools?: readonly Json[];
  /** Replaces members of the result of `initialize`. */
  readonly initialized?: Json;
  /** Whether a token is required. */
  readonly isProtected?: boolean;
  /** Replaces members of the protected resource metadata. */
  readonly resource?: (origin: string) => Json;
  /** Replaces members of the metadata of the authorization server; undefined removes one. */
  readonly issuer?: (origin: string) => Json;
}

export const TOOL = { name: "add", description: "Adds", inputSchema: { type: "object" } };

/** Returns a number of tools with different names. */
export function toolsNamed(count: number): (typeof TOOL)[] {
  return Array.from({ length: count }, (_, index) => ({ ...TOOL, name: `tool${index}` }));
}

/** A running server. */
export interface Planted extends AsyncDisposable {
  readonly url: string;
  /** The methods of the messages that it received. */
  readonly received: readonly string[];
}

/** Starts a server with a fault. */
export async function plant(fault: Fault = {}): Promise<Planted> {
  const sessions = new Set<string>();
  const received: string[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((message) => {
      if (typeof message.method === "string") received.push(message.method);
      const origin = `http://${request.headers.host}`;
      const path = new URL(request.url ?? "/", origin).pathname;
      const { method = "GET", headers } = request;
      const all: Received = { method, path, headers, message, origin };
      const correct = () => answer(all, fault, sessions);
      send(response, fault.reply?.(all, correct) ?? correct());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    received,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Json> {
  let text = "";
  for await (const chunk of request) text += chunk;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return {};
  }
}

function send(response: ServerResponse, { status, headers = {}, body, never }: Reply): void {
  if (never) return;
  const isText = typeof body === "string";
  const type = isText ? "text/html" : "application/json";
  response.writeHead(status, { ...(body === undefined ? {} : { "content-type": type }), ...headers });
  response.end(body === undefined ? undefined : isText ? body : JSON.stringify(body));
}

function answer(request: Received, fault: Fault, sessions: Set<string>): Reply {
  const { method, path, headers, message, origin } = request;
  if (path.startsWith("/.well-known/")) return metadata(path, origin, fault);
  if (path !== "/mcp") return { status: 404, body: "<h1>Not found</h1>" };
  if (fault.isProtected && !headers.authorization) return challenge(origin);
  if (method === "GET") return { status: 405 };
  const session = headers["mcp-session-id"];
  if (session !== undefined && !sessions.has(String(session))) return { status: 404, body: {} };
  if (method === "DELETE") return { status: 200 };
  return dispatch(message, fault, sessions);
}

/** Refuses a body that is not JSON-RPC with a reason, as mcp-edge does. */
export function recognized(reason: string): NonNullable<Fault["reply"]> {
  return ({ method, message }) => {
    const error = { code: -32600, message: "not JSON-RPC", data: { reason } };
    return method === "POST" && message.method === 0
      ? { status: 400, body: { jsonrpc: "2.0", id: null, error } }
      : undefined;
  };
}

/** The response to a request without a token. */
export function challenge(origin: string, more = ""): Reply {
  const place = `${origin}/.well-known/oauth-protected-resource/mcp`;
  return { status: 401, headers: { "www-authenticate": `Bearer resource_metadata="${place}"${more}` }, body: {} };
}

function metadata(path: string, origin: string, { isProtected, resource, issuer }: Fault): Reply {
  if (!isProtected) return { status: 404 };
  if (path.startsWith("/.well-known/oauth-protected-resource")) {
    const own = { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ["read"] };
    return { status: 200, body: { ...own, ...resource?.(origin) } };
  }
  if (path !== "/.well-known/oauth-authorization-server") return { status: 404 };
  const own = {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ["S256"],
    scopes_supported: ["read", "write"],
  };
  return { status: 200, body: { ...own, ...issuer?.(origin) } };
}

function dispatch({ id, method, params }: Json, fault: Fault, sessions: Set<string>): Reply {
  const result = (value: Json, headers = {}): Reply => ({
    status: 200,
    headers,
    body: { jsonrpc: "2.0", id, result: value },
  });
  if (id === undefined) return { status: 202 };
  switch (method) {
    case "initialize": {
      const session = `session-${sessions.size}`;
      sessions.add(session);
      const { protocolVersion } = params as { protocolVersion: string };
      const own = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "planted", version: "1.0.0" } };
      return result({ ...own, ...fault.initialized }, { "mcp-session-id": session });
    }
    case "ping":
      return result({});
    case "tools/list":
      return result({ tools: fault.tools ?? [TOOL] });
    case "tools/call":
      return result({ content: [{ type: "text", text: "done" }] });
    default:
      return { status: 200, body: { jsonrpc: "2.0", id, error: { code: -32601, message: "unknown" } } };
  }
}

/** What `doctor --json` prints. */
export interface Report {
  readonly code: number | null;
  readonly stderr: string;
  readonly usesMcpEdge: boolean;
  readonly hosts: readonly HostOutcome[];
  readonly findings: readonly Finding[];
  readonly toolsSize?: string;
}

/** A folder without a project, and without stored tokens. */
const ELSEWHERE = tmpdir();

/** The environment of a user who has no stored tokens. */
export const NO_TOKENS = { XDG_CONFIG_HOME: join(tmpdir(), `mcp-edge-none-${process.pid}`) } as const;

/** Runs `doctor --json` in a folder. */
export async function doctorIn(cwd: string, ...args: readonly string[]): Promise<Report> {
  const { code, stdout, stderr } = await cli(["doctor", "--json", ...args], { cwd, env: NO_TOKENS });
  // A server in this process logs to the same console.
  const report = stdout.replaceAll(/^mcp-edge: .*\n/gm, "");
  return { code, stderr, ...(JSON.parse(report) as Omit<Report, "code" | "stderr">) };
}

/** Runs `doctor --json` outside of a project. */
export function doctor(...args: readonly string[]): Promise<Report> {
  return doctorIn(ELSEWHERE, ...args);
}

/** Returns the ids of findings, each with its severity. */
export function idsOf({ findings }: Report): string[] {
  return findings.map(({ id, severity }) => `${id} ${severity}`);
}

/** Returns a JWT with these claims, and without a valid signature. */
export function tokenOf(claims: Json): string {
  const encode = (value: Json) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${encode({ alg: "ES256" })}.${encode(claims)}.c2lnbmF0dXJl`;
}
