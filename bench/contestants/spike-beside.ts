/**
 * The floor for sessions: each request makes one RPC to the Durable Object that its session id names. A streamed call
 * writes one row per event and can be resumed.
 */
import { DurableObject } from "cloudflare:workers";
import { Hono } from "hono/tiny";
import { cannedAnswer } from "./canned.ts";

interface Env {
  readonly SESSION: DurableObjectNamespace<Session>;
}

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly arguments?: { readonly count?: number } };
}

const JSON_TYPE = { "Content-Type": "application/json" };
const SSE_TYPE = { "Content-Type": "text/event-stream" };

const app = new Hono<{ Bindings: Env }>();
app.post("/mcp", async (context) => {
  const message = await context.req.json<Message>();
  const given = context.req.header("mcp-session-id");
  const id = given ?? crypto.randomUUID();
  const { SESSION } = context.env;
  const session = SESSION.get(SESSION.idFromName(id));
  if (message.params?.name === "emit") {
    const events = await session.emit(message.id ?? 0, message.params.arguments?.count ?? 0);
    return new Response(events, { headers: SSE_TYPE });
  }
  const [answer] = await Promise.all([Promise.resolve(cannedAnswer(message.id, message.method)), session.alive()]);
  if (message.id === undefined) return new Response(null, { status: 202 });
  return new Response(answer, { headers: given ? JSON_TYPE : { ...JSON_TYPE, "mcp-session-id": id } });
});
app.get("/mcp", async (context) => {
  const { SESSION } = context.env;
  const session = SESSION.get(SESSION.idFromName(context.req.header("mcp-session-id") ?? ""));
  const events = await session.after(Number(context.req.header("last-event-id")));
  return new Response(events, { headers: SSE_TYPE });
});
export default app;

export class Session extends DurableObject<Env> {
  #hasTable = false;

  alive(): boolean {
    return true;
  }

  answer(id: number | undefined, method: string): string {
    return cannedAnswer(id, method);
  }

  emit(id: number, count: number): ReadableStream {
    const { sql } = this.ctx.storage;
    if (!this.#hasTable) sql.exec("CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, data TEXT)");
    this.#hasTable = true;
    const frames: string[] = [];
    const log = (data: string) => {
      const row = sql.exec<{ id: number }>("INSERT INTO events (data) VALUES (?) RETURNING id", data).one();
      frames.push(`id: ${row.id}\ndata: ${data}\n\n`);
    };
    for (let progress = 1; progress <= count; progress += 1) {
      log(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${id},"progress":${progress}}}`,
      );
    }
    log(cannedAnswer(id, "tools/call"));
    return streamOf(frames);
  }

  after(last: number): ReadableStream {
    const rows = this.ctx.storage.sql.exec<{ id: number; data: string }>("SELECT * FROM events WHERE id > ?", last);
    return streamOf([...rows].map(({ id, data }) => `id: ${id}\ndata: ${data}\n\n`));
  }
}

function streamOf(frames: readonly string[]): ReadableStream {
  const encoder = new TextEncoder();
  return new ReadableStream({
    type: "bytes",
    start(controller) {
      for (const frame of frames) controller.enqueue(encoder.encode(frame));
      controller.close();
    },
  });
}
