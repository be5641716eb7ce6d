/**
 * The one Durable Object class of an endpoint. Each object plays one role: session, hub, keys, once or task.
 *
 * The role follows from what calls an object, checked against what the object is known to be: by the prefix of its name,
 * by what it stores, or by the tag of a WebSocket. An alarm and a WebSocket have no caller, and the name of an object is
 * not known to them: there the role follows from what is stored or from the tag, and is otherwise "session", the one
 * role that stores nothing to tell it. Nothing is written for a role.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import { KitError } from "../core/protocol/errors.ts";
import {
  claimClass,
  findProblems,
  MISDIRECTED,
  type ObjectPlace,
  type ObjectRpc,
  targetOf,
  urlOf,
} from "./bindings.ts";
import { type RoleName, storedRole } from "./roles.ts";

/** What an object does in its role. Its further methods are those that the Worker calls. */
export interface RoleObject {
  /** Answers a request for a WebSocket. */
  fetch?(request: Request): Promise<Response>;
  alarm?(info?: AlarmInvocationInfo): Promise<void>;
  webSocketMessage?(socket: WebSocket, message: string | ArrayBuffer): Promise<void>;
  webSocketClose?(socket: WebSocket, code: number): Promise<void>;
}

/** A role that objects of an endpoint can have, from the part that needs it. */
export interface ObjectRole<Env> {
  readonly name: RoleName;
  /** Makes a {@link RoleObject}, with the methods that the Worker calls. */
  create(ctx: DurableObjectState, env: Env): object;
}

/** The object class as the Worker exports it. */
export interface McpObjectClass<Env> {
  readonly prototype: McpObject<Env>;
  new (ctx: DurableObjectState, env: Env): McpObject<Env>;
}

/** What a part adds to the app: the class to export. */
export interface WithMcpObject<Env> {
  /** The Durable Object class: `export class McpObject extends app.McpObject {}`. */
  readonly McpObject: McpObjectClass<Env>;
}

/** What `edge()` needs for objects, from each part that needs them: without one, none of this is bundled. */
export const OBJECTS = { makeClass, findProblems };

/** Makes the class of an endpoint. */
function makeClass<Env>(roles: readonly ObjectRole<Env>[], place: ObjectPlace): WithMcpObject<Env> {
  claimClass(place);
  const byName = new Map(roles.map((role) => [role.name as string, role]));
  class EndpointObject extends McpObject<Env> {
    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env, byName, place.className);
    }
  }
  return { McpObject: EndpointObject };
}

type Roles<Env> = ReadonlyMap<string, ObjectRole<Env>>;

/** Roles whose sockets have their name as a tag. */
const TAGGED: readonly RoleName[] = ["hub", "once"];

/** How long the alarm of a role waits that this deploy does not serve: the next deploy may serve it again. */
const UNSERVED_MS = 24 * 60 * 60_000;

/** Finds what an object plays its role with, once it has one. For tests. */
export const ROLE = Symbol("role");

/** The object of one session, hub, key ring, call or task. `edge()` makes the class to export. */
export class McpObject<Env = unknown> extends DurableObject<Env> implements ObjectRpc {
  readonly #roles: Roles<Env>;
  readonly #className: string;
  /** Who is served, once that is known: its target and its object. */
  #target: string | undefined;
  #role: RoleObject | undefined;

  /** Called by the class that `edge()` makes. */
  constructor(ctx: DurableObjectState, env: Env, roles: Roles<Env>, className: string) {
    super(ctx, env);
    this.#roles = roles;
    this.#className = className;
  }

  /** Called by the Worker. @throws {KitError} `binding-crossed` when another role or endpoint is meant. */
  async callRole(target: string, method: string, ...args: unknown[]): Promise<unknown> {
    if (target !== this.#target && this.#isNoTask(target, method)) return undefined;
    const role = this.#enter(target) as unknown as Readonly<Record<string, (...args: unknown[]) => unknown>>;
    return role[method]?.(...args);
  }

  get [ROLE](): RoleObject | undefined {
    return this.#role;
  }

  override async fetch(request: Request): Promise<Response> {
    const target = request.url.slice(urlOf("").length);
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

  override async alarm(info?: AlarmInvocationInfo): Promise<void> {
    const role = this.#role ?? this.#play(storedRole(this.ctx.storage.kv) ?? "session");
    if (role) await role.alarm?.(info);
    else await this.ctx.storage.setAlarm(Date.now() + UNSERVED_MS);
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    await this.#roleOf(socket)?.webSocketMessage?.(socket, message);
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    await this.#roleOf(socket)?.webSocketClose?.(socket, code);
  }

  /**
   * The role that a call is meant for.
   *
   * @throws {KitError} `binding-crossed` when this object has another one, or is of another endpoint.
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

  /** A client can send any id as that of a task. Only an object that stores a task is called as one. */
  #isNoTask(target: string, method: string): boolean {
    return method !== "create" && target === targetOf("task", this.#className) && this.#knownRole() !== "task";
  }

  #roleOf(socket: WebSocket): RoleObject | undefined {
    if (this.#role) return this.#role;
    const tags = this.ctx.getTags(socket);
    return this.#play(TAGGED.find((name) => tags.includes(name)) ?? "session");
  }

  #knownRole(): string | undefined {
    const { name } = this.ctx.id;
    return name === undefined ? storedRole(this.ctx.storage.kv) : name.slice(0, name.indexOf(":"));
  }

  /** Undefined when the endpoint has no such role. */
  #play(name: string): RoleObject | undefined {
    const role: RoleObject | undefined = this.#roles.get(name)?.create(this.ctx, this.env);
    if (role) {
      this.#role = role;
      this.#target = targetOf(name, this.#className);
    }
    return role;
  }
}

type AlarmInvocationInfo = { readonly retryCount: number };

function crossed(own: string, called: string): KitError {
  const message = `A Durable Object of ${own} was called for ${called}. In wrangler.toml, let each binding name the class that its own endpoint exports.`;
  return new KitError("binding-crossed", message);
}
