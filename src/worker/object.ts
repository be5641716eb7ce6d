/**
 * The only Durable Object class of an endpoint. Each object has one role: session, hub, keys, once, proof, rates, task or
 * user.
 *
 * Each call names the role that it is meant for. The object compares this with its own role, which it derives from the
 * prefix of its name or from its stored data. In alarms and WebSocket events, there is no caller and the name of the object
 * is unknown, so the role is derived from the stored data or from the tag of the WebSocket. The role itself is not stored.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import { KitError } from "../core/protocol/errors.ts";
import { claimClass, findProblems, MISDIRECTED, type ObjectReference, ownsClass, toTarget, toUrl } from "./bindings.ts";
import { FIND_LOG, type RoleName, storedRole } from "./roles.ts";

/** The behavior of an object in its role: its event handlers. The Worker calls its other methods by RPC. */
export interface RoleObject {
  /** Accepts or refuses a WebSocket. */
  fetch?(request: Request): Promise<Response>;
  alarm?(): Promise<void>;
  webSocketMessage?(socket: WebSocket, message: string | ArrayBuffer): Promise<void>;
  webSocketClose?(socket: WebSocket, code: number): Promise<void>;
}

/** A role that objects of an endpoint can have. It is provided by the part that needs it. */
export interface ObjectRole<Env> {
  readonly name: RoleName;
  /** Creates a {@link RoleObject} that also has the methods that the Worker calls. */
  create(ctx: DurableObjectState, env: Env): object;
}

/** The object class as the Worker exports it. */
export interface McpObjectClass<Env> {
  /** The prototype of its objects. */
  readonly prototype: McpObject<Env>;
  /** Called by the platform. */
  new (ctx: DurableObjectState, env: Env): McpObject<Env>;
}

/** The class that a part adds to the app, for the Worker to export. */
export interface WithMcpObject<Env> {
  /** The Durable Object class: `export class McpObject extends app.McpObject {}`. */
  readonly McpObject: McpObjectClass<Env>;
}

/** The functions for objects. Parts that need objects pass them to `edge()`, so that they are not bundled otherwise. */
export const OBJECTS = { makeClass, findProblems };

/** Creates the object class of an endpoint. */
function makeClass<Env>(roles: readonly ObjectRole<Env>[], reference: ObjectReference): WithMcpObject<Env> {
  claimClass(reference);
  class EndpointObject extends McpObject<Env> {
    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env, ownsClass(reference) ? roles : [], reference.className);
    }
  }
  return { McpObject: EndpointObject };
}

type Roles<Env> = readonly ObjectRole<Env>[];

/** Roles whose WebSockets are tagged with the name of the role. */
const TAGGED: readonly string[] = ["hub", "once"];

/** The first delay, in milliseconds, of the alarm of an object whose role is missing in this deploy. It doubles each time. */
const UNSERVED_MS = 60_000;
/** The maximum delay in milliseconds: 30 days. @limit internal */
const UNSERVED_MAX_MS = 2_592_000_000;

/** The storage key of the current delay. It is sorted after all other keys: see `storedRole`. */
const UNSERVED = "~unserved";

/** Finds tables other than the platform's own tables. */
const TABLES = "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\' LIMIT 1";

/** The Durable Object of one session, task or other role of an endpoint. `edge()` creates the class to export. */
export class McpObject<Env = unknown> extends DurableObject<Env> {
  readonly #roles: Roles<Env>;
  readonly #className: string;
  /** The target of this object. Undefined, like the role object, until the role is known. */
  #target: string | undefined;
  #role: RoleObject | undefined;

  /**
   * Called by the class that `edge()` creates.
   *
   * @internal
   */
  constructor(ctx: DurableObjectState, env: Env, roles: Roles<Env>, className: string) {
    super(ctx, env);
    this.#roles = roles;
    this.#className = className;
  }

  /**
   * Called by the Worker.
   *
   * @internal
   * @throws {KitError} `binding-crossed` when the call is meant for another role or endpoint.
   */
  async callRole(target: string, method: string, ...args: unknown[]): Promise<unknown> {
    if (target !== this.#target && this.#isNoTask(target, method)) return undefined;
    const role = this.#enter(target) as unknown as Readonly<Record<string, (...args: unknown[]) => unknown>>;
    return role[method]?.(...args);
  }

  /** Serves a request for a WebSocket from the Worker. */
  override async fetch(request: Request): Promise<Response> {
    const target = request.url.slice(toUrl("").length);
    try {
      const role = this.#enter(target);
      return (await role.fetch?.(request)) ?? new Response(null, { status: MISDIRECTED });
    } catch (error) {
      if (KitError.is(error) && error.code === "binding-crossed") {
        return new Response(error.message, { status: MISDIRECTED });
      }
      throw error;
    }
  }

  /** Called by the platform when the object's alarm is due. */
  override async alarm(info?: { readonly retryCount: number }): Promise<void> {
    const { kv, sql } = this.ctx.storage;
    // The platform drops an alarm after six failed retries.
    if (info && info.retryCount > 4) await this.ctx.storage.setAlarm(Date.now() + UNSERVED_MS);
    const name = storedRole(kv) ?? (sql.exec(FIND_LOG).toArray()[0] && "session");
    const role = this.#role ?? (name && this.#play(name));
    if (role) await role.alarm?.();
    else if (name) await this.#wait(name);
    // The role has deleted its data. The empty database is deleted too, because the object may later get another role.
    else if (sql.exec(TABLES).toArray().length === 0) await this.ctx.storage.deleteAll();
  }

  /** Keeps the stored data for a later deploy that has the role again, and sets the next alarm. */
  async #wait(name: string): Promise<void> {
    const { storage } = this.ctx;
    const waitMs = Math.min((storage.kv.get<number>(UNSERVED) ?? UNSERVED_MS / 2) * 2, UNSERVED_MAX_MS);
    storage.kv.put(UNSERVED, waitMs);
    console.error(`mcp-edge: no part has the role "${name}". Add it, or delete the class.`);
    await storage.setAlarm(Date.now() + waitMs);
  }

  /** Called by the platform when a message arrives on a WebSocket of the object. */
  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    await this.#roleOf(socket)?.webSocketMessage?.(socket, message);
  }

  /** Called by the platform when a WebSocket of the object is closed. */
  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    await this.#roleOf(socket)?.webSocketClose?.(socket, code);
    // The platform does not answer a close frame on an accepted socket. Without the answer, an object at the other end would
    // stay in memory.
    socket.close();
  }

  /**
   * Returns the role object for a call.
   *
   * @throws {KitError} `binding-crossed` if this object has another role or belongs to another endpoint.
   */
  #enter(target: string): RoleObject {
    if (target === this.#target && this.#role) return this.#role;
    const [name = "", className] = target.split("/");
    if (className !== this.#className) throw crossed(`the class ${this.#className}`, `the class ${className}`);
    const known = this.#target?.split("/")[0] ?? this.#knownRole() ?? name;
    const role = known === name ? this.#play(name) : undefined;
    if (!role) throw crossed(`the role "${known}"`, `the role "${name}"`);
    return role;
  }

  /** Returns whether a call is meant for a task but this object is not a task. Clients can send any object id as a task id. */
  #isNoTask(target: string, method: string): boolean {
    return method !== "create" && target === toTarget("task", this.#className) && this.#knownRole() !== "task";
  }

  #roleOf(socket: WebSocket): RoleObject | undefined {
    return this.#role ?? this.#play(this.ctx.getTags(socket).find((tag) => TAGGED.includes(tag)) ?? "session");
  }

  #knownRole(): string | undefined {
    const { name } = this.ctx.id;
    return name === undefined ? storedRole(this.ctx.storage.kv) : name.slice(0, name.indexOf(":"));
  }

  /** Creates and returns the role object. Returns undefined if the endpoint does not have the role. */
  #play(name: string): RoleObject | undefined {
    const role: RoleObject | undefined = this.#roles.find((each) => each.name === name)?.create(this.ctx, this.env);
    if (role) {
      this.#role = role;
      this.#target = toTarget(name, this.#className);
      const { storage } = this.ctx;
      if (storage.kv.get(UNSERVED)) {
        storage.kv.delete(UNSERVED);
        void storage.setAlarm(Date.now());
      }
    }
    return role;
  }
}

function crossed(own: string, called: string): KitError {
  const message = `A Durable Object of ${own} was called for ${called}. Check the bindings in wrangler.toml.`;
  return new KitError("binding-crossed", message);
}
