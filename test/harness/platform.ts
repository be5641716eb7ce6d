/**
 * The platform as the kit sees it, in tests that make it fail: the module `cloudflare:workers`, whose objects, storage and
 * namespaces are wrapped. A bundle of `test/releases/bundle.ts` imports this module in place of the original.
 *
 * - Faults can be injected at each place where the kit uses the platform: see `Place`.
 * - The messages between the Worker and its objects can be recorded.
 * - The clock can be moved in both directions, together with the alarms, for stored data of an older release.
 *
 * This file runs in workerd, not in Node.
 */
import * as real from "cloudflare:workers";
import { moveClock } from "../../src/testing/clock.ts";
import { type Fault, type FaultKind, type Place, type PlatformCommand, SPENDING_LIMIT } from "./platform-faults.ts";
import { type Recorded, shapeOf } from "./shapes.ts";

export const { env, waitUntil, WorkerEntrypoint, WorkflowEntrypoint } = real;

type AnyFunction = (...args: unknown[]) => unknown;
type Members = Readonly<Record<string, unknown>>;

let faults: Fault[] = [];
let aheadMs = 0;
/** The places at which the kit has used the platform, each with the number of times. */
const used = new Map<string, number>();
const recorded = new Map<string, Recorded>();

/** Serves the commands of a test at `/__platform`. Returns undefined for any other request. */
export async function servePlatform(request: Request): Promise<Response | undefined> {
  if (!request.url.endsWith("/__platform")) return undefined;
  const command: PlatformCommand = await request.json();
  if (command.faults) faults = command.faults.map((fault) => ({ ...fault }));
  if (command.faults) used.clear();
  return Response.json({ used: Object.fromEntries(used), recorded: [...recorded.values()] });
}

/** Moves the clock and the alarms of this isolate. */
export function setClock(ms: number): void {
  aheadMs = ms;
  moveClock(ms);
}

/** Throws if a fault is set for a place. @param where The role, and the method if there is one, as in "session/post". */
function strike(place: Place, where: string): void {
  const key = `${place} ${where}`;
  used.set(key, (used.get(key) ?? 0) + 1);
  const fault = faults.find((each) => each.place === place && (!each.where || where.startsWith(each.where)));
  if (!fault || fault.times === 0) return;
  if (fault.skip) {
    fault.skip -= 1;
    return;
  }
  if (fault.times !== undefined) fault.times -= 1;
  throw errorOf(fault.kind);
}

function errorOf(kind: FaultKind): Error | null {
  switch (kind) {
    case "spending-limit":
      return new Error(SPENDING_LIMIT);
    case "overloaded":
      return Object.assign(new Error("Durable Object is overloaded. Requests queued for too long."), {
        overloaded: true,
        retryable: true,
      });
    case "reset":
      return Object.assign(new Error("Durable Object reset because its code was updated."), {
        durableObjectReset: true,
        retryable: true,
      });
    case "unreachable":
      return new Error("Network connection lost.");
    case "full":
      return new Error("database or disk is full: SQLITE_FULL");
    case "null":
      return null;
  }
}

/** Returns a proxy whose members are those of the target, except for some. */
function wrap<T extends object>(target: T, members: Readonly<Record<string, unknown>>): T {
  return new Proxy(target, {
    get(_, name) {
      if (typeof name === "string" && Object.hasOwn(members, name)) return members[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value as AnyFunction).bind(target) : value;
    },
  });
}

// Objects

/** The base class of objects. Their storage is wrapped. */
export class DurableObject extends real.DurableObject {
  constructor(ctx: DurableObjectState, env: never) {
    super(ctx, env);
    Object.defineProperty(this, "ctx", { value: wrapState(ctx) });
  }
}

/** The roles of objects without a name, by id. They are known from the calls. */
const roles = new Map<string, string>();

/** Called with the target of each call of an object. */
export function noteRole(id: DurableObjectId, target: string): void {
  roles.set(id.toString(), target.split("/")[0] ?? "");
}

function wrapState(ctx: DurableObjectState): DurableObjectState {
  const { storage } = ctx;
  const at = () => roles.get(ctx.id.toString()) ?? "";
  const guarded = (name: Place, method: AnyFunction) =>
    function guard(...args: unknown[]) {
      strike(name, at());
      return method(...args);
    };
  const kv = Object.fromEntries(
    (["get", "put", "list", "delete"] as const).map((name) => {
      const call = guarded("sql", (storage.kv[name] as AnyFunction).bind(storage.kv));
      return [name, name === "put" ? guarded("write", call) : call];
    }),
  );
  const exec = (query: string, ...bindings: SqlStorageValue[]) => {
    strike("sql", at());
    if (/^\s*(INSERT|UPDATE|CREATE)/.test(query)) strike("write", at());
    return storage.sql.exec(query, ...bindings);
  };
  const wrapped = wrap(storage, {
    kv: wrap(storage.kv, kv),
    sql: wrap(storage.sql, { exec }),
    setAlarm: async (atMs: number) => {
      strike("setAlarm", at());
      await storage.setAlarm(Number(atMs) - aheadMs);
    },
    getAlarm: async () => {
      strike("sql", at());
      const atMs = await storage.getAlarm();
      return atMs === null ? null : atMs + aheadMs;
    },
    deleteAll: guarded("sql", () => storage.deleteAll()),
  });
  return wrap(ctx, { storage: wrapped });
}

// Calls to objects

/** The namespaces of the Worker. */
export const exports: Members = new Proxy(real.exports as Members, {
  get(target, name) {
    const value: unknown = Reflect.get(target, name, target);
    return isNamespace(value) ? wrapNamespace(value) : value;
  },
});

function isNamespace(value: unknown): value is DurableObjectNamespace {
  return (typeof value === "object" || typeof value === "function") && value !== null && "idFromName" in value;
}

function wrapNamespace(namespace: DurableObjectNamespace): object {
  const get = (...args: Parameters<DurableObjectNamespace["get"]>) => wrapStub(namespace.get(...args));
  return wrap(namespace as object, { get, idFromName: namespace.idFromName.bind(namespace), noSuchMethod: undefined });
}

type Stub = { callRole: (target: string, method: string, ...args: unknown[]) => Promise<unknown> } & DurableObjectStub;

function wrapStub(stub: DurableObjectStub): object {
  return {
    async callRole(target: string, method: string, ...args: unknown[]): Promise<unknown> {
      const where = `${target.split("/")[0]}/${method}`;
      strike("call", where);
      const result = await (stub as Stub).callRole(target, method, ...args);
      const parameters = args.map((arg, at) => [`p${at + 1}`, typeof arg === "string" ? parse(arg) : arg]);
      record(`rpc ${where}`, { ...Object.fromEntries(parameters), result });
      return result;
    },
    async fetch(url: string, init: { headers: Readonly<Record<string, string>> }): Promise<Response> {
      const role = new URL(url).pathname.split("/")[1] ?? "";
      strike("call", `${role}/fetch`);
      const response = await stub.fetch(url, init);
      const { Upgrade: _, ...headers } = init.headers;
      record(`request ${role}`, Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, parse(text)])));
      watch(role, response.webSocket);
      return response;
    },
  };
}

/** Records the messages on a WebSocket. */
function watch(role: string, socket: WebSocket | null): void {
  if (!socket) return;
  socket.addEventListener("message", ({ data }) => record(`message of ${role}`, parse(String(data))));
  const send = socket.send.bind(socket);
  socket.send = (text) => {
    record(`message to ${role}`, parse(String(text)));
    send(text);
  };
}

/** Parses a message of the kit: JSON, possibly encoded as a URI component, or a line of JSON before the frames. */
function parse(text: string): unknown {
  const [line = ""] = text.split("\n");
  try {
    return JSON.parse(line.startsWith("%7B") ? decodeURIComponent(line) : line);
  } catch {
    return /^[rt]\d+$/.test(line) ? { [`${line[0]}n`]: 0 } : line;
  }
}

function record(name: string, value: unknown): void {
  const before = recorded.get(name);
  recorded.set(name, { name, shape: shapeOf(value, before?.shape) });
}
