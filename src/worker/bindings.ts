/**
 * Access to the Durable Objects of an endpoint. They all belong to one class, which the Worker exports.
 *
 * @module
 */
import { exports, waitUntil } from "cloudflare:workers";
import * as ErrorCode from "../core/protocol/error-codes.ts";
import { KitError, McpError } from "../core/protocol/errors.ts";
import { lacksFlag, type Problem } from "./problems.ts";
import type { RoleName } from "./roles.ts";

/** Where the Durable Objects of an endpoint are, and under which name the Worker exports their class. */
export interface ObjectsOptions {
  /**
   * The name under which the Worker exports the class `app.McpObject`. Each endpoint of a Worker has its own class, so a
   * second endpoint needs another name, such as "AdminObject". Session ids and tasks are bound to this name and become
   * invalid when it changes.
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
   * The jurisdiction in which objects are created, for data that must not leave it. Existing objects that were created
   * elsewhere are no longer found.
   */
  readonly jurisdiction?: DurableObjectJurisdiction | undefined;
  /** The region near which objects should be created. @default near the client whose request creates the object */
  readonly locationHint?: DurableObjectLocationHint | undefined;
}

/** The location of the objects of one endpoint. */
export interface ObjectReference {
  /** The name under which the Worker exports the class. It identifies the endpoint in all isolates and deploys. */
  readonly className: string;
  /** The name of a binding to use if the Worker has it. If undefined, the exported class is used. */
  readonly binding: string | undefined;
  /** The jurisdiction in which objects are created. */
  readonly jurisdiction: DurableObjectJurisdiction | undefined;
  /** The region near which objects should be created. */
  readonly locationHint: DurableObjectLocationHint | undefined;
}

/** The RPC interface of the Durable Object class. */
export interface ObjectRpc {
  /**
   * Calls a method of the object's role.
   *
   * @param target The role and the endpoint that are called: see {@link toTarget}.
   */
  callRole(target: string, method: string, ...args: unknown[]): Promise<unknown>;
}

export type ObjectNamespace = DurableObjectNamespace<Rpc.DurableObjectBranded & ObjectRpc>;

type ArgumentsOf<Method> = Method extends (...args: infer A) => unknown ? A : never;
type ResultOf<Method> = Method extends (...args: never) => infer R ? Awaited<R> : never;

/** Calls the objects of an endpoint that have a given role. */
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

  /** Returns the object with a name. The names of each role are distinct. */
  named(env: unknown, name: string): ObjectStub {
    const namespace = this.namespace(env);
    return this.get(namespace, namespace.idFromName(name));
  }

  get(namespace: ObjectNamespace, id: DurableObjectId): ObjectStub {
    const { locationHint } = this.#reference;
    return namespace.get(id, locationHint && { locationHint });
  }

  /** Calls a method. @throws {KitError} `binding-crossed` if the object belongs to another endpoint, role or class. */
  async call<K extends keyof Rpc & string>(
    stub: ObjectStub,
    method: K,
    ...args: ArgumentsOf<Rpc[K]>
  ): Promise<ResultOf<Rpc[K]>> {
    // The result is a plain copy, so it does not need to be disposed.
    return this.#translated(() => stub.callRole(this.#target, method, ...args)) as Promise<ResultOf<Rpc[K]>>;
  }

  /** Requests a WebSocket. Throws the same errors as {@link call}. */
  async dial(stub: ObjectStub, headers: Readonly<Record<string, string>>): Promise<Response> {
    const response = await this.#translated(() =>
      stub.fetch(this.#url, { headers: { Upgrade: "websocket", ...headers } }),
    );
    if (response.status === MISDIRECTED) throw new KitError("binding-crossed", await response.text());
    return response;
  }

  async #translated<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw translateError(error, this.#reference);
    }
  }
}

export type ObjectStub = ReturnType<ObjectNamespace["get"]>;

/** Returns the target of a call: the role and the endpoint, as a string. */
export function toTarget(role: string, className: string): string {
  return `${role}/${className}`;
}

/** Returns the URL for requests to a role of an endpoint. */
export function toUrl(target: string): string {
  return `https://object/${target}`;
}

/** The status with which an object refuses a request for another role or endpoint. */
export const MISDIRECTED = 421;

/** Returns the namespace of an endpoint's objects. @throws {KitError} `binding-missing` if it does not exist. */
export function getNamespace(env: unknown, reference: ObjectReference): ObjectNamespace {
  const namespace = foundIn(env, reference);
  if (!isNamespace(namespace)) throw new KitError("binding-missing", findProblems(env, reference).join("\n"));
  const { jurisdiction } = reference;
  if (!jurisdiction) return namespace;
  try {
    return namespace.jurisdiction(jurisdiction);
  } catch (error) {
    // Local development does not support jurisdictions. Only there, the namespace is used without a jurisdiction.
    if (error instanceof Error && error.message.includes("not implemented in workerd")) return namespace;
    throw error;
  }
}

/** Returns whether a value is a namespace, possibly wrapped. A service binding, which has methods of all names, is not. */
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

/** Names that endpoints of this isolate must not share, with their owners. Undefined if several endpoints claim the name. */
export type Owners = Map<string, object | undefined>;

/** The endpoint that owns each class name in this isolate. */
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
 * Reserves a name for an endpoint. If two endpoints claim a name, neither may use it, because the Worker may export either
 * class. During a request, the first endpoint is already running, so it keeps the name.
 */
export function claim(owners: Owners, name: string, owner: object): void {
  if (!owners.has(name)) owners.set(name, owner);
  else if (!isInRequest()) owners.set(name, undefined);
}

/** Reserves the class name of an endpoint. */
export function claimClass(reference: ObjectReference): void {
  claim(owners, reference.className, reference);
}

/** Returns whether a request or event is being handled. Returns false while modules are loading. */
export function isInRequest(): boolean {
  try {
    waitUntil(Promise.resolve());
    return true;
  } catch {
    return false;
  }
}

/** Returns whether an endpoint owns its class name. */
export function ownsClass(reference: ObjectReference): boolean {
  return owners.get(reference.className) === reference;
}

/**
 * Returns the error to throw: `binding-crossed` if `edge()` did not create the object's class, an error that asks the client
 * to try again if the platform has refused the call or the object's storage, or else the error itself.
 */
function translateError(error: unknown, { className }: ObjectReference): unknown {
  const { message, remote } = Object(error) as { readonly message: string; readonly remote?: boolean };
  if (/does not (implement the method|export a fetch)/.test(message)) {
    const text = `[class-wrong] The class ${className} was not made by edge(). In the main module write: export class ${className} extends app.McpObject {}`;
    return new KitError("binding-crossed", text, { cause: error });
  }
  // Errors of the object's own code are remote. Its code also passes on the refusals of its storage.
  if (remote && !/spending cap|_FULL/.test(message)) return error;
  return unavailable(error);
}

/** Returns the error for the client when the platform has refused an operation. Its members are those of the cause. */
export function unavailable(cause: unknown): McpError {
  const text = "Objects are temporarily unavailable. Try again in 5 s.";
  // The members of the cause say whether the call can be repeated.
  return Object.assign(new McpError(ErrorCode.InternalError, text), cause, { cause });
}
