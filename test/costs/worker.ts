/**
 * A Worker with sessions that counts its requests to objects and what they do, and shows what they have stored. The
 * objects are the real ones; they are only observed.
 */
import { Hono } from "hono";
import { McpServer, type Principal } from "../../src/core/index.ts";
import { hub } from "../../src/worker/hub/index.ts";
import { authenticate, edge, objects } from "../../src/worker/index.ts";
import { sessions } from "../../src/worker/sessions/index.ts";
import { count, countStorage, takeCounts } from "./counted.ts";

type Namespace = DurableObjectNamespace<Rpc.DurableObjectBranded & Stored>;

interface Env {
  readonly MCP: Namespace;
  readonly BRIEF: Namespace;
  readonly QUIET: Namespace;
  readonly MCP_KEYS: string;
}

interface Stored {
  stored(): Promise<{ keys: number; rows: number; alarm: boolean }>;
}

const BURSTS = 20;

const server = new McpServer<Env>({ name: "costs", version: "1.0.0" });
server.tool("plain", {}, () => "done");
server.tool("telling", {}, (_, ctx) => {
  for (let value = 1; value <= 1_000; value += 1) ctx.progress(value);
  return "done";
});
server.tool("bursting", {}, async (_, ctx) => {
  for (let value = 1; value <= 1_000; value += 1) {
    ctx.progress(value);
    if (value % (1_000 / BURSTS) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return "done";
});
server.tool("awaiting", {}, async (_, ctx) => {
  for (let value = 1; value <= 1_000; value += 1) {
    ctx.progress(value);
    await undefined;
  }
  return "done";
});
server.tool("timed", {}, async (_, ctx) => {
  for (let value = 1; value <= 200; value += 1) {
    ctx.progress(value);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  return "done";
});
server.tool("asking", {}, async (_, ctx) => String((await ctx.listRoots()).length));
server.resource("test://a", { name: "a" }, () => "a");

function auth(request: Request): Principal | "anonymous" {
  const subject = request.headers.get("X-Subject");
  return subject === null ? "anonymous" : { issuer: "test", subject };
}

const app = new Hono<{ Bindings: Env }>();

function mount(path: string, binding: string, className: string, options: Parameters<typeof sessions<Env>>[0]) {
  // Hundreds of heartbeats in the time after which an object hibernates.
  const parts = [sessions(options), authenticate(auth), objects({ className, binding })] as const;
  const use = [...parts, ...(binding === "QUIET" ? [] : [hub()])] as const;
  const endpoint = edge(server, { path, heartbeatMs: 50, use });
  app.route("/", endpoint);
  return class extends endpoint.McpObject implements Stored {
    /** The hub's costs depend on the number of streams, so they are not counted as costs of a session. */
    readonly #isHub: boolean;

    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env);
      this.#isHub = ctx.id.name !== undefined || ctx.getWebSockets("hub").length > 0;
      if (this.#isHub) return;
      count("wakes");
      countStorage(ctx);
    }

    override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
      if (!this.#isHub) count("messages");
      return super.webSocketMessage(socket, message);
    }

    override async alarm(): Promise<void> {
      count("alarms");
      return super.alarm();
    }

    async stored() {
      const keys = [...this.ctx.storage.kv.list()].length;
      const has = this.ctx.storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'event'").toArray().length > 0;
      const query = "SELECT (SELECT COUNT(*) FROM stream) + (SELECT COUNT(*) FROM event) AS rows";
      const rows = has ? Number(this.ctx.storage.sql.exec(query).one().rows) : 0;
      return { keys, rows, alarm: (await this.ctx.storage.getAlarm()) !== null };
    }
  };
}

export const McpObject = mount("/mcp", "MCP", "McpObject", {});
export const BriefObject = mount("/brief/mcp", "BRIEF", "BriefObject", { ttlMs: 60_000, resumeMs: 1_000 });
/** Without a hub. A session of it is renewed when it is used later than 7.5 s after it was opened. */
export const QuietObject = mount("/quiet/mcp", "QUIET", "QuietObject", { idleTimeoutMs: 30_000 });

let last: { namespace: Namespace; id: DurableObjectId } | undefined;

/** The namespace, with every call on a stub counted. */
function watched(namespace: Namespace): Namespace {
  const seen = {
    idFromName: (name: string) => namespace.idFromName(name),
    newUniqueId: () => namespace.newUniqueId(),
    idFromString: (text: string) => {
      const id = namespace.idFromString(text);
      last = { namespace, id };
      return id;
    },
    get: (id: DurableObjectId) =>
      new Proxy(namespace.get(id), {
        get: (stub, method) => {
          // Only the hub is addressed by name.
          count(id.name === undefined ? "requests" : "hubRequests");
          // The methods of a stub require the stub itself as `this`, not the proxy.
          return (...args: unknown[]) => Reflect.apply(Reflect.get(stub, method), stub, args);
        },
      }),
  };
  return seen as unknown as Namespace;
}

export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    const { pathname } = new URL(request.url);
    // Reading the storage wakes an object, so it is done only on request.
    if (pathname === "/counts") return Response.json(takeCounts());
    if (pathname === "/costs") {
      const counts = takeCounts();
      const stored = last && (await last.namespace.get(last.id).stored());
      takeCounts();
      return Response.json({ counts, stored });
    }
    const objects = { MCP: watched(env.MCP), BRIEF: watched(env.BRIEF), QUIET: watched(env.QUIET) };
    return app.fetch(request, { ...env, ...objects }, ctx);
  },
};
