import { randomBytes } from "node:crypto";

/** Returns a new random sealing key for the binding `MCP_KEYS`. */
export function newKeys(): string {
  return randomBytes(32).toString("base64url");
}
