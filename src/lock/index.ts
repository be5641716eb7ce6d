/**
 * mcp-edge/lock: contracts of servers, which `mcp-edge lock` writes. Compares them, and holds a server to one.
 *
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { connect } from "mcp-edge/client";
 * import { lock, type ToolChange } from "mcp-edge/lock";
 *
 * const contract = JSON.parse(await readFile("mcp.lock.json", "utf8"));
 * const onChange = ({ status, changes }: ToolChange) =>
 *   status === "changed" && changes.every(({ severity }) => severity === "compatible");
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0", use: [lock(contract, { onChange })] });
 * ```
 *
 * @module
 */

export type { Change, ChangedKind, InnerChange, Severity } from "./changes.ts";
export { compareContracts } from "./compare.ts";
export type {
  Contract,
  LockedArgument,
  LockedHints,
  LockedPrompt,
  LockedResource,
  LockedTemplate,
  LockedTool,
  ServerLists,
} from "./contract.ts";
export { createContract, formatContract } from "./contract.ts";
export type { LockOptions, ToolChange } from "./lock.ts";
export { lock, ToolChangedError } from "./lock.ts";
export type { ParsedContract } from "./parse-contract.ts";
export { parseContract } from "./parse-contract.ts";
