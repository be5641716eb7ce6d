/**
 * Where objects are made.
 *
 * @module
 */

/**
 * The objects of a namespace that are bound to a jurisdiction. Workers on a developer's machine have none, and say so:
 * there, and only there, the namespace serves as it is.
 */
export function within<T extends Rpc.DurableObjectBranded>(
  namespace: DurableObjectNamespace<T>,
  jurisdiction: DurableObjectJurisdiction | undefined,
): DurableObjectNamespace<T> {
  if (!jurisdiction) return namespace;
  try {
    return namespace.jurisdiction(jurisdiction);
  } catch (error) {
    if (error instanceof Error && error.message.includes("not implemented in workerd")) return namespace;
    throw error;
  }
}
