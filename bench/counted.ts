/** Wraps a contestant and counts the requests to its Durable Objects and the rows that they write. */
import type { DurableObject } from "cloudflare:workers";

type Fetch = (request: Request, env: object, ctx: unknown) => Promise<Response>;
// biome-ignore lint/suspicious/noExplicitAny: TypeScript requires this signature for mixin classes.
type ObjectClass = new (...given: any[]) => DurableObject;
type Countable = DurableObjectStub & { benchRowsChanged(): Promise<number> };

/** Fetches and RPCs to objects, plus a twentieth for each WebSocket message, as Cloudflare bills them. */
let requests = 0;
/** Every object that a stub was created for, as "binding id". */
const known = new Set<string>();

/** The Worker, with the additional route `GET /counts`. */
export function countedWorker(worker: { fetch: Fetch }): { fetch: Fetch } {
  return {
    async fetch(request, env, ctx) {
      if (new URL(request.url).pathname !== "/counts") return worker.fetch(request, countedEnv(env), ctx);
      let rows = 0;
      for (const id of known) rows += await rowsOf(id, env);
      return Response.json({ requests, rows });
    },
  };
}

export function countedObject(Base: ObjectClass): ObjectClass {
  return class extends Base {
    // biome-ignore lint/suspicious/noExplicitAny: see ObjectClass.
    constructor(...[ctx, env]: any[]) {
      super(ctx, countedEnv(env));
    }

    override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void | Promise<void> {
      requests += 1 / 20;
      return super.webSocketMessage?.(socket, message);
    }

    /** All rows that this instance's connection to SQLite changed, including those of `storage.put`. */
    benchRowsChanged(): number {
      return Number(this.ctx.storage.sql.exec("SELECT total_changes() AS rows").one().rows);
    }
  };
}

function rowsOf(key: string, env: object): Promise<number> {
  const [binding = "", id = ""] = key.split(" ");
  const namespace = (env as Record<string, DurableObjectNamespace>)[binding];
  if (namespace === undefined) return Promise.resolve(0);
  return (namespace.get(namespace.idFromString(id)) as Countable).benchRowsChanged();
}

/** An env whose namespaces count requests. */
function countedEnv(env: object): object {
  const entries = Object.entries(env).map(([name, value]) => [name, isNamespace(value) ? counted(name, value) : value]);
  return Object.fromEntries(entries);
}

function isNamespace(value: unknown): value is DurableObjectNamespace {
  return typeof value === "object" && value !== null && "idFromName" in value;
}

function counted(binding: string, namespace: DurableObjectNamespace): DurableObjectNamespace {
  return new Proxy(namespace, {
    get(target, property) {
      const value = Reflect.get(target, property) as unknown;
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        const made = value.apply(target, given) as unknown;
        if (property === "jurisdiction") return counted(binding, made as DurableObjectNamespace);
        if (property !== "get" && property !== "getByName") return made;
        const stub = made as Countable;
        known.add(`${binding} ${stub.id}`);
        return countedStub(stub);
      };
    },
  });
}

function countedStub(stub: Countable): Countable {
  return new Proxy(stub, {
    get(target, property) {
      const value = Reflect.get(target, property) as unknown;
      if (typeof value !== "function" || property === "dup") return value;
      return (...given: unknown[]) => {
        requests += 1;
        // Not `apply`: on a stub's method, `apply` would be taken as the name of another RPC method.
        return (target as unknown as Record<PropertyKey, (...given: unknown[]) => unknown>)[property]?.(...given);
      };
    },
  });
}
