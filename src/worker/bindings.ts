/**
 * The namespaces of objects a Worker is bound to.
 *
 * @module
 */
import { KitError } from "../core/protocol/errors.ts";

/** Which endpoint of this isolate uses which binding. It decides nothing but whether a second one is refused. */
const owners = new Map<string, object>();

/**
 * Takes a binding for one endpoint. The objects behind a binding run the code of one endpoint, so that the clients of
 * another one would be served by the wrong server.
 *
 * @param remedy What to write instead, for the error text.
 * @param owner Who may take the binding again. @default nobody
 * @throws {KitError} `options-invalid` when it is taken already.
 */
export function claim(binding: string, remedy: string, owner: object = {}): void {
  const first = owners.get(binding) ?? owner;
  owners.set(binding, first);
  if (first === owner) return;
  const message = `Two endpoints of this Worker use the binding "${binding}", so each would reach clients of the other. ${remedy}`;
  throw new KitError("options-invalid", message);
}

/** Takes a binding for the objects of a part. @param part The function that makes the part. Throws as {@link claim} does. */
export function claimFor(part: string, binding: string): void {
  claim(
    binding,
    `Give one of them its own: ${part}({ binding: "..." }), bound in wrangler.toml to the class that it exports.`,
  );
}

/**
 * Whether an object is called by the endpoint whose class it is of.
 *
 * @throws {KitError} `binding-crossed` when it is not: the binding is bound to the wrong class.
 */
export function checkBinding(own: string, called: string): void {
  if (own === called) return;
  const message = `The Durable Object binding "${called}" is bound to the class of the endpoint that uses "${own}". In wrangler.toml, let its class_name be the class which the endpoint that uses "${called}" exports.`;
  throw new KitError("binding-crossed", message);
}

/** The class of each option of `edge()` that has objects, as `edge()` names it. */
const CLASSES = {
  sessions: "McpSession",
  notices: "McpHub",
  once: "McpOnce",
  keys: "McpKeys",
  tasks: "McpTask",
} as const;

/** An option of `edge()` that has objects. */
export type PartName = keyof typeof CLASSES;

/** Status with which an object answers a request that was meant for an object of another class. */
const MISDIRECTED = 421;

/** Refuses a request that is not for this class. @param url What requests to objects of this class are sent to. */
export function misdirected(request: Request, url: string): Response | undefined {
  return request.url === url ? undefined : new Response(null, { status: MISDIRECTED });
}

/** The same answer. @throws {KitError} `binding-crossed` when the object is of another class. */
export async function answered<T>(part: PartName, binding: string, answer: Promise<T>): Promise<T> {
  try {
    const given = await answer;
    if (given instanceof Response && given.status === MISDIRECTED) throw crossed(part, binding);
    return given;
  } catch (error) {
    throw explained(error, part, binding);
  }
}

/** What an object's failure means: that it is of another class, or what it says. */
export function explained(error: unknown, part: PartName, binding: string): unknown {
  const text = error instanceof Error ? error.message : "";
  const isOther = text.includes("does not implement the method") || text.includes("does not export a fetch()");
  return isOther ? crossed(part, binding, error) : error;
}

function crossed(part: PartName, binding: string, cause?: unknown): KitError {
  const message = `The Durable Object binding "${binding}" is bound to the wrong class. In wrangler.toml write class_name = "${CLASSES[part]}" for it, the class that edge() makes for the option ${part}.`;
  return new KitError("binding-crossed", message, { cause });
}

/**
 * Checks the compatibility date: objects are called by RPC, which older dates do not have.
 *
 * @throws {KitError} `options-invalid` naming the line to write.
 */
export function checkDate(): void {
  const { Cloudflare } = globalThis as { Cloudflare?: { compatibilityFlags?: Record<string, boolean> } };
  if (Cloudflare?.compatibilityFlags?.rpc !== false) return;
  const message = `The compatibility date of this Worker is too old: Durable Objects need 2024-04-03 or later. In wrangler.toml write compatibility_date = "2026-10-20".`;
  throw new KitError("options-invalid", message);
}

/**
 * The namespace of a binding.
 *
 * @param part The option of `edge()` that needs it.
 * @param jurisdiction Where its objects are made. Workers on a developer's machine have no jurisdictions, and say so:
 *   there, and only there, the namespace serves as it is.
 * @throws {KitError} `binding-missing` with the lines to write.
 */
export function namespaceOf<T extends Rpc.DurableObjectBranded>(
  env: unknown,
  binding: string,
  part: PartName,
  jurisdiction?: DurableObjectJurisdiction,
): DurableObjectNamespace<T> {
  const namespace = (env as Record<string, DurableObjectNamespace<T> | undefined> | undefined)?.[binding];
  if (!namespace?.idFromName) throw missing(binding, part, namespace);
  if (!jurisdiction) return namespace;
  try {
    return namespace.jurisdiction(jurisdiction);
  } catch (error) {
    if (error instanceof Error && error.message.includes("not implemented in workerd")) return namespace;
    throw error;
  }
}

function missing(binding: string, part: PartName, found: unknown): KitError {
  const name = CLASSES[part];
  const problem = found ? "is bound to something that is no Durable Object class" : "is missing";
  const lines = `[[durable_objects.bindings]] name = "${binding}" class_name = "${name}", and "${name}" among the new_sqlite_classes of [[migrations]]`;
  const instead =
    part === "keys" ? "leave out the option keys and set the secret MCP_KEYS" : `leave out the option ${part}`;
  const message = `The Durable Object binding "${binding}" ${problem}. In wrangler.toml write ${lines}; or ${instead}.`;
  return new KitError("binding-missing", message);
}
