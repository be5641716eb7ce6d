/**
 * The namespaces of objects a Worker is bound to.
 *
 * @module
 */
import { KitError } from "../core/errors.ts";

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
