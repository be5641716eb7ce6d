import { randomBytes } from "node:crypto";

/** A value for the binding `MCP_KEYS`, new each time. */
export function newKeys(): string {
  return randomBytes(32).toString("base64url");
}
