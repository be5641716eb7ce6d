/**
 * A Worker with sessions that counts what it asks of objects, and shows what its objects have stored. The platform's
 * own namespace does the work; it is only watched.
 */
import { McpServer } from "../../src/core/index.ts";
import { hub } from "../../src/worker/hub/index.ts";
import { edge } from "../../src/worker/index.ts";
import { durable } from "../../src/worker/sessions/index.ts";

interface Env {
  readonly MCP_SESSION: DurableObjectNamespace<McpSession>;
  readonly MCP_KEYS: string;
}

const server = new McpServer<Env>({ name: "costs", version: "1.0.0" });
server.tool("plain", {}, () => "done");
server.tool("telling", {}, (_, ctx) => {
  for (let value = 1; value <= 1_000; value += 1) ctx.progress(value);
  return "done";
});

const app = edge(server, {
  sessions: durable(),
  notices: hub(),
  auth: (request) => {
    const subject = request.headers.get("X-Subject");
    return subject === null ? "anonymous" : { issuer: "test", subject };
  },
});

export const { McpHub } = app;

export class McpSession extends app.McpSession {
  async stored(): Promise<{ keys: number; rows: number; alarm: boolean }> {
    const keys = [...this.ctx.storage.kv.list()].length;
    const has = this.ctx.storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'event_2'").toArray().length > 0;
    const count = "SELECT (SELECT COUNT(*) FROM stream_2) + (SELECT COUNT(*) FROM event_2) AS rows";
    const rows = has ? Number(this.ctx.storage.sql.exec(count).one().rows) : 0;
    return { keys, rows, alarm: (await this.ctx.storage.getAlarm()) !== null };
  }
}

let objectRequests = 0;
let lastObject: DurableObjectId | undefined;

/** The namespace with every call on a stub counted. */
function watched(namespace: Env["MCP_SESSION"]) {
  return {
    newUniqueId: () => namespace.newUniqueId(),
    idFromString: (text: string) => {
      lastObject = namespace.idFromString(text);
      return lastObject;
    },
    get: (id: DurableObjectId) =>
      new Proxy(namespace.get(id), {
        get: (stub, method) => {
          objectRequests += 1;
          // Stubs are the platform's own: their methods want them, not the one who watches.
          return (...args: unknown[]) => Reflect.apply(Reflect.get(stub, method), stub, args);
        },
      }),
  };
}

export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    if (new URL(request.url).pathname !== "/costs") {
      return app.fetch(
        request,
        { ...env, MCP_SESSION: watched(env.MCP_SESSION) as unknown as Env["MCP_SESSION"] },
        ctx,
      );
    }
    const counted = objectRequests;
    objectRequests = 0;
    return Response.json({
      objectRequests: counted,
      stored: lastObject && (await env.MCP_SESSION.get(lastObject).stored()),
    });
  },
};
