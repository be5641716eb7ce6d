/**
 * One HTTP exchange with full control over the request: any Host, duplicate headers, bytes that are not text. The wire
 * oracle checks the response.
 */

import { request as open, type RequestOptions } from "node:http";
import { createParser } from "eventsource-parser";
import { namedVersion, versionsOfHeader } from "../oracle/hints.ts";
import { ASSUMED_VERSION } from "../oracle/methods.ts";
import { WireOracle } from "../oracle/oracle.ts";

/** Several values are sent as several header lines. */
export type HeaderValue = string | readonly string[];

/** One request to send. */
export interface Ask {
  readonly method: string;
  /** Path of the endpoint. @default "/mcp" */
  readonly path?: string;
  readonly headers: Readonly<Record<string, HeaderValue | undefined>>;
  readonly body?: string | Uint8Array;
  /** True: `transfer-encoding: chunked` instead of a length. */
  readonly chunked?: boolean;
}

/** One response, read to its end. */
export interface Answer {
  readonly status: number;
  /** Names in lower case; several lines of one name are joined. */
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly text: string;
  /** The JSON values of the response: the body, or the data of every SSE event. */
  readonly messages: readonly unknown[];
}

const DEADLINE_MS = 20_000;

/** Sends a request and reads the whole response. */
export function send(origin: string, ask: Ask): Promise<Answer> {
  const url = new URL(ask.path ?? "/mcp", origin);
  const body = ask.body === undefined ? undefined : Buffer.from(ask.body);
  const headers = rawHeaders(url, ask, body);
  return new Promise((resolve, reject) => {
    const outgoing = open(targetOf(url, ask.method, headers), (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        outgoing.destroy();
        resolve(answerOf(incoming.statusCode ?? 0, incoming.headersDistinct, Buffer.concat(chunks).toString("utf8")));
      });
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${DEADLINE_MS} ms`)));
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** Sends the head of a request and the first bytes of an endless body. Resolves with the status of the response. */
export function sendUnfinished(origin: string, ask: Ask): Promise<number> {
  const url = new URL(ask.path ?? "/mcp", origin);
  const { body, ...head } = ask;
  return new Promise((resolve, reject) => {
    const outgoing = open(targetOf(url, ask.method, rawHeaders(url, head, undefined)));
    outgoing.on("response", ({ statusCode }) => {
      outgoing.destroy();
      resolve(statusCode ?? 0);
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer within ${DEADLINE_MS} ms`)));
    outgoing.on("error", reject);
    outgoing.flushHeaders();
    if (body !== undefined) outgoing.write(body);
  });
}

/** Sends a request whose body is shorter than announced, and disconnects. Resolves when the connection is closed. */
export function sendPart(origin: string, ask: Ask): Promise<void> {
  const url = new URL(ask.path ?? "/mcp", origin);
  const { body, ...head } = ask;
  return new Promise((resolve) => {
    const outgoing = open(targetOf(url, ask.method, rawHeaders(url, head, undefined)));
    // The client disconnects on purpose.
    outgoing.on("error", () => undefined);
    outgoing.on("close", resolve);
    outgoing.write(body ?? "", () => outgoing.destroy());
  });
}

/** Passes one exchange to an oracle. The client is tracked, not judged: most requests of the ladder are invalid. */
export function observe(oracle: WireOracle, ask: Ask, answer: Answer, about: { agreed?: string } = {}): void {
  const header = headerOf(ask, "mcp-protocol-version");
  // The decoder drops a byte order mark, as a server may.
  const sent = ask.body === undefined ? undefined : parse(new TextDecoder().decode(Buffer.from(ask.body)));
  const legacy = header === undefined ? (about.agreed ?? ASSUMED_VERSION) : versionsOfHeader(header, about.agreed);
  const hint = {
    version: namedVersion(sent?.value) ?? legacy,
    scope: `exchange ${nextScope()}`,
    session: headerOf(ask, "mcp-session-id") ?? answer.headers["mcp-session-id"],
    deliberatelyBad: true,
    // A refusal may be sent before the body is read; a member that is not an object has no id.
    unreadableId: answer.status >= 400 || Array.isArray(sent?.value),
  };
  if (sent !== undefined) oracle.observe("client", followable(sent.value), hint);
  else if (ask.body !== undefined) oracle.observeUnreadable("client", "", hint);
  for (const message of answer.messages) oracle.observe("server", message, hint);
}

/** Returns what the oracle reports about a single exchange. */
export function problemsOf(ask: Ask, answer: Answer, about: { agreed?: string } = {}): string[] {
  const oracle = new WireOracle({ judgeClient: false });
  observe(oracle, ask, answer, about);
  return oracle.problems.map(({ problem, message }) => `${problem}: ${JSON.stringify(message)}`);
}

/** Waits until a condition holds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`did not come true within ${DEADLINE_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export function headerOf(ask: Ask, name: string): string | undefined {
  const values = Object.entries(ask.headers).flatMap(([key, value]) => {
    return key.toLowerCase() === name && value !== undefined ? [value].flat() : [];
  });
  return values.length === 0 ? undefined : values.join(", ");
}

/** Wrapped in an object, because null is JSON as well. */
export function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Gives a request whose method is missing or not a string a method, so that the oracle can track its id. */
function followable(sent: unknown): unknown {
  const isOther =
    typeof sent !== "object" || sent === null || ["result", "error"].some((key) => Object.hasOwn(sent, key));
  return isOther || Array.isArray(sent) || ("method" in sent && typeof sent.method === "string")
    ? sent
    : { ...sent, method: "(none)" };
}

let scopes = 0;

function nextScope(): number {
  scopes += 1;
  return scopes;
}

function targetOf(url: URL, method: string, headers: readonly string[]): RequestOptions {
  const { hostname, port, pathname, search } = url;
  return { hostname, port, path: pathname + search, method, headers, agent: false, timeout: DEADLINE_MS };
}

function rawHeaders(url: URL, ask: Ask, body: Uint8Array | undefined): string[] {
  const given = Object.entries(ask.headers).flatMap(([name, value]) => {
    return value === undefined ? [] : [value].flat().map((each): [string, string] => [name, each]);
  });
  const has = (name: string): boolean => given.some(([each]) => each.toLowerCase() === name);
  const framing: [string, string][] = ask.chunked
    ? [["transfer-encoding", "chunked"]]
    : body === undefined
      ? []
      : [["content-length", `${body.length}`]];
  const host: [string, string][] = has("host") ? [] : [["host", url.host]];
  return [...host, ...given, ...framing.filter(([name]) => !has(name))].flat();
}

function answerOf(
  status: number,
  distinct: Readonly<Record<string, readonly string[] | undefined>>,
  text: string,
): Answer {
  const headers = Object.fromEntries(
    Object.entries(distinct).map(([name, values]) => [name, values?.join(", ") ?? ""]),
  );
  const contentType = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const messages = contentType === "text/event-stream" ? eventsOf(text) : jsonOf(text);
  return { status, headers, contentType, text, messages };
}

function jsonOf(text: string): unknown[] {
  const parsed = parse(text);
  return parsed === undefined ? [] : [parsed.value];
}

function eventsOf(text: string): unknown[] {
  const messages: unknown[] = [];
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== "") messages.push(JSON.parse(data));
    },
    onError: (error) => {
      throw error;
    },
  });
  parser.feed(text);
  return messages;
}
