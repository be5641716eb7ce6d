/** The longest name of a tool that the providers of models accept. */
const NAME_MAX = 64;

/**
 * Returns a name for a tool of a server that models accept and that is not taken yet: `server__tool`, with `_` for characters
 * that are not allowed, cut to 64 characters, and a number if it occurs twice.
 */
export function nameFor(server: string, tool: string, taken: { has(name: string): boolean }): string {
  const whole = `${server}__${tool}`.replace(/[^a-zA-Z0-9_-]/g, "_");
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? "" : `_${number}`;
    const name = whole.slice(0, NAME_MAX - suffix.length) + suffix;
    if (!taken.has(name)) return name;
  }
}
