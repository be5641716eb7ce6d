/**
 * What a server offers, compiled once: looked up by name in calls, spliced as ready JSON text in lists.
 *
 * @module
 */
import { pick } from "./content.ts";
import { KitError } from "./errors.ts";
import type { JsonObject } from "./jsonrpc.ts";
import { type CompiledTool, compileTool, hasObjectRoot, type ToolDefinition } from "./tool.ts";
import type { VersionRules } from "./versions.ts";

/** The tools of one server, in the order they were defined. */
export class ToolRegistry<Env> {
  readonly #tools = new Map<string, CompiledTool<Env>>();
  readonly #listed = new Map<string, string>();

  get size(): number {
    return this.#tools.size;
  }

  /**
   * @param place Where it is defined, for the error text.
   * @throws {KitError} `definition-duplicate` when the name is taken; the first definition stays.
   */
  add(definition: ToolDefinition<Env>, place: string): void {
    const tool = compileTool(definition);
    if (this.#tools.has(tool.name)) {
      throw new KitError(
        "definition-duplicate",
        `Tool "${tool.name}" is already defined; ${place} defines it again. Names are unique within a server.`,
      );
    }
    this.#tools.set(tool.name, tool);
    this.#listed.clear();
  }

  find(name: string): CompiledTool<Env> | undefined {
    return this.#tools.get(name);
  }

  /** The `tools` array of a version as JSON text, made on first use. */
  listText(rules: VersionRules): string {
    let text = this.#listed.get(rules.version);
    if (text === undefined) {
      text = JSON.stringify([...this.#tools.values()].map((tool) => toListEntry(tool, rules)));
      this.#listed.set(rules.version, text);
    }
    return text;
  }
}

/** One entry of `tools/list`, with only what the version has. */
function toListEntry(tool: CompiledTool<never>, rules: VersionRules): JsonObject {
  const { title, description, annotations, icons, _meta } = tool.options;
  const outputSchema = tool.output && showsOutput(tool.output.json, rules) ? tool.output.json : undefined;
  const entry = {
    name: tool.name,
    title,
    description,
    inputSchema: tool.inputJson,
    outputSchema,
    annotations,
    icons,
    _meta,
  };
  return pick(entry, rules.toolFields);
}

function showsOutput(json: JsonObject, rules: VersionRules): boolean {
  return rules.structured === "any" || hasObjectRoot(json);
}
