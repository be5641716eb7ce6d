/**
 * Reads a contract from the JSON of a lock file, which may be malformed or hostile.
 *
 * @module
 */
import { quote } from "../core/basics/quote.ts";
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import { type Contract, LOCK_FORMAT } from "./contract.ts";
import { DepthError, own, sorted } from "./json.ts";

/** The contract of a lock file, or what is wrong with the file: the member, and what was expected. */
export type ParsedContract =
  | { readonly contract: Contract; readonly problem?: undefined; readonly isNewer?: undefined }
  | {
      readonly contract?: undefined;
      readonly problem: string;
      /** Whether a newer version of mcp-edge has written the file. */
      readonly isNewer?: true;
    };

/** The maximum number of definitions in each list of a lock file. @limit internal */
const DEFINITIONS_MAX = 20_000;

/** Ends the reading. Never leaves this file. */
class Problem extends Error {
  readonly isNewer: boolean;

  constructor(message: string, isNewer = false) {
    super(message);
    this.isNewer = isNewer;
  }
}

/** Checks a member. @throws {Problem} */
type Check = (value: unknown, place: string) => void;

/** Reads a contract from a JSON value. Never throws. Members that are not part of the format are dropped. */
export function parseContract(value: unknown): ParsedContract {
  try {
    return { contract: readContract(value) };
  } catch (error) {
    if (error instanceof Problem) return { problem: error.message, ...(error.isNewer ? { isNewer: true } : {}) };
    if (error instanceof DepthError) return { problem: `A member is invalid: ${error.message}.` };
    throw error;
  }
}

function readContract(value: unknown): Contract {
  if (!isObject(value)) throw new Problem(`The contract is ${kindOf(value)}; it must be an object.`);
  if (own(value, "lock") !== LOCK_FORMAT) {
    const found = own(value, "lock");
    const text = found === undefined ? "is missing" : `is ${quote(JSON.stringify(found) ?? "")}`;
    const isNewer = typeof found === "number" && found > LOCK_FORMAT;
    throw new Problem(`"lock" ${text}; this version reads only the format ${LOCK_FORMAT}.`, isNewer);
  }
  const contract = {
    lock: LOCK_FORMAT,
    server: readObject(value.server ?? {}, "server", { name: isText, instructions: isText }),
    ...(own(value, "scopes") === undefined ? {} : { scopes: readTexts(value.scopes, "scopes") }),
    tools: readList(value, "tools", {
      name: isRequiredText,
      title: isText,
      description: isText,
      inputSchema: isRequiredObject,
      outputSchema: isOptionalObject,
      annotations: isHints,
      _meta: isOptionalObject,
    }),
    prompts: readList(value, "prompts", {
      name: isRequiredText,
      title: isText,
      description: isText,
      arguments: isArguments,
    }),
    resources: readList(value, "resources", { uri: isRequiredText, ...TEXTS }),
    resourceTemplates: readList(value, "resourceTemplates", { uriTemplate: isRequiredText, ...TEXTS }),
  };
  checkDepth(contract);
  // Every member was checked above.
  return contract as unknown as Contract;
}

/** Checks the depth of each schema, so that comparing it later cannot fail. @throws {DepthError} */
function checkDepth({ tools }: { readonly tools: readonly JsonObject[] }): void {
  for (const tool of tools) for (const member of Object.values(tool)) sorted(member);
}

/** Reads a list of objects. A missing list is empty. */
function readList(value: JsonObject, name: string, checks: Readonly<Record<string, Check>>): JsonObject[] {
  const list = own(value, name) ?? [];
  if (!Array.isArray(list)) throw new Problem(`"${name}" is ${kindOf(list)}; it must be a list.`);
  if (list.length > DEFINITIONS_MAX)
    throw new Problem(`"${name}" has ${list.length} entries, but at most ${DEFINITIONS_MAX} are read.`);
  return list.map((each, at) => readObject(each, `${name}[${at}]`, checks));
}

function readObject(value: unknown, place: string, checks: Readonly<Record<string, Check>>): JsonObject {
  if (!isObject(value)) throw new Problem(`"${place}" is ${kindOf(value)}; it must be an object.`);
  const members = Object.entries(checks).map(([name, check]): [string, unknown] => {
    const member = own(value, name);
    check(member, `${place}.${name}`);
    return [name, member];
  });
  return Object.fromEntries(members.filter(([, member]) => member !== undefined));
}

function readTexts(value: unknown, place: string): readonly string[] {
  if (!Array.isArray(value)) throw new Problem(`"${place}" is ${kindOf(value)}; it must be a list.`);
  for (const [at, each] of value.entries()) isRequiredText(each, `${place}[${at}]`);
  return value;
}

function isRequiredText(value: unknown, place: string): void {
  if (typeof value !== "string") throw new Problem(`"${place}" is ${kindOf(value)}; it must be a string.`);
}

function isText(value: unknown, place: string): void {
  if (value !== undefined) isRequiredText(value, place);
}

function isRequiredObject(value: unknown, place: string): void {
  if (!isObject(value)) throw new Problem(`"${place}" is ${kindOf(value)}; it must be an object.`);
}

function isOptionalObject(value: unknown, place: string): void {
  if (value !== undefined) isRequiredObject(value, place);
}

function isBoolean(value: unknown, place: string): void {
  if (typeof value !== "boolean") throw new Problem(`"${place}" is ${kindOf(value)}; it must be true or false.`);
}

function isHints(value: unknown, place: string): void {
  readObject(value, place, {
    readOnlyHint: isBoolean,
    destructiveHint: isBoolean,
    idempotentHint: isBoolean,
    openWorldHint: isBoolean,
  });
}

function isArguments(value: unknown, place: string): void {
  if (!Array.isArray(value)) throw new Problem(`"${place}" is ${kindOf(value)}; it must be a list.`);
  for (const [at, each] of value.entries()) {
    readObject(each, `${place}[${at}]`, {
      name: isRequiredText,
      title: isText,
      description: isText,
      required: isBoolean,
    });
  }
}

const TEXTS: Readonly<Record<string, Check>> = { name: isText, title: isText, description: isText, mimeType: isText };

function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
