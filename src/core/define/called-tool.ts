import { calledTool, type MethodAndParams } from "../protocol/methods.ts";
import type { Registry } from "./registry.ts";
import type { CompiledTool } from "./tool.ts";

/**
 * Returns the tool that a request calls; undefined if it does not call a tool, or if the server does not have the tool.
 */
export function findCalledTool({ tools }: Registry, request: MethodAndParams): CompiledTool | undefined {
  return tools.find(calledTool(request) ?? "");
}
