/**
 * The official SDK, version 1, with one Durable Object per session. After an eviction the object passes the stored
 * `initialize` to a new transport. Events are stored in a table, because the SDK requires an event store.
 */
import { DurableObject } from "cloudflare:workers";
import {
  type EventStore,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { makeServer } from "./sdk-v1-server.ts";

interface Env {
  readonly SESSION: DurableObjectNamespace<Session>;
}

const SESSION_ID = "mcp-session-id";

export default {
  fetch(request: Request, { SESSION }: Env): Promise<Response> {
    const given = request.headers.get(SESSION_ID);
    if (given) return SESSION.get(SESSION.idFromName(given)).fetch(request);
    const id = crypto.randomUUID();
    const headers = new Headers(request.headers);
    headers.set("x-new-session", id);
    return SESSION.get(SESSION.idFromName(id)).fetch(new Request(request, { headers }));
  },
};

export class Session extends DurableObject<Env> {
  #transport: Promise<WebStandardStreamableHTTPServerTransport> | undefined;

  override async fetch(request: Request): Promise<Response> {
    const id = request.headers.get(SESSION_ID) ?? request.headers.get("x-new-session") ?? "";
    const isNew = !request.headers.has(SESSION_ID);
    if (isNew) this.ctx.storage.kv.put("initialize", await request.clone().text());
    this.#transport ??= this.#open(id, isNew);
    return (await this.#transport).handleRequest(request);
  }

  async #open(id: string, isNew: boolean): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      enableJsonResponse: false,
      eventStore: new SqlEventStore(this.ctx.storage.sql),
    });
    await makeServer().connect(transport);
    if (!isNew) await transport.handleRequest(initializeAgain(this.ctx.storage.kv.get("initialize") ?? ""));
    return transport;
  }
}

function initializeAgain(body: string): Request {
  const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  return new Request("http://object/mcp", { method: "POST", headers, body });
}

class SqlEventStore implements EventStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec("CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, stream TEXT, message TEXT)");
  }

  async storeEvent(stream: string, message: unknown): Promise<string> {
    const text = JSON.stringify(message);
    const { id } = this.#sql
      .exec("INSERT INTO events (stream, message) VALUES (?, ?) RETURNING id", stream, text)
      .one();
    return String(id);
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    const [row] = [...this.#sql.exec<{ stream: string }>("SELECT stream FROM events WHERE id = ?", Number(eventId))];
    return row?.stream;
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (eventId: string, message: never) => Promise<void> },
  ): Promise<string> {
    const stream = (await this.getStreamIdForEventId(lastEventId)) ?? "";
    const query = "SELECT id, message FROM events WHERE stream = ? AND id > ? ORDER BY id";
    const rows = [...this.#sql.exec<{ id: number; message: string }>(query, stream, Number(lastEventId))];
    for (const { id, message } of rows) await send(String(id), JSON.parse(message) as never);
    return stream;
  }
}
