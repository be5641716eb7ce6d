/**
 * The lists of the server, and the limits of hosts.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { bytesOf, describeSize, findExceeded, type ListedTool } from "../../host-profiles/find-limits.ts";
import type { Diagnosis, FindingInput } from "./diagnosis.ts";
import { describeExchange, type Exchange, isExchange, type NoResponse } from "./exchange.ts";

/** Sends a request for a page of a list. */
export type RequestPage = (
  method: string,
  params?: JsonObject,
) => Promise<{ readonly answer: Exchange | NoResponse; readonly result: JsonObject | undefined }>;

/** What a server declares about itself. */
export interface Declared {
  readonly capabilities: JsonObject;
  readonly serverName: string | undefined;
  readonly instructions: unknown;
  /** Whether the version admits an `outputSchema` of any type. */
  readonly admitsAnyOutput?: boolean;
}

/** The maximum number of pages of one list, and of their bytes as JSON. */
const [PAGES_MAX, LIST_BYTES_MAX] = [64, 16 * 1024 * 1024];

const LISTS = {
  tools: { method: "tools/list", member: "tools" },
  prompts: { method: "prompts/list", member: "prompts" },
  resources: { method: "resources/list", member: "resources" },
} as const;

const BASE = { step: "lists", severity: "breaks", fault: "server" } as const;

/** Reads the lists and checks the tools. Returns the tools, if their list could be read, and the response that refuses it because of the token. */
export async function checkLists(
  { capabilities, serverName, instructions, admitsAnyOutput = false }: Declared,
  request: RequestPage,
  diagnosis: Diagnosis,
): Promise<{ readonly tools?: readonly ListedTool[]; readonly refused?: Exchange }> {
  for (const kind of ["prompts", "resources"] as const) {
    if (capabilities[kind] !== undefined) await readList(kind, request, diagnosis, "degrades");
  }
  if (capabilities.tools === undefined) {
    const { result } = await request("tools/list");
    const count = Array.isArray(result?.tools) ? result.tools.length : 0;
    if (count > 0) diagnosis.add(undeclared(count));
    return { tools: [] };
  }
  const { items, refused } = await readList("tools", request, diagnosis, "breaks");
  if (!items) return refused ? { refused } : {};
  const tools = checkTools(items, admitsAnyOutput, diagnosis);
  diagnosis.toolsSize = describeSize(items);
  for (const each of findExceeded({ tools, instructions, serverName })) {
    diagnosis.add({ ...each, step: "limits", fault: "host" });
  }
  return { tools };
}

function undeclared(count: number): FindingInput {
  return {
    ...BASE,
    id: "tools-undeclared",
    what: `The server has ${count} tools, but does not declare the capability tools, so hosts do not ask for them.`,
    fix: 'Declare "tools": {} in the capabilities of the result of initialize.',
  };
}

/** Reads all pages of a list. Returns no items if the first page could not be read. */
async function readList(
  kind: keyof typeof LISTS,
  request: RequestPage,
  diagnosis: Diagnosis,
  severity: "breaks" | "degrades",
): Promise<{ readonly items?: readonly unknown[]; readonly refused?: Exchange }> {
  const { method, member } = LISTS[kind];
  const items: unknown[] = [];
  let bytes = 0;
  const cursors = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const { answer, result } = await request(method, cursor === undefined ? undefined : { cursor });
    if (isExchange(answer) && (answer.status === 401 || answer.status === 403)) return { refused: answer };
    const page = result?.[member];
    if (!Array.isArray(page)) {
      const what = `${method} is declared, but fails: ${describeExchange(answer)}.`;
      const fix = `Return { "${member}": [] } at least, or do not declare the capability.`;
      diagnosis.add({ ...BASE, id: `${kind}-failed`, severity, what, fix });
      return cursor === undefined ? {} : { items };
    }
    // The arguments of a call would not fit on the stack.
    for (const each of page) items.push(each);
    if (typeof result?.nextCursor !== "string") return { items };
    cursor = result.nextCursor;
    bytes += bytesOf(page);
    if (cursors.has(cursor) || cursors.size >= PAGES_MAX || bytes > LIST_BYTES_MAX) {
      const why = cursors.has(cursor)
        ? "a cursor is repeated"
        : bytes > LIST_BYTES_MAX
          ? `it is larger than ${LIST_BYTES_MAX / 1024 / 1024} MiB`
          : `it has more than ${PAGES_MAX} pages`;
      const what = `${method} does not end: ${why}.`;
      diagnosis.add({ ...BASE, id: "list-endless", severity, what, fix: "Leave out nextCursor on the last page." });
      return { items };
    }
    cursors.add(cursor);
  }
}

/** Adds the faults of tools for which clients reject the whole list. Returns the tools that have a name. */
function checkTools(items: readonly unknown[], admitsAnyOutput: boolean, diagnosis: Diagnosis): ListedTool[] {
  const named = items.filter((each) => isObject(each) && typeof each.name === "string") as unknown as ListedTool[];
  const invalid = items.flatMap((each, index) => problemOf(each, index, admitsAnyOutput) ?? []);
  const [first] = invalid;
  if (first !== undefined) {
    const more = invalid.length > 1 ? `, and ${invalid.length - 1} more` : "";
    diagnosis.add({
      ...BASE,
      id: "tool-invalid",
      what: `A definition is invalid, so clients reject the whole list: ${first}${more}.`,
      fix: 'Give every tool a name, and schemas with "type": "object" at their top level.',
    });
  }
  const names = new Set<string>();
  const twice = named.find(({ name }) => names.size === names.add(name).size);
  if (twice) {
    const what = `Two tools have the name ${JSON.stringify(twice.name)}, so the model's provider refuses every request.`;
    diagnosis.add({ ...BASE, id: "name-duplicate", what, fix: "Rename one of them." });
  }
  return named;
}

function problemOf(tool: unknown, index: number, admitsAnyOutput: boolean): string | undefined {
  if (!isObject(tool) || typeof tool.name !== "string") return `the tool at index ${index} has no name`;
  const { name, inputSchema, outputSchema } = tool;
  if (!isObject(inputSchema) || inputSchema.type !== "object") return `${name} has no inputSchema of the type object`;
  const isOutputValid = isObject(outputSchema) && (admitsAnyOutput || outputSchema.type === "object");
  if (outputSchema !== undefined && !isOutputValid)
    return `${name} has an outputSchema that is not ${admitsAnyOutput ? "an object" : "of the type object"}`;
  return undefined;
}
