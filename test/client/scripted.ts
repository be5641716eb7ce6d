/**
 * A small HTTP server that responds as a test requires, in ways in which our server never responds. Every message of both sides
 * is checked.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Judge, newExchange, watchResponse } from "../oracle/http-tap.ts";
import { type Problem, WireOracle } from "../oracle/oracle.ts";
import { specOf } from "../oracle/spec.ts";

export interface Asked {
  readonly method: string;
  /** The path with the query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The parsed body; undefined for a GET. */
  readonly message:
    | { readonly id?: unknown; readonly method?: string; readonly params?: Record<string, unknown> }
    | undefined;
}

/**
 * The oracle's texts for the problems of a server, and, if only a schema of the specification contains the rule that the
 * server breaks, the folder of that schema. Without the schema, the oracle cannot find the problem.
 */
export type Faults = RegExp | { readonly text: RegExp; readonly schema: "2026-07-28" | "ext-tasks" };

export interface Scripted extends AsyncDisposable {
  readonly url: string;
  /** Every request so far: its HTTP method, and its JSON-RPC method if it has one. */
  readonly asked: string[];
}

/**
 * Starts a server on a free port. When it is disposed of, the test fails if a message was not valid.
 *
 * @param faults The problems that the server causes on purpose. The oracle must find one of them, and no other problem.
 */
export async function scripted(
  answer: (asked: Asked, response: ServerResponse) => unknown,
  faults?: Faults,
): Promise<Scripted> {
  const asked: string[] = [];
  const oracle = new WireOracle();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const exchange = newExchange(request);
    exchange.requestBody = text;
    const judge = new Judge(oracle, exchange);
    judge.request();
    watchResponse(response, exchange, judge);
    const message = text === "" ? undefined : (JSON.parse(text) as Asked["message"]);
    asked.push([request.method, message?.method].filter(Boolean).join(" "));
    await answer({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, message }, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    asked,
    [Symbol.asyncDispose]: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      expectOnly(oracle, faults);
    },
  };
}

/** Expects that the oracle found a fault that the server has on purpose, and no problem besides. */
function expectOnly(oracle: WireOracle, faults: Faults | undefined): void {
  const { text, schema } = faults instanceof RegExp ? { text: faults } : (faults ?? {});
  const isIntended = ({ from, problem }: Problem) => from === "server" && text?.test(problem) === true;
  const canBeFound = text !== undefined && (schema === undefined || specOf(schema) !== undefined);
  if (canBeFound && !oracle.problems.some(isIntended))
    throw new Error(`no message of the server has the fault ${text}`);
  const others = oracle.problems.filter((problem) => !isIntended(problem));
  oracle.problems.splice(0, Number.POSITIVE_INFINITY, ...others);
  if (others.length > 0) oracle.expectClean();
}

/** The result of a call without content, in the modern era. */
export const DONE = { resultType: "complete", content: [] };

/** The members that a modern result has which may be cached. */
export const CACHED = { resultType: "complete", ttlMs: 0, cacheScope: "public" };

/** Responds with JSON. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** Responds to a request with a result. */
export function result(
  response: ServerResponse,
  id: unknown,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  json(response, 200, { jsonrpc: "2.0", id, result: value }, headers);
}

/** Responds to a request with an error. */
export function error(response: ServerResponse, status: number, id: unknown, code: number, data?: unknown): void {
  json(response, status, { jsonrpc: "2.0", id, error: { code, message: `error ${code}`, data } });
}

/** The result of `initialize` in a version. */
export function initialized(protocolVersion: string, capabilities: Record<string, unknown> = { tools: {} }) {
  return { protocolVersion, capabilities, serverInfo: { name: "scripted", version: "1.0.0" } };
}

/** The result of `server/discover`. */
export function discovered(
  supportedVersions: readonly string[] = ["2026-07-28"],
  capabilities: Record<string, unknown> = { tools: {} },
) {
  return { ...CACHED, supportedVersions, capabilities };
}
