/** The maximum length of a tool name that the providers of models accept. */
const NAME_MAX = 64;

/**
 * Returns a name for a tool that the providers of models accept and that is not taken: `server__tool`, with `_` in place of
 * characters that are not allowed, cut to 64 characters, and with a number if the name is already taken.
 */
export function createToolName(server: string, tool: string, taken: { has(name: string): boolean }): string {
  const whole = `${server}__${tool}`.replace(/[^a-zA-Z0-9_-]/g, "_");
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? "" : `_${number}`;
    const name = whole.slice(0, NAME_MAX - suffix.length) + suffix;
    if (!taken.has(name)) return name;
  }
}
