/**
 * Groups of definitions. Pages list them after the other definitions, folded.
 *
 * @module
 */

import type { McpServer } from "../core/index.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";

/** The functions that add a definition: its key, its options, its handler. */
const ADDING = ["tool", "prompt", "resource", "resourceTemplate"] as const;

/** Returns the server for functions that add definitions: what they add gets a group. */
export function inGroup(server: McpServer, group: string): McpServer {
  return new Proxy(server, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const add = value as (key: string, options: JsonObject, handler: unknown) => unknown;
      if (!ADDING.some((each) => each === name)) return value.bind(target);
      return (key: string, options: JsonObject, handler: unknown) => {
        const meta = options._meta as JsonObject | undefined;
        return add.call(target, key, { ...options, _meta: { ...meta, "mcp-edge/group": group } }, handler);
      };
    },
  });
}
