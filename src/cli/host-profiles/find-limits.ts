/**
 * Compares what a server offers with the limits of hosts.
 *
 * @module
 */
import { isObject } from "../../core/protocol/jsonrpc.ts";
import {
  COMBINED_NAME_CHARS,
  CUT_NAME_CHARS,
  DESCRIPTION_CHARS,
  type HostLimit,
  INSTRUCTIONS_CHARS,
  type Maximum,
  NAME_PATTERNS,
  RESULT_CHARS,
  SCHEMA_BYTES,
  TOOL_COUNTS,
  TOP_LEVEL_KEYWORDS,
} from "./limits.ts";
import type { HostName } from "./profile.ts";
import type { Source } from "./source.ts";

/** The members of a tool to which limits apply. Members may have any type, because the server may be faulty. */
export interface ListedTool {
  readonly name: string;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
}

/** What is compared with the limits. */
export interface Offered {
  readonly tools: readonly ListedTool[];
  readonly instructions?: unknown;
  /** The name of the server, which users often choose as its name in a host. */
  readonly serverName?: string | undefined;
}

/** A limit that is exceeded. */
export interface Exceeded {
  readonly id: string;
  readonly hosts: readonly HostName[];
  readonly source: Source;
  /** `breaks` if other tools are affected as well. */
  readonly severity: "breaks" | "degrades";
  readonly what: string;
  readonly fix: string;
}

/** The maximum number of tools that one message names. */
const NAMED_MAX = 5;

/** Returns the limits that a server exceeds. */
export function findExceeded(offered: Offered): Exceeded[] {
  return [...findOfSchemas(offered), ...findOfTexts(offered), ...findOfNames(offered), ...findOfCount(offered)];
}

function* findOfSchemas({ tools }: Offered): Generator<Exceeded> {
  const large = tools.filter(({ inputSchema }) => bytesOf(inputSchema ?? {}) > SCHEMA_BYTES.max);
  if (large.length > 0) {
    const sizes = listed(large, ({ name, inputSchema }) => `${name} (${bytesOf(inputSchema)} bytes)`);
    const what = `The input schema is larger than ${SCHEMA_BYTES.max} bytes, so the tool is dropped without a message: ${sizes}.`;
    const fix = "Shorten the descriptions in the schema, move enumerations into the handler, or split the tool.";
    yield exceeded("schema-too-large", SCHEMA_BYTES, what, fix);
  }
  const { keywords } = TOP_LEVEL_KEYWORDS;
  const combined = tools.filter(
    ({ inputSchema }) => isObject(inputSchema) && keywords.some((each) => each in inputSchema),
  );
  if (combined.length > 0) {
    const what = `The input schema has ${keywords.join(", ")} at its top level, so the tool is dropped without a message: ${listed(combined)}.`;
    const fix = "Describe one object with optional properties, and check the combinations in the handler.";
    yield exceeded("schema-combined", TOP_LEVEL_KEYWORDS, what, fix);
  }
}

function* findOfTexts({ tools, instructions }: Offered): Generator<Exceeded> {
  const long = tools.filter(({ description }) => lengthOf(description) > DESCRIPTION_CHARS.max);
  if (long.length > 0) {
    const lengths = listed(long, ({ name, description }) => `${name} (${lengthOf(description)})`);
    const what = `The description is cut after ${DESCRIPTION_CHARS.max} characters: ${lengths}.`;
    yield exceeded("description-cut", DESCRIPTION_CHARS, what, "Write what matters first, and shorten the rest.");
  }
  if (lengthOf(instructions) > INSTRUCTIONS_CHARS.max) {
    const what = `The instructions of the server are cut after ${INSTRUCTIONS_CHARS.max} characters; they have ${lengthOf(instructions)}.`;
    yield exceeded("instructions-cut", INSTRUCTIONS_CHARS, what, "Write what matters first, and shorten the rest.");
  }
}

function* findOfNames({ tools, serverName = "" }: Offered): Generator<Exceeded> {
  for (const limit of NAME_PATTERNS) {
    const odd = tools.filter(({ name }) => !limit.pattern.test(name));
    if (odd.length === 0) continue;
    const effect = limit.affectsAll
      ? "refuses all tools of the server"
      : "reports an error, and may leave out the tool";
    const what = `The host accepts names of ${limit.admits}, and ${effect}: ${listed(odd)}.`;
    const fix = "Rename the tool; write _ in place of other characters.";
    yield { ...exceeded("name-characters", limit, what, fix), severity: limit.affectsAll ? "breaks" : "degrades" };
  }
  const long = tools.filter(({ name }) => name.length + serverName.length > COMBINED_NAME_CHARS.max);
  if (long.length > 0) {
    const what = `The names of the server (${JSON.stringify(serverName)}) and the tool together have more than ${COMBINED_NAME_CHARS.max} characters, so the tool is dropped: ${listed(long)}.`;
    yield exceeded("name-too-long", COMBINED_NAME_CHARS, what, "Choose a shorter name for the tool or the server.");
  }
  const collided = findCollided(tools, serverName);
  if (collided.length > 0) {
    const what = `The names are cut to ${CUT_NAME_CHARS.max} characters and are then equal, so only the last tool remains: ${listed(collided)}.`;
    yield exceeded("name-collision", CUT_NAME_CHARS, what, "Choose shorter names, or names that differ at the end.");
  }
}

/** Returns the tools with different names that are equal after a host has cut them. */
function findCollided(tools: readonly ListedTool[], serverName: string): ListedTool[] {
  // Node 20 has neither Object.groupBy nor Map.groupBy.
  const groups = new Map<string, ListedTool[]>();
  for (const tool of tools) {
    const cut = cutName(`mcp_${serverName}_${tool.name}`);
    const group = groups.get(cut);
    if (group) group.push(tool);
    else groups.set(cut, [tool]);
  }
  return [...groups.values()].flatMap((group) => (new Set(group.map(({ name }) => name)).size > 1 ? group : []));
}

/** Returns the name that a host gives to a tool: a long name loses its middle. */
function cutName(name: string): string {
  const { max, kept } = CUT_NAME_CHARS;
  return name.length > max ? `${name.slice(0, kept)}...${name.slice(-kept)}` : name;
}

function* findOfCount({ tools }: Offered): Generator<Exceeded> {
  for (const limit of TOOL_COUNTS.filter(({ max }) => tools.length > max)) {
    const what = `The server has ${tools.length} tools, and the host accepts ${limit.max} of all servers together.`;
    const fix = "Combine tools, or list only those that the caller may use.";
    yield { ...exceeded("too-many-tools", limit, what, fix), severity: "breaks" };
  }
}

/** Returns the limits that the result of a call exceeds. */
export function findOfResult(name: string, result: unknown): Exceeded[] {
  const chars = (JSON.stringify(result) ?? "").length;
  return RESULT_CHARS.filter(({ max }) => chars > max).map((limit) => {
    const what = `The result of ${name} has ${chars} characters, and is cut after about ${limit.max}.`;
    return exceeded("result-cut", limit, what, "Return pages, or a link to a resource.");
  });
}

function exceeded(id: string, { hosts, source }: HostLimit | Maximum, what: string, fix: string): Exceeded {
  return { id, hosts, source, severity: "degrades", what, fix };
}

function listed(tools: readonly ListedTool[], describe = ({ name }: ListedTool) => name): string {
  const named = tools.slice(0, NAMED_MAX).map(describe).join(", ");
  const more = tools.length - NAMED_MAX;
  return more > 0 ? `${named} and ${more} more` : named;
}

function lengthOf(text: unknown): number {
  return typeof text === "string" ? text.length : 0;
}

/** Returns the size of a value as JSON, in bytes. */
export function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value) ?? "").length;
}

/** Describes the size of a list of tools. A token has roughly four bytes. */
export function describeSize(tools: readonly unknown[]): string {
  const bytes = bytesOf(tools);
  return `${bytes} bytes, roughly ${Math.ceil(bytes / 4)} tokens`;
}
