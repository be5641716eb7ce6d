/**
 * A conversation with the server in the legacy era, as a host has it: a handshake, a session, and requests in it.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { newestOf } from "../../../core/protocol/spoken-versions.ts";
import { type Exchange, exchange, isExchange, type NoResponse, resultOf, type Sending } from "./exchange.ts";

/** The order of media types that the specification's example has. */
export const ACCEPT = "application/json, text/event-stream";

/** The newest version with a handshake. */
export const LEGACY_VERSION = newestOf("legacy");

/** How long the end of a session may take, in milliseconds: normally, and after an interruption. */
const [END_MS, LAST_MS] = [5_000, 500];

/** The connection of the doctor to the server. */
export interface Line extends Sending {
  /** The headers of all requests, such as `Authorization`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends one message in a POST request. */
export function post(line: Line, message: JsonObject, headers: Readonly<Record<string, string>> = {}) {
  const id = typeof message.id === "number" ? message.id : undefined;
  return exchange(
    line,
    {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: ACCEPT, ...line.headers, ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    },
    id,
  );
}

/** Sends the request that begins a handshake. */
export function initialize(line: Line, headers: Readonly<Record<string, string>> = {}, version = LEGACY_VERSION) {
  const clientInfo = { name: "mcp-edge-doctor", version: "1.0.0" };
  return post(
    line,
    { id: 1, method: "initialize", params: { protocolVersion: version, capabilities: {}, clientInfo } },
    headers,
  );
}

/** An open conversation. */
export class Conversation {
  readonly line: Line;
  readonly sessionId: string | undefined;
  /** The version that the server chose. */
  readonly version: string;
  readonly capabilities: JsonObject;
  readonly serverName: string | undefined;
  readonly instructions: unknown;
  #lastId = 1;

  constructor(line: Line, opened: Exchange, result: JsonObject) {
    this.line = line;
    this.sessionId = opened.headers.get("mcp-session-id") ?? undefined;
    this.version = String(result.protocolVersion);
    this.capabilities = isObject(result.capabilities) ? result.capabilities : {};
    const name = isObject(result.serverInfo) ? result.serverInfo.name : undefined;
    this.serverName = typeof name === "string" ? name : undefined;
    this.instructions = result.instructions;
  }

  /** The headers of requests in this conversation. */
  get headers(): Record<string, string> {
    const session = this.sessionId === undefined ? {} : { "Mcp-Session-Id": this.sessionId };
    // Any other text would make every request invalid, including the request that ends the session.
    const version = /^[\x21-\x7e]+$/.test(this.version) ? { "MCP-Protocol-Version": this.version } : {};
    return { ...session, ...version };
  }

  notify(method: string): Promise<Exchange | NoResponse> {
    return post(this.line, { method }, this.headers);
  }

  /** Sends a request, and returns the response and the result in it. */
  async request(
    method: string,
    params?: JsonObject,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly answer: Exchange | NoResponse; readonly result: JsonObject | undefined }> {
    this.#lastId += 1;
    const message = { id: this.#lastId, method, ...(params ? { params } : {}) };
    const answer = await post(this.line, message, { ...this.headers, ...headers });
    return { answer, result: resultOf(answer, message.id) };
  }

  /** Opens the stream of the session, and closes it when its headers have arrived. */
  openStream(headers: Readonly<Record<string, string>> = {}, timeoutMs = this.line.timeoutMs) {
    const all = { Accept: "text/event-stream", ...this.line.headers, ...this.headers, ...headers };
    return exchange({ ...this.line, timeoutMs }, { headers: all });
  }

  /** Ends the session, even if the command was interrupted. A failure does not matter, because it ends by itself. */
  async end(): Promise<void> {
    if (this.sessionId === undefined) return;
    const { line } = this;
    const timeoutMs = Math.min(line.timeoutMs, line.signal.aborted ? LAST_MS : END_MS);
    const sending = { url: line.url, timeoutMs, signal: AbortSignal.timeout(timeoutMs) };
    await exchange(sending, { method: "DELETE", headers: { ...line.headers, ...this.headers } }).catch(() => undefined);
  }
}

/** Opens a conversation; undefined if the handshake fails. */
export function toConversation(line: Line, answer: Exchange | NoResponse): Conversation | undefined {
  const result = resultOf(answer, 1);
  return isExchange(answer) && result && typeof result.protocolVersion === "string"
    ? new Conversation(line, answer, result)
    : undefined;
}
