/**
 * How parts reach the objects of their endpoint: all of them are of the one class that the Worker exports.
 *
 * @module
 */
import { exports } from "cloudflare:workers";
import { KitError } from "../core/protocol/errors.ts";
import type { Problem } from "./problems.ts";
import type { RoleName } from "./roles.ts";

/** Where the objects of one endpoint are: as `edge()` was told. */
export interface ObjectPlace {
  /** Name under which the Worker exports the class. It identifies the endpoint in every isolate and every deploy. */
  readonly className: string;
  /** Name of a binding that is used when the Worker has it; undefined: the exported class is used. */
  readonly binding: string | undefined;
  readonly jurisdiction: DurableObjectJurisdiction | undefined;
  readonly locationHint: DurableObjectLocationHint | undefined;
}

/** What the class answers to. */
export interface ObjectRpc {
  /**
   * Calls a method of the object's role.
   *
   * @param target Which role of which endpoint is called: see {@link targetOf}.
   */
  callRole(target: string, method: string, ...args: unknown[]): Promise<unknown>;
}

export type ObjectNamespace = DurableObjectNamespace<Rpc.DurableObjectBranded & ObjectRpc>;

type ArgumentsOf<Method> = Method extends (...args: infer A) => unknown ? A : never;
type ResultOf<Method> = Method extends (...args: never) => infer R ? Awaited<R> : never;

/** The objects of one role, as a part of the endpoint calls them. */
export class RoleObjects<Rpc> {
  readonly #place: ObjectPlace;
  readonly #target: string;
  readonly #url: string;

  constructor(role: RoleName, place: ObjectPlace) {
    this.#place = place;
    this.#target = targetOf(role, place.className);
    this.#url = urlOf(this.#target);
  }

  namespace(env: unknown): ObjectNamespace {
    return namespaceOf(env, this.#place);
  }

  /** The object with a name. Each role has names of its own. */
  named(env: unknown, name: string): ObjectStub {
    const namespace = this.namespace(env);
    return this.get(namespace, namespace.idFromName(name));
  }

  get(namespace: ObjectNamespace, id: DurableObjectId): ObjectStub {
    const { locationHint } = this.#place;
    return namespace.get(id, locationHint && { locationHint });
  }

  /** Calls a method. @throws {KitError} `binding-crossed` when the object is of another endpoint, role or class. */
  async call<K extends keyof Rpc & string>(
    stub: ObjectStub,
    method: K,
    ...args: ArgumentsOf<Rpc[K]>
  ): Promise<ResultOf<Rpc[K]>> {
    try {
      // A plain object on its way back is a copy of its own; nothing of it needs disposing.
      return (await stub.callRole(this.#target, method, ...args)) as ResultOf<Rpc[K]>;
    } catch (error) {
      throw explained(error, this.#place);
    }
  }

  /** Asks for a WebSocket. Throws as {@link call} does. */
  async dial(stub: ObjectStub, headers: Readonly<Record<string, string>>): Promise<Response> {
    let response: Response;
    try {
      response = await stub.fetch(this.#url, { headers: { Upgrade: "websocket", ...headers } });
    } catch (error) {
      throw explained(error, this.#place);
    }
    if (response.status === MISDIRECTED) throw new KitError("binding-crossed", await response.text());
    return response;
  }
}

export type ObjectStub = ReturnType<ObjectNamespace["get"]>;

/** Which role of which endpoint is called, as text. */
export function targetOf(role: string, className: string): string {
  return `${role}/${className}`;
}

/** Where requests to a role of an endpoint are sent. */
export function urlOf(target: string): string {
  return `https://object/${target}`;
}

/** Status with which an object answers a request that was meant for another role or endpoint. */
export const MISDIRECTED = 421;

/** The namespace of an endpoint's objects, which {@link findProblems} has found. */
export function namespaceOf(env: unknown, place: ObjectPlace): ObjectNamespace {
  const namespace = foundIn(env, place) as ObjectNamespace;
  const { jurisdiction } = place;
  if (!jurisdiction) return namespace;
  try {
    return namespace.jurisdiction(jurisdiction);
  } catch (error) {
    // Workers on a developer's machine have no jurisdictions: there, and only there, the namespace serves as it is.
    if (error instanceof Error && error.message.includes("not implemented in workerd")) return namespace;
    throw error;
  }
}

function foundIn(env: unknown, place: ObjectPlace): unknown {
  return boundIn(env, place) ?? (exports as Readonly<Record<string, unknown>>)[place.className];
}

function boundIn(env: unknown, { binding }: ObjectPlace): unknown {
  return binding === undefined ? undefined : (env as Record<string, unknown> | undefined)?.[binding];
}

/** Which endpoint of this isolate has which class. It decides nothing but whether a second one is refused. */
const owners = new Map<string, ObjectPlace>();

/** Finds what the Worker lacks for the objects of an endpoint. The first endpoint with a class name keeps it. */
export function findProblems(env: unknown, place: ObjectPlace): Problem[] {
  const { className, binding } = place;
  const migration = `In wrangler.toml write: [[migrations]] tag = "v1" new_sqlite_classes = ["${className}"]`;
  const found = foundIn(env, place) as Partial<ObjectNamespace> | undefined;
  const problems: Problem[] = [];
  if (owners.get(className) !== place)
    problems.push(
      `[name-taken] Two endpoints of this Worker use the class ${className}, so each would reach clients of the other. Give one of them its own: edge(server, { className: "AdminObject", ... }), and export class AdminObject extends thatApp.McpObject {}`,
    );
  if (!found)
    problems.push(
      `[export-missing] The Worker does not export the class ${className}. In its main module write: export class ${className} extends app.McpObject {}; and if no migration names it: ${migration}`,
    );
  else if (!found.idFromName)
    problems.push(
      boundIn(env, place)
        ? `[binding-wrong] The binding ${binding} is no Durable Object binding. Remove it, or give edge() the option binding with another name.`
        : `[migration-missing] No migration creates the class ${className}. ${migration}`,
    );
  return problems;
}

/** Takes the name of a class for the first endpoint that has it. */
export function claimClass(place: ObjectPlace): void {
  if (!owners.has(place.className)) owners.set(place.className, place);
}

/** What an object's failure means: that it is of another class, or what it says. */
function explained(error: unknown, { className, binding }: ObjectPlace): unknown {
  const text = error instanceof Error ? error.message : "";
  if (!text.includes("does not implement the method") && !text.includes("does not export a fetch()")) return error;
  const message = `[class-wrong] The class ${className}${binding ? `, or the one that the binding "${binding}" names,` : ""} is not the one that edge() made. In the Worker's main module write: export class ${className} extends app.McpObject {}`;
  return new KitError("binding-crossed", message, { cause: error });
}
