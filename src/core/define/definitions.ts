/**
 * Compiles definitions of every kind, and maps each kind to its catalog and its list.
 *
 * @module
 */
import type { ListKind } from "../protocol/change-notifications.ts";
import { type CompiledPrompt, compilePrompt } from "./prompt.ts";
import {
  type CompiledResource,
  type CompiledResourceTemplate,
  compileResource,
  compileResourceTemplate,
} from "./resource.ts";
import type { Definition } from "./server-options.ts";
import { type CompiledTool, compileTool } from "./tool.ts";

/** A compiled definition. */
export type Compiled = CompiledTool | CompiledPrompt | CompiledResource | CompiledResourceTemplate;

/** The catalog that stores each kind, and the list that shows it to clients. */
export const LISTS = {
  tool: { catalog: "tools", list: "tools" },
  prompt: { catalog: "prompts", list: "prompts" },
  resource: { catalog: "resources", list: "resources" },
  resourceTemplate: { catalog: "resourceTemplates", list: "resources" },
} as const satisfies Record<Definition<never>["kind"], { readonly catalog: string; readonly list: ListKind }>;

/**
 * Checks and compiles a definition. The result does not have the type `Env`, because a server is only served with the
 * bindings for which its handlers were defined.
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
    case "resourceTemplate":
      return compileResourceTemplate(definition);
  }
}

/** Returns the name of a tool or prompt, the URI of a resource, or the URI template. */
export function toKey(definition: Definition<never>): string {
  switch (definition.kind) {
    case "resource":
      return definition.uri;
    case "resourceTemplate":
      return definition.uriTemplate;
    default:
      return definition.name;
  }
}
