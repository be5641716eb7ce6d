/**
 * The tools, prompts and resources that a server lists: their names, hints and schemas, and the members that are secrets.
 *
 * @module
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";

/** The facts about a tool that the recorder uses. */
export interface ListedTool {
  readonly isReadOnly: boolean;
  readonly outputSchema: unknown;
  /** The paths of the secrets in the arguments and in the structured content. */
  readonly secretArguments: readonly SecretPath[];
  readonly secretResults: readonly SecretPath[];
}

/** The member names on the path to a secret. `*` matches all elements of an array. */
export type SecretPath = readonly string[];

/** The maximum number of tools, and of names and URIs. */
const KNOWN_MAX = 5_000;

/** The maximum depth of a schema, and the maximum number of its secrets. */
const [DEPTH_MAX, SECRETS_MAX] = [8, 100];

/** The tools, prompts and resources in the list results of a server. */
export class ServerCatalog {
  readonly #tools = new Map<string, ListedTool>();
  readonly #names = new Set<string>();

  /** Returns a listed tool. */
  tool(name: string): ListedTool | undefined {
    return this.#tools.get(name);
  }

  /** Returns whether the server lists a tool, prompt or resource with this name or URI. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** Reads the result of a list request. Other results are ignored. */
  read(result: unknown): void {
    if (!isObject(result)) return;
    const { tools, prompts, resources, resourceTemplates } = result;
    for (const tool of objects(tools)) if (typeof tool.name === "string") this.#readTool(tool.name, tool);
    for (const { name } of objects(prompts)) this.#add(name);
    for (const { uri } of objects(resources)) this.#add(uri);
    for (const { uriTemplate } of objects(resourceTemplates)) this.#add(uriTemplate);
  }

  #readTool(name: string, { annotations, inputSchema, outputSchema }: Readonly<Record<string, unknown>>): void {
    if (this.#tools.size >= KNOWN_MAX && !this.#tools.has(name)) return;
    this.#add(name);
    this.#tools.set(name, {
      isReadOnly: isObject(annotations) && annotations.readOnlyHint === true,
      outputSchema,
      secretArguments: findSecretPaths(inputSchema),
      secretResults: findSecretPaths(outputSchema),
    });
  }

  #add(name: unknown): void {
    if (typeof name === "string" && name.length <= 200 && this.#names.size < KNOWN_MAX) this.#names.add(name);
  }
}

function objects(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Returns the paths of the members that a JSON Schema marks as secret with `writeOnly` or the format `password`. */
export function findSecretPaths(schema: unknown): readonly SecretPath[] {
  const found: SecretPath[] = [];
  const visit = (node: unknown, path: readonly string[]): void => {
    if (!isObject(node) || path.length > DEPTH_MAX || found.length >= SECRETS_MAX) return;
    if (node.writeOnly === true || node.format === "password") {
      found.push(path);
      return;
    }
    if (isObject(node.properties)) {
      for (const [name, property] of Object.entries(node.properties)) visit(property, [...path, name]);
    }
    visit(node.items, [...path, "*"]);
    for (const word of ["anyOf", "oneOf", "allOf"]) {
      const branches = node[word];
      if (Array.isArray(branches)) for (const branch of branches) visit(branch, path);
    }
  };
  visit(schema, []);
  return found;
}
