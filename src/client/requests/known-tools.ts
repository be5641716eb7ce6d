import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { ParamHeader } from "../../core/protocol/param-headers.ts";
import { ClientError } from "../basics/errors.ts";
import { paramHeaders } from "../transports/request-headers.ts";
import type { Tool } from "./results.ts";

/** The listed tools by name, with the headers that their calls need. */
export class KnownTools {
  readonly #tools = new Map<string, { readonly tool: Tool; readonly headers: readonly ParamHeader[] | string }>();

  /**
   * Stores the tools of a page, and returns the tools that may be called.
   *
   * @param warn Receives a message about each tool that must not be called. Undefined if calls have no headers, so that every tool
   *   may be called.
   * @see MCP 2026-07-28, server/tools, "x-mcp-header"
   */
  async add(tools: readonly Tool[], warn: ((message: string) => void) | undefined): Promise<Tool[]> {
    // Few tools have such headers, so the code that reads them is loaded on demand.
    const hasHeaders = warn !== undefined && JSON.stringify(tools).includes('"x-mcp-header"');
    const read = hasHeaders ? (await import("../on-demand.ts")).listParamHeaders : () => [];
    return tools.filter((tool) => {
      const headers = warn ? readHeaders(tool, read) : [];
      this.#tools.set(tool.name, { tool, headers });
      if (typeof headers === "string") warn?.(`The tool ${JSON.stringify(tool.name)} is left out: ${headers}`);
      return typeof headers !== "string";
    });
  }

  /** Returns a listed tool. */
  find(name: string): Tool | undefined {
    return this.#tools.get(name)?.tool;
  }

  /**
   * Returns the `Mcp-Param-*` headers of a call. Empty for a tool that was not listed.
   *
   * @throws {ClientError} `tool-invalid` if the tool has an invalid declaration of its headers.
   */
  headersFor(name: string, args: JsonObject): Record<string, string> {
    const headers = this.#tools.get(name)?.headers ?? [];
    if (typeof headers === "string") throw new ClientError("tool-invalid", `${name} cannot be called: ${headers}`);
    return paramHeaders(headers, args);
  }
}

/** Returns the headers that a tool declares, or the reason why the declaration is invalid. */
function readHeaders(
  { name, inputSchema }: Tool,
  read: (name: string, schema: JsonObject) => readonly ParamHeader[],
): readonly ParamHeader[] | string {
  if (!isObject(inputSchema)) return "it has no inputSchema.";
  try {
    return read(name, inputSchema);
  } catch (error) {
    return (error as Error).message;
  }
}
