/**
 * Definitions of every kind: how each is compiled, found and listed.
 *
 * @module
 */
import type { ListKind } from "../protocol/notices.ts";
import { type CompiledPrompt, compilePrompt } from "./prompt.ts";
import { type CompiledResource, type CompiledTemplate, compileResource, compileTemplate } from "./resource.ts";
import type { Definition } from "./server-options.ts";
import { type CompiledTool, compileTool } from "./tool.ts";

/** A definition ready to be listed and used. */
export type Compiled = CompiledTool | CompiledPrompt | CompiledResource | CompiledTemplate;

/** Which catalog keeps each kind, and which list clients find it in. */
export const LISTS = {
  tool: { catalog: "tools", list: "tools" },
  prompt: { catalog: "prompts", list: "prompts" },
  resource: { catalog: "resources", list: "resources" },
  template: { catalog: "templates", list: "resources" },
} as const satisfies Record<Definition<never>["kind"], { readonly catalog: string; readonly list: ListKind }>;

/**
 * Checks a definition and makes it ready. Its `Env` is erased here: from now on handlers take a context of any bindings,
 * because a server is only served with those that its handlers were defined for.
 *
 * @throws {KitError} `definition-invalid` or `schema-unsupported`.
 */
export function compile<Env>(definition: Definition<Env>): Compiled {
  switch (definition.kind) {
    case "tool":
      return compileTool(definition);
    case "prompt":
      return compilePrompt(definition);
    case "resource":
      return compileResource(definition);
    case "template":
      return compileTemplate(definition);
  }
}

/** The name of a tool or prompt, the URI of a resource, or the URI template. */
export function keyOf(definition: Definition<never>): string {
  switch (definition.kind) {
    case "resource":
      return definition.uri;
    case "template":
      return definition.uriTemplate;
    default:
      return definition.name;
  }
}
