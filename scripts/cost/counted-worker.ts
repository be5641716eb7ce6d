/**
 * Wraps any Worker and counts what Cloudflare bills for it: requests to the Worker and to its objects, WebSocket messages
 * into objects, alarms, and rows. The objects are the real ones; they are only observed.
 */
import type { DurableObject } from "cloudflare:workers";
import { type Counts, count, countStorage, takeCounts } from "../../test/costs/counted.ts";

/** What a Worker and its objects were billed for. */
export interface Billed extends Omit<Counts, "hubRequests"> {
  /** Requests to the Worker itself. */
  readonly workerRequests: number;
}

type Fetch = (request: Request, env: object, ctx: ExecutionContext) => Response | Promise<Response>;
// biome-ignore lint/suspicious/noExplicitAny: TypeScript requires this signature for mixin classes.
type ObjectClass = new (...given: any[]) => DurableObject<unknown>;

let workerRequests = 0;

/** Returns the Worker with the additional route `GET /billed`, which returns the counts since the previous request to it. */
export function countedWorker(worker: { fetch: Fetch }): { fetch: Fetch } {
  return {
    fetch(request, env, ctx) {
      if (new URL(request.url).pathname === "/billed") {
        // Here the requests to the hub are among those to all objects.
        const { hubRequests: _, ...counts } = takeCounts();
        const billed: Billed = { workerRequests, ...counts };
        workerRequests = 0;
        return Response.json(billed);
      }
      workerRequests += 1;
      return worker.fetch(request, countedEnv(env), ctx);
    },
  };
}

/** Returns the class with its storage, messages and alarms counted. */
export function countedObject(Base: ObjectClass): ObjectClass {
  const Counted = class extends Base {
    // biome-ignore lint/suspicious/noExplicitAny: see ObjectClass.
    constructor(...[ctx, env]: any[]) {
      count("wakes");
      countStorage(ctx);
      countAsyncStorage(ctx);
      super(ctx, countedEnv(env));
    }

    override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void | Promise<void> {
      count("messages");
      return super.webSocketMessage?.(socket, message);
    }

    override alarm(info?: AlarmInvocationInfo): void | Promise<void> {
      count("alarms");
      return super.alarm?.(info);
    }
  };
  // Some libraries look their own class up by its name.
  Object.defineProperty(Counted, "name", { value: Base.name });
  return Counted;
}

/** Counts the methods of the storage that return promises; `countStorage` counts SQL and the synchronous ones. */
function countAsyncStorage({ storage }: DurableObjectState): void {
  const { get, put, delete: remove, list } = storage;
  const many = (given: unknown) => (Array.isArray(given) ? given.length : 1);
  Object.assign(storage, {
    get(...given: unknown[]) {
      count("rowsRead", many(given[0]));
      return Reflect.apply(get, storage, given);
    },
    put(...given: unknown[]) {
      count("rowsWritten", typeof given[0] === "string" ? 1 : Object.keys(given[0] as object).length);
      return Reflect.apply(put, storage, given);
    },
    delete(...given: unknown[]) {
      count("rowsWritten", many(given[0]));
      return Reflect.apply(remove, storage, given);
    },
    async list(...given: unknown[]) {
      const found = await (Reflect.apply(list, storage, given) as ReturnType<typeof list>);
      count("rowsRead", found.size);
      return found;
    },
  });
}

/** Returns an env whose namespaces count requests. */
function countedEnv(env: object): object {
  const entries = Object.entries(env).map(([name, value]) => [name, isNamespace(value) ? counted(value) : value]);
  return Object.fromEntries(entries);
}

function isNamespace(value: unknown): value is DurableObjectNamespace {
  return typeof value === "object" && value !== null && "idFromName" in value;
}

function counted(namespace: DurableObjectNamespace): DurableObjectNamespace {
  return new Proxy(namespace, {
    get(target, property) {
      const value = Reflect.get(target, property) as unknown;
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        const made = Reflect.apply(value, target, given) as unknown;
        if (property === "jurisdiction") return counted(made as DurableObjectNamespace);
        return property === "get" || property === "getByName" ? countedStub(made as DurableObjectStub) : made;
      };
    },
  });
}

function countedStub(stub: DurableObjectStub): DurableObjectStub {
  return new Proxy(stub, {
    get(target, property) {
      const value = Reflect.get(target, property) as unknown;
      if (typeof value !== "function" || property === "dup") return value;
      return (...given: unknown[]) => {
        count("requests");
        // The methods of a stub require the stub itself as `this`, not the proxy.
        return Reflect.apply(value, target, given);
      };
    },
  });
}
