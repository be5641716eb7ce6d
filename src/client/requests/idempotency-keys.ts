import type { ServerCapabilities } from "./results.ts";

/** The member of `_meta` with the idempotency key of a call, and the capability with which a server declares support for it. */
export const IDEMPOTENCY_KEY = "mcp-edge/idempotencyKey";

/** Whether a server has declared that calls with the same key run once. */
export function declaresKeys({ experimental }: ServerCapabilities): boolean {
  return experimental?.[IDEMPOTENCY_KEY] !== undefined;
}

/** Returns a key that cannot be guessed. Does not use `crypto.randomUUID`, which pages without HTTPS lack. */
export function randomKey(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}
