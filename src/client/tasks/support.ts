/**
 * Reads what a server declares about tasks.
 *
 * @module
 * @see io.modelcontextprotocol/tasks; MCP 2025-11-25, basic/utilities/tasks, "Capabilities"
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";
import { findSpoken } from "../../core/protocol/spoken-versions.ts";
import type { ServerFacts, Tool } from "../requests/results.ts";

/** The name of the tasks extension. */
export const EXTENSION = "io.modelcontextprotocol/tasks";

/** Whether the protocol version uses the tasks extension. */
export function hasExtension({ protocolVersion }: ServerFacts): boolean {
  return findSpoken(protocolVersion)?.era === "modern";
}

/** Whether the server has declared tasks. */
export function declaresTasks(server: ServerFacts): boolean {
  const { extensions, tasks } = server.capabilities as { extensions?: unknown; tasks?: unknown };
  return hasExtension(server) ? isObject(extensions) && Boolean(extensions[EXTENSION]) : Boolean(tasks);
}

/** Whether clients may ask for a call to become a task, as in 2025-11-25. In later versions the server decides. */
export function takesTaskRequests(server: ServerFacts): boolean {
  const { tasks } = server.capabilities as { tasks?: { requests?: { tools?: { call?: unknown } } } };
  return !hasExtension(server) && tasks?.requests?.tools?.call !== undefined;
}

/** Whether a call of the tool may become a task. In versions after 2025-11-25, the server does not declare this for each tool. */
export function mayBecomeTask(server: ServerFacts, { execution }: Pick<Tool, "execution">): boolean {
  if (hasExtension(server)) return declaresTasks(server);
  const { taskSupport = "forbidden" } = execution ?? {};
  return takesTaskRequests(server) && taskSupport !== "forbidden";
}
