/**
 * Reads a description of any version, and converts it to OpenAPI 3.
 *
 * @module
 */
import { upgradeFromTwoToThree } from "@scalar/openapi-upgrader/2.0-to-3.0";
import { REFERENCES_MAX } from "./limits.ts";
import { DescriptionError, oneLine, shorten } from "./text.ts";
import { isTree, listOf, readTree, scalarText, type Tree, textOf, treeOf } from "./tree.ts";

/** A value after its references were followed. */
export interface Resolved {
  readonly value: Tree;
  /** The last reference that was followed, with its file; undefined if there was none. */
  readonly ref?: string;
}

/** A file of a description, with absolute references. */
interface ReadFile {
  readonly tree: Tree;
  /** The other files that it refers to. */
  readonly others: ReadonlySet<string>;
}

/** The files of a description. Each is read once. */
export class Files {
  readonly main: string;
  readonly #files = new Map<string, ReadFile>();

  /** @param main The name or URL of the description. */
  constructor(main: string) {
    this.main = main;
  }

  /** Reads a file. @throws {DescriptionError} if it is not valid, or the description is not one of a known version. */
  add(name: string, text: string): void {
    const read = readTree(text);
    const tree = name === this.main ? upgrade(read) : read;
    const others = new Set<string>();
    makeAbsolute(tree, { file: name, others, areNames: false });
    this.#files.set(name, { tree, others });
  }

  /** Returns a file; undefined if it was not read. */
  get(name: string): Tree | undefined {
    return this.#files.get(name)?.tree;
  }

  /** Returns all files with their names or URLs. */
  all(): [name: string, tree: Tree][] {
    return [...this.#files].map(([name, { tree }]) => [name, tree]);
  }

  /** Returns the referenced files that were not read. */
  missing(): Set<string> {
    const named = [...this.#files.values()].flatMap(({ others }) => [...others]);
    return new Set(named.filter((each) => !this.#files.has(each)));
  }
}

/** Resolves references, within the description and in the other files that were read. */
export class Description {
  readonly root: Tree;
  readonly title: string;
  readonly version: string;
  /** The referenced files that were not given. */
  readonly missing: ReadonlySet<string>;
  /** All files, with absolute references. */
  readonly files: Files;

  /** @param files The description and the files that it refers to. */
  constructor(files: Files) {
    this.root = files.get(files.main) ?? {};
    this.files = files;
    const info = treeOf(this.root.info);
    this.title = shorten(oneLine(textOf(info.title) ?? "api"), 80) || "api";
    this.version = shorten(oneLine(scalarText(info.version)), 40);
    this.missing = files.missing();
  }

  /** Follows the references of a value. Returns undefined if a reference leads nowhere or in a circle. */
  resolve(given: unknown): Resolved | undefined {
    if (!isTree(given)) return undefined;
    let current: Resolved = { value: given };
    for (let steps = 0; steps < REFERENCES_MAX; steps += 1) {
      const ref = textOf(current.value.$ref);
      if (ref === undefined) return current;
      const at = ref.indexOf("#");
      const found = find(this.files.get(ref.slice(0, at)), ref.slice(at + 1));
      if (found === undefined) return undefined;
      current = { value: found, ref };
    }
    return undefined;
  }

  /** Resolves a value. Returns an empty object if a reference leads nowhere. */
  tree(given: unknown): Tree {
    return this.resolve(given)?.value ?? {};
  }
}

function upgrade(tree: Tree): Tree {
  if (/^3\.[0-2](\.|$)/.test(scalarText(tree.openapi))) return tree;
  // In YAML, a version without quotes is a number.
  if (!/^2(\.0)?$/.test(scalarText(tree.swagger)))
    throw new DescriptionError('The description has neither "openapi" 3.0, 3.1 or 3.2, nor "swagger" 2.0.');
  try {
    // The library needs objects with a prototype, so it gets a copy. Its result is parsed again into objects without one.
    return readTree(JSON.stringify(upgradeFromTwoToThree(JSON.parse(JSON.stringify(withBodies(tree))))));
  } catch (error) {
    if (error instanceof DescriptionError) throw error;
    throw new DescriptionError("The description of version 2.0 is not valid, and could not be converted.");
  }
}

/**
 * Replaces references to parameters with the parameters, because the body of a request is a parameter in version 2.0 only. For the same
 * reason, adds the shared parameters of a path to each of its operations.
 */
function withBodies(tree: Tree): Tree {
  const shared = treeOf(tree.parameters);
  const resolve = (given: unknown): unknown => {
    const name = /^#\/parameters\/(.+)$/.exec(textOf(treeOf(given).$ref) ?? "")?.[1];
    return name === undefined ? given : (shared[unescapePart(name)] ?? given);
  };
  const nameOf = (given: unknown) => `${scalarText(treeOf(given).in)}:${scalarText(treeOf(given).name)}`;
  const paths = Object.entries(treeOf(tree.paths)).map(([path, item]) => {
    const common = listOf(treeOf(item).parameters).map(resolve);
    const operations = Object.entries(treeOf(item)).map(([method, operation]) => {
      if (!isTree(operation)) return [method, operation];
      const own = listOf(operation.parameters).map(resolve);
      const names = new Set(own.map(nameOf));
      const parameters = [...own, ...common.filter((each) => !names.has(nameOf(each)))].map(withFormat);
      const consumes = consumesOf(parameters, operation.consumes ?? tree.consumes);
      return [method, { ...operation, parameters, ...(consumes === undefined ? {} : { consumes }) }];
    });
    return [path, { ...Object.fromEntries(operations), parameters: undefined }];
  });
  return { ...tree, swagger: "2.0", paths: Object.fromEntries(paths) };
}

/** Adds the default format of lists in forms, which the library requires: values joined with commas. */
function withFormat(given: unknown): unknown {
  const parameter = treeOf(given);
  const isList = parameter.in === "formData" && parameter.type === "array" && parameter.collectionFormat === undefined;
  return isList ? { ...parameter, collectionFormat: "csv" } : given;
}

/** Returns the media types of a body. A form without files is sent as a form, even if the description names another type. */
function consumesOf(parameters: readonly unknown[], given: unknown): unknown {
  const fields = parameters.map(treeOf).filter((each) => each.in === "formData");
  const isForm = listOf(given).some((type) =>
    /^(multipart\/form-data|application\/x-www-form-urlencoded)/i.test(scalarText(type)),
  );
  if (fields.length === 0 || isForm || fields.some(({ type }) => type === "file")) return given;
  return ["application/x-www-form-urlencoded"];
}

/** Splits a reference into the file, relative to the one that contains it, and the JSON pointer. */
function split(ref: string, from: string): [file: string, pointer: string] {
  const at = ref.indexOf("#");
  const [path, pointer] = at < 0 ? [ref, ""] : [ref.slice(0, at), ref.slice(at + 1)];
  return [path === "" ? from : resolveFile(path, from), decode(pointer)];
}

/** The base URL of the files of a local description. */
const LOCAL = "local:///";

function resolveFile(path: string, from: string): string {
  const base = /^https?:/.test(from) ? from : `${LOCAL}${from}`;
  try {
    const url = new URL(path, base).href;
    return url.startsWith(LOCAL) ? decodeURIComponent(url.slice(LOCAL.length)) : url;
  } catch {
    return path;
  }
}

function decode(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}

function unescapePart(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

function find(tree: Tree | undefined, pointer: string): Tree | undefined {
  let value: unknown = tree;
  for (const part of pointer.split("/").slice(1)) {
    if (Array.isArray(value)) value = value[Number(part)];
    else if (isTree(value) && Object.hasOwn(value, unescapePart(part))) value = value[unescapePart(part)];
    else return undefined;
  }
  return isTree(value) ? value : undefined;
}

/** Keywords whose members have names that the API chooses. */
const NAMED = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "schemas",
  "paths",
]);

/** The context in which references are made absolute. */
interface Place {
  readonly file: string;
  readonly others: Set<string>;
  /** Whether the names of members are chosen by the API, so that they are not keywords. */
  readonly areNames: boolean;
}

/** Makes all references of a file absolute, and collects the other files that it refers to. Examples are not schemas. */
function makeAbsolute(value: unknown, place: Place): void {
  const inner = { ...place, areNames: false };
  if (Array.isArray(value)) for (const each of value) makeAbsolute(each, inner);
  if (!isTree(value)) return;
  if (typeof value.$ref === "string") {
    const { file, others } = place;
    const [other, pointer] = split(value.$ref, file);
    if (other !== file) others.add(other);
    // The tree belongs to this class, so it may be changed.
    (value as Record<string, unknown>).$ref = `${other}#${pointer}`;
  }
  for (const [name, each] of Object.entries(value)) {
    if (place.areNames) makeAbsolute(each, inner);
    else if (name !== "example" && name !== "examples") makeAbsolute(each, { ...place, areNames: NAMED.has(name) });
  }
}
