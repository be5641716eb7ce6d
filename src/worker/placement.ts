/**
 * The namespaces of objects a Worker is bound to.
 *
 * @module
 */
import { KitError } from "../core/errors.ts";

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

/**
 * The namespace of a binding.
 *
 * @param option The option of `edge()` that needs it.
 * @param jurisdiction Where its objects are made. Workers on a developer's machine have no jurisdictions, and say so:
 *   there, and only there, the namespace serves as it is.
 * @throws {KitError} `binding-missing`.
 */
export function namespaceOf<T extends Rpc.DurableObjectBranded>(
  env: unknown,
  binding: string,
  option: string,
  jurisdiction?: DurableObjectJurisdiction,
): DurableObjectNamespace<T> {
  const namespace = (env as Record<string, DurableObjectNamespace<T> | undefined> | undefined)?.[binding];
  if (!namespace) {
    const message = `Durable Object binding "${binding}" is missing. Add it to wrangler.toml, or leave out the option ${option}.`;
    throw new KitError("binding-missing", message);
  }
  if (!jurisdiction) return namespace;
  try {
    return namespace.jurisdiction(jurisdiction);
  } catch (error) {
    if (error instanceof Error && error.message.includes("not implemented in workerd")) return namespace;
    throw error;
  }
}
