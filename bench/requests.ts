/** The measured requests, as the bytes that a client sends. */
import type { Answer, Connection } from "./client.ts";
import type { Contestant } from "./contestants.ts";
import type { Pace } from "./tools.ts";

const LATEST_LEGACY = "2025-11-25";
const MODERN = "2026-07-28";
const ECHO = "forecast_00";
const EMIT = { name: "emit" };
const PROGRESS = { progressToken: 1 };
const FORECAST = { city: "Oslo", days: 3, units: "metric" };
const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

type Params = Readonly<Record<string, unknown>>;

export const modernCall = (): Buffer => modern("tools/call", { name: ECHO, arguments: FORECAST });
export const modernList = (): Buffer => modern("tools/list", {});
export const statelessCall = ({ legacyVersion = LATEST_LEGACY }: Contestant): Buffer =>
  legacy({ path: "/mcp", version: legacyVersion }, "tools/call", { name: ECHO, arguments: FORECAST });

/** Opens a stream of notifications about changes of the tool list. */
export const listen = (): Buffer => modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
/** Makes a Worker that has this route publish the notification. */
export const toolsChanged = (): Buffer => Buffer.from("GET /tools-changed HTTP/1.1\r\nHost: localhost\r\n\r\n");

/** The path of a legacy request and its protocol version. */
interface Place {
  readonly path: string;
  readonly version: string;
  /** The session id; undefined without a session. */
  readonly id?: string;
}

/** A session as its client knows it. */
export interface Session extends Place {
  readonly id: string;
}

/** @param id The id of the request. Requests of one session that run at the same time need different ones. */
export const sessionCall = (session: Session, id = 1): Buffer =>
  legacy(session, "tools/call", { name: ECHO, arguments: FORECAST }, id);
export const sessionList = (session: Session): Buffer => legacy(session, "tools/list", {});
export const emitCall = (session: Session, events: Events, id = 1): Buffer =>
  legacy(session, "tools/call", { ...EMIT, arguments: events, _meta: { progressToken: id } }, id);
export const modernEmitCall = (events: Events): Buffer =>
  modern("tools/call", { ...EMIT, arguments: events, _meta: { ...META, ...PROGRESS } });

/** The arguments of a call with events. */
export interface Events {
  readonly count: number;
  /** What the tool awaits after each event. Without it all events are emitted in one turn. */
  readonly pace?: Pace;
}

/** A GET that resumes a stream after an event. */
export function resume(session: Session, lastEventId: string): Buffer {
  return Buffer.from(
    `GET ${session.path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n` +
      `${legacyHeaders(session)}Last-Event-ID: ${lastEventId}\r\n\r\n`,
  );
}

const placeOf = ({ sessionPath = "/mcp", legacyVersion = LATEST_LEGACY }: Contestant): Place => ({
  path: sessionPath,
  version: legacyVersion,
});

/** The first request of a client. */
export const initializeFor = (contestant: Contestant): Buffer => initialize(placeOf(contestant));

/** Opens a session as clients do: `initialize`, then `notifications/initialized`. */
export async function openSession(connection: Connection, contestant: Contestant): Promise<Session> {
  const place = placeOf(contestant);
  const answer = await connection.send(initialize(place));
  const id = /\r\nmcp-session-id: ([^\r]+)/i.exec(answer.head)?.[1];
  if (id === undefined) throw new Error(`${contestant.name} opened no session: ${answer.head}\n${answer.body}`);
  const session = { ...place, id };
  await connection.send(post(place.path, { method: "notifications/initialized" }, legacyHeaders(session)));
  return session;
}

/** Throws unless the answer is that of the echo tool or the tool list. */
export function assertServed(contestant: Contestant, answer: Answer): void {
  const isServed = answer.status === 200 && /Oslo: 3 days of sun|"forecast_00"/.test(answer.body);
  if (!isServed) throw new Error(`${contestant.name} answered ${answer.head}\n${answer.body.slice(0, 500)}`);
}

function initialize(place: Place): Buffer {
  const clientInfo = { name: "bench", version: "1.0.0" };
  return legacy(place, "initialize", { protocolVersion: place.version, capabilities: {}, clientInfo });
}

function modern(method: string, params: Params): Buffer {
  const name = typeof params.name === "string" ? `Mcp-Name: ${params.name}\r\n` : "";
  const headers = `MCP-Protocol-Version: ${MODERN}\r\nMcp-Method: ${method}\r\n${name}`;
  return post("/mcp", { id: 1, method, params: { _meta: META, ...params } }, headers);
}

function legacy(place: Place, method: string, params: Params, id = 1): Buffer {
  return post(place.path, { id, method, params }, legacyHeaders(place));
}

function legacyHeaders({ version, id }: Place): string {
  const session = id === undefined ? "" : `Mcp-Session-Id: ${id}\r\n`;
  return `MCP-Protocol-Version: ${version}\r\n${session}`;
}

function post(path: string, message: Params, headers: string): Buffer {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
      `Accept: application/json, text/event-stream\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
