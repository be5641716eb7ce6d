/**
 * Scopes that include other scopes.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization, "Scope Challenge Handling"
 */

/** Returns a function that adds all included scopes to the scopes of a token. */
export function including(
  includes: Readonly<Record<string, readonly string[]>> = {},
): (scopes: readonly string[]) => readonly string[] {
  const narrower = new Map(Object.entries(includes));
  return (scopes) => {
    const all = new Set(scopes);
    // The set grows during the loop, and each scope is visited once.
    for (const scope of all) for (const included of narrower.get(scope) ?? []) all.add(included);
    return [...all];
  };
}
