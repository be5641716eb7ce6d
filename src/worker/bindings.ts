/**
 * Access to the objects of an endpoint. All of them belong to the one class that the Worker exports.
 *
 * @module
 */
import { exports, waitUntil } from "cloudflare:workers";
import { KitError } from "../core/protocol/errors.ts";
import { lacksFlag, type Problem } from "./problems.ts";
import type { RoleName } from "./roles.ts";

/** Where the objects of an endpoint are, and under which name the Worker exports their class. */
export interface ObjectsOptions {
  /**
   * The name under which the Worker exports the class `app.McpObject`. Each endpoint of a Worker has a class of its
   * own, so a second endpoint needs another name, such as "AdminObject". Session ids and tasks are bound to this name,
   * and become unknown when it changes.
   *
   * @default "McpObject"
   */
  readonly className?: string | undefined;
  /**
   * The name of a Durable Object binding to use instead of the exported class, if the Worker has it.
   *
   * @default "MCP"; none if `className` is given
   */
  readonly binding?: string | undefined;
  /**
   * The jurisdiction in which objects are created, for data that must stay there. Objects that were created elsewhere
   * are no longer found.
   */
  readonly jurisdiction?: DurableObjectJurisdiction | undefined;
  /** The region near which objects should be created. @default near the client whose request creates the object */
  readonly locationHint?: DurableObjectLocationHint | undefined;
}

/** The location of the objects of one endpoint. */
export interface ObjectReference {
  /** Name under which the Worker exports the class. It identifies the endpoint in every isolate and every deploy. */
  readonly className: string;
  /** Name of a binding to use if the Worker has it. Undefined: the exported class is used. */
  readonly binding: string | undefined;
  /** The jurisdiction in which objects are created, if there is one. */
  readonly jurisdiction: DurableObjectJurisdiction | undefined;
  /** The region near which objects should be created, if the author has chosen one. */
  readonly locationHint: DurableObjectLocationHint | undefined;
}

/** The RPC interface of the class. */
export interface ObjectRpc {
  /**
   * Calls a method of the object's role.
   *
   * @param target The role and endpoint that are called: see {@link toTarget}.
   */
  callRole(target: string, method: string, ...args: unknown[]): Promise<unknown>;
}

export type ObjectNamespace = DurableObjectNamespace<Rpc.DurableObjectBranded & ObjectRpc>;

type ArgumentsOf<Method> = Method extends (...args: infer A) => unknown ? A : never;
type ResultOf<Method> = Method extends (...args: never) => infer R ? Awaited<R> : never;

/** Calls the objects of one role of the endpoint. */
export class RoleObjects<Rpc> {
  readonly #reference: ObjectReference;
  readonly #target: string;
  readonly #url: string;

  constructor(role: RoleName, reference: ObjectReference) {
    this.#reference = reference;
    this.#target = toTarget(role, reference.className);
    this.#url = toUrl(this.#target);
  }

  namespace(env: unknown): ObjectNamespace {
    return getNamespace(env, this.#reference);
  }

  /** Returns the object with a name. Each role has names of its own. */
  named(env: unknown, name: string): ObjectStub {
    const namespace = this.namespace(env);
    return this.get(namespace, namespace.idFromName(name));
  }

  get(namespace: ObjectNamespace, id: DurableObjectId): ObjectStub {
    const { locationHint } = this.#reference;
    return namespace.get(id, locationHint && { locationHint });
  }

  /** Calls a method. @throws {KitError} `binding-crossed` if the object has another endpoint, role or class. */
  async call<K extends keyof Rpc & string>(
    stub: ObjectStub,
    method: K,
    ...args: ArgumentsOf<Rpc[K]>
  ): Promise<ResultOf<Rpc[K]>> {
    try {
      // The result is a plain copy, so it does not need to be disposed of.
      return (await stub.callRole(this.#target, method, ...args)) as ResultOf<Rpc[K]>;
    } catch (error) {
      throw translateError(error, this.#reference);
    }
  }

  /** Requests a WebSocket. Throws like {@link call}. */
  async dial(stub: ObjectStub, headers: Readonly<Record<string, string>>): Promise<Response> {
    let response: Response;
    try {
      response = await stub.fetch(this.#url, { headers: { Upgrade: "websocket", ...headers } });
    } catch (error) {
      throw translateError(error, this.#reference);
    }
    if (response.status === MISDIRECTED) throw new KitError("binding-crossed", await response.text());
    return response;
  }
}

export type ObjectStub = ReturnType<ObjectNamespace["get"]>;

/** Returns the target of a call: the role and the endpoint, as text. */
export function toTarget(role: string, className: string): string {
  return `${role}/${className}`;
}

/** Returns the URL for requests to a role of an endpoint. */
export function toUrl(target: string): string {
  return `https://object/${target}`;
}

/** Status with which an object answers a request that was meant for another role or endpoint. */
export const MISDIRECTED = 421;

/** Returns the namespace of an endpoint's objects. @throws {KitError} `binding-missing` when there is none. */
export function getNamespace(env: unknown, reference: ObjectReference): ObjectNamespace {
  const namespace = foundIn(env, reference);
  if (!isNamespace(namespace)) throw new KitError("binding-missing", findProblems(env, reference).join("\n"));
  const { jurisdiction } = reference;
  if (!jurisdiction) return namespace;
  try {
    return namespace.jurisdiction(jurisdiction);
  } catch (error) {
    // Local development has no jurisdictions. Only there, the namespace is used without one.
    if (error instanceof Error && error.message.includes("not implemented in workerd")) return namespace;
    throw error;
  }
}

/** Returns whether a value is a namespace, possibly wrapped. A service binding is not: it has a method of every name. */
function isNamespace(found: unknown): found is ObjectNamespace {
  const { idFromName, noSuchMethod } = (found ?? {}) as Readonly<Record<string, unknown>>;
  return idFromName !== undefined && noSuchMethod === undefined;
}

function foundIn(env: unknown, reference: ObjectReference): unknown {
  return boundIn(env, reference) ?? (exports as Readonly<Record<string, unknown>>)[reference.className];
}

function boundIn(env: unknown, { binding }: ObjectReference): unknown {
  return binding === undefined ? undefined : (env as Record<string, unknown> | undefined)?.[binding];
}

/** What several endpoints of this isolate may not share, and the owner of each name. Undefined if several claim the name. */
export type Owners = Map<string, object | undefined>;

/** The endpoint of each class name in this isolate. */
const owners: Owners = new Map();

/** Finds problems in the configuration of an endpoint's objects. */
export function findProblems(env: unknown, reference: ObjectReference): Problem[] {
  const { className, binding } = reference;
  const declaration = `In wrangler.toml write: [exports.${className}] type = "durable-object" storage = "sqlite"`;
  const found = foundIn(env, reference);
  const problems: Problem[] = [];
  if (!ownsClass(reference))
    problems.push(
      `[name-taken] Two endpoints of this Worker use the class ${className}. Give one of them the option className, and export its class under that name. Do not call edge() for each request.`,
    );
  if (!found)
    problems.push(
      `[export-missing] The Worker does not export the class ${className}. In the main module write: export class ${className} extends app.McpObject {}; and if wrangler.toml does not name it: ${declaration}`,
    );
  else if (!isNamespace(found))
    problems.push(
      boundIn(env, reference)
        ? `[binding-wrong] The binding ${binding} is not a Durable Object binding. Remove it, or set the option binding to another name.`
        : `[migration-missing] wrangler.toml does not create the class ${className}. ${declaration}`,
    );
  if (lacksFlag("rpc"))
    problems.push(
      `[date-too-old] Durable Objects need a compatibility date from 2024-04-03 on. In wrangler.toml write: compatibility_date = "2026-10-20"`,
    );
  return problems;
}

/**
 * Reserves a name for an endpoint. If another one has it, neither may use it, since either class may be exported. During a
 * request the other one is running, so it keeps the name.
 */
export function claim(owners: Owners, name: string, owner: object): void {
  if (!owners.has(name)) owners.set(name, owner);
  else if (!isInRequest()) owners.set(name, undefined);
}

/** Reserves the class name of an endpoint. */
export function claimClass(reference: ObjectReference): void {
  claim(owners, reference.className, reference);
}

/** Returns whether a request or event is being handled, rather than a module being loaded. */
export function isInRequest(): boolean {
  try {
    waitUntil(Promise.resolve());
    return true;
  } catch {
    return false;
  }
}

/** Returns whether an endpoint is the only one that claims its class name. */
export function ownsClass(reference: ObjectReference): boolean {
  return owners.get(reference.className) === reference;
}

/** Returns the error to throw: `binding-crossed` if the object is of a foreign class, or else the error itself. */
function translateError(error: unknown, { className, binding }: ObjectReference): unknown {
  const text = error instanceof Error ? error.message : "";
  if (!text.includes("does not implement the method") && !text.includes("does not export a fetch()")) return error;
  const message = `[class-wrong] The class ${className}${binding ? `, or the class of the binding "${binding}",` : ""} was not made by edge(). In the main module write: export class ${className} extends app.McpObject {}`;
  return new KitError("binding-crossed", message, { cause: error });
}
