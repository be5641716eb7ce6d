import type { ServerCapabilities } from "./results.ts";

/** The member of `_meta` by which a server recognises a repeated call, and the capability that declares it. */
export const IDEMPOTENCY_KEY = "mcp-edge/idempotencyKey";

/** Whether a server has declared that a call with a key runs once. */
export function declaresKeys({ experimental }: ServerCapabilities): boolean {
  return experimental?.[IDEMPOTENCY_KEY] !== undefined;
}

/** Returns a key that nobody can guess. Pages that were not loaded over HTTPS lack `crypto.randomUUID`. */
export function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}
