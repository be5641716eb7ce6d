/**
 * The operations of a description: their parameters, bodies, responses and credentials.
 *
 * @module
 */
import { type Answer, type Body, readBody, readResponse } from "./bodies.ts";
import type { Description } from "./document.ts";
import { OPERATIONS_MAX, PATH_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX } from "./limits.ts";
import { type Parameter, parametersOf, readParameters } from "./parameters.ts";
import { readCredentials } from "./schemes.ts";
import { baseUrlsOf, serverUrls } from "./servers.ts";
import { hasDirective, hasHidden } from "./text.ts";
import { isTree, listOf, type Tree, textOf, treeOf } from "./tree.ts";

/** The methods of operations that can become tools. */
const METHODS = ["get", "put", "post", "delete", "patch"];
/** The methods of operations that cannot become tools. These operations are reported with the reason. */
const OTHER_METHODS = ["head", "options", "trace", "query"];

/** The method of an operation that can become a tool. */
export type Method = "GET" | "PUT" | "POST" | "DELETE" | "PATCH";

/** An operation that can become a tool. */
export interface Operation extends Answer {
  /** The method and path, which identify it, such as `GET /pets/{id}`. */
  readonly id: string;
  readonly method: Method;
  readonly path: string;
  /** The first tag, which determines the file of the tool. */
  readonly tag: string;
  readonly tags: readonly string[];
  readonly operationId: string | undefined;
  readonly summary: string | undefined;
  readonly text: string | undefined;
  readonly isDeprecated: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: Body | undefined;
  /** The alternatives of security schemes. All schemes of one alternative are sent together. */
  readonly credentials: readonly (readonly string[])[];
}

/** An operation that cannot become a tool, with the reason. */
export interface Refused {
  readonly id: string;
  readonly reason: string;
}

/**
 * Reads the operations.
 *
 * @param server The base URL that the author has named; undefined for that of the description.
 */
export function readOperations(
  description: Description,
  server?: string,
): { operations: Operation[]; refused: Refused[] } {
  const operations: Operation[] = [];
  const refused: Refused[] = [];
  const usual = serverUrls(description).find((url) => url.startsWith("https:"));
  const bases = [server, usual].filter((each) => each !== undefined);
  for (const [path, item] of Object.entries(treeOf(description.root.paths))) {
    const found = description.tree(item);
    for (const method of [...METHODS, ...OTHER_METHODS, ...otherMethods(found)]) {
      const operation = found[method] ?? treeOf(found.additionalOperations)[method];
      if (!isTree(operation)) continue;
      const id = `${method.toUpperCase()} ${path.slice(0, PATH_CHARS_MAX + 1)}`;
      if (operations.length + refused.length >= OPERATIONS_MAX) {
        refused.push({ id, reason: `the description has more than ${OPERATIONS_MAX} operations` });
        return { operations, refused };
      }
      const read = readOperation(description, id, { item: found, operation: description.tree(operation), bases });
      if (typeof read === "string") refused.push({ id, reason: read });
      else operations.push(read);
    }
  }
  return { operations, refused };
}

/** Returns the other methods that OpenAPI 3.2 allows. */
function otherMethods(item: Tree): string[] {
  return Object.keys(treeOf(item.additionalOperations)).filter((name) => /^[A-Za-z-]{1,40}$/.test(name));
}

/** The context of an operation in the description. */
interface Described {
  /** The path with all its operations. */
  readonly item: Tree;
  readonly operation: Tree;
  /** The base URLs of the API. */
  readonly bases: readonly string[];
}

function readOperation(description: Description, id: string, described: Described): Operation | string {
  const { item, operation } = described;
  const [method = "", path = ""] = [id.slice(0, id.indexOf(" ")), id.slice(id.indexOf(" ") + 1)];
  if (!METHODS.includes(method.toLowerCase())) return `tools cannot send the method ${method}`;
  if (!path.startsWith("/")) return "its path does not begin with /";
  if (/[?#\\\s]/.test(path) || hasHidden(path) || path.length > PATH_CHARS_MAX)
    return "its path contains ?, #, a backslash, white space or an invisible character, or is too long";
  if (hasDirective(path)) return "its path contains a directive of a test runner or compiler";
  if (path.split("/").some((part) => /^(?:\.|%2e){1,2}$/i.test(part)))
    return "a part of its path is . or .., which leads to the folder above";
  const elsewhere = findOtherServer(description, described);
  if (elsewhere !== undefined) return elsewhere;
  const parameters = readParameters(description, parametersOf(item, operation));
  if (typeof parameters === "string") return parameters;
  const inPath = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""]) => name);
  const missing = inPath.find((name) => !parameters.some((each) => each.place === "path" && each.name === name));
  if (missing !== undefined) parameters.push(plainPath(missing));
  const credentials = readCredentials(description, operation);
  if (typeof credentials === "string") return credentials;
  const given = readBody(description, operation.requestBody, method);
  if (typeof given === "string") return given;
  if (method === "GET" && given?.isRequired === true) return "a GET request cannot have a body";
  // `fetch` does not send the body of a GET request.
  const body = method === "GET" ? undefined : given;
  const success = Object.entries(treeOf(operation.responses)).find(([status]) => /^2/.test(status));
  const response = readResponse(description, success?.[1]);
  const tags = tagsOf(operation, path);
  return {
    id,
    method: method as Method,
    path,
    tag: tags[0] ?? "other",
    tags,
    operationId: textOf(operation.operationId),
    summary: textOf(operation.summary) ?? textOf(item.summary),
    text: textOf(operation.description),
    isDeprecated: operation.deprecated === true,
    parameters: parameters.filter(({ place, name }) => place !== "path" || inPath.includes(name)),
    body,
    ...response,
    credentials,
  };
}

/** Returns the tags of an operation, or a tag made from the path if it has none. */
function tagsOf({ tags }: Tree, path: string): string[] {
  const [first] = listOf(tags);
  const fromPath = path.split("/").find((part) => part !== "" && !/^(api|v\d+|\{.*)$/.test(part)) ?? "other";
  const named = listOf(tags)
    .slice(0, TAGS_MAX)
    .flatMap((tag) => textOf(tag) ?? []);
  const cut = named.map((tag) => tag.slice(0, TAG_CHARS_MAX).toWellFormed());
  return textOf(first) === undefined ? [fromPath, ...cut] : cut;
}

/** Returns a path parameter that the description does not declare. */
function plainPath(name: string): Parameter {
  return { name, place: "path", isRequired: true, schema: { type: "string" }, text: undefined, style: "comma" };
}

/**
 * Returns the reason if an operation has another base URL than the others. Only one host can be requested, and a second one would receive
 * the credentials of the API.
 */
function findOtherServer(description: Description, { item, operation, bases }: Described): string | undefined {
  const own = [operation.servers, item.servers].find((each) => listOf(each).length > 0);
  if (own === undefined) return undefined;
  const urls = baseUrlsOf(own, description.files.main);
  if (urls.some((url) => bases.includes(url))) return undefined;
  const [first = "a server that cannot be used"] = urls;
  return `it is at ${first.slice(0, 100)}, which is not the base URL. Take it separately, with --server and --name`;
}
