/**
 * Finds out how an operation divides its results into pages.
 *
 * @module
 */
import type { Operation } from "./operations.ts";
import type { Member, Shape } from "./shape.ts";

/** How the next page is requested. */
export interface Pages {
  /**
   * `cursor`: the parameter is a value of the previous response. `number`: the parameter is the number of the page. `offset`: the
   * parameter is the number of items so far. `last`: the parameter is the id of the last item.
   */
  readonly by: "cursor" | "number" | "offset" | "last";
  /** The parameter of the query. */
  readonly parameter: string;
  /** The number of the first page, if it is not 1. */
  readonly first?: number;
  /** The path of members to the items in the response; empty if the response is the list. */
  readonly items: readonly string[];
  /** The path of members to the cursor, or to the value that says whether there are more items. */
  readonly next: readonly string[] | undefined;
  /** The parameter for the number of items per page. If a call sets it, only one page is requested. */
  readonly size?: string;
}

const CURSORS =
  /^(cursor|page_?token|next_?(page_?)?token|next_?cursor|continue|marker|after|offset_?token|page_?cursor)$/i;
const NEXT = /^(next_?(page_?)?(token|cursor|marker)|next|continue|cursor|after|next_?page)$/i;
const MORE = /^has_?(more|next)(_?(page|items|results))?$/i;
const NUMBERS = /^(page|page_?(number|no|index))$/i;
const OFFSETS = /^(offset|skip|start_?(index|at)?)$/i;
const SIZES =
  /^\$?(limit|count|size|top|take|first|per_?page|(page|batch)[_.-]?(size|limit|count)|page\[(size|limit)\]|(max|num|limit)_?(results|items|per_?page)|(results|items)_?per_?page)$/i;

/** Returns how the pages of an operation are requested; undefined if it has none. */
export function findPages(operation: Operation, response: Shape): Pages | undefined {
  const found = findNextPage(operation, response);
  const size = operation.parameters.find(({ place, name }) => place === "query" && SIZES.test(name))?.name;
  return found === undefined || size === undefined || size === found.parameter ? found : { ...found, size };
}

function findNextPage({ method, parameters }: Operation, response: Shape): Pages | undefined {
  if (method !== "GET") return undefined;
  const items = findItems(response);
  if (items === undefined) return undefined;
  const query = parameters.filter(({ place }) => place === "query").map(({ name }) => name);
  const find = (pattern: RegExp) => query.find((name) => pattern.test(name));
  const cursor = find(CURSORS);
  const next = cursor === undefined ? undefined : findNext(response);
  if (cursor !== undefined && next !== undefined) return { by: "cursor", parameter: cursor, items, next };
  const last = find(/^starting_?after$/i);
  const more = membersOf(response).find(({ name }) => /^has_?more$/i.test(name));
  if (last !== undefined && more !== undefined) return { by: "last", parameter: last, items, next: [more.name] };
  const number = find(NUMBERS);
  if (number !== undefined) {
    const schema = parameters.find(({ name }) => name === number)?.schema as { default?: unknown; type?: unknown };
    if (schema?.type === "string") return undefined;
    const first = schema?.default === 0 ? { first: 0 } : {};
    return { by: "number", parameter: number, items, next: findMore(response), ...first };
  }
  const offset = find(OFFSETS);
  return offset === undefined ? undefined : { by: "offset", parameter: offset, items, next: findMore(response) };
}

function membersOf(shape: Shape) {
  return shape.kind === "object" ? shape.members : [];
}

/** Returns the path of the items: the whole response, or its only list. */
function findItems(response: Shape): readonly string[] | undefined {
  if (response.kind === "list") return [];
  const lists = membersOf(response).filter(({ shape }) => shape.kind === "list");
  const [only] =
    lists.length > 1 ? lists.filter(({ name }) => /^(data|items|results|values|entries)$/i.test(name)) : lists;
  return only === undefined ? undefined : [only.name];
}

/** Returns the path of the cursor: a string at the top level, or in an object such as `meta` or `response_metadata`. */
function findNext(response: Shape): readonly string[] | undefined {
  const isText = ({ kind }: Shape) => kind === "string" || kind === "unknown";
  return findMember(response, ({ name, shape }) => NEXT.test(name) && isText(shape));
}

/** Returns the path of the value that says whether there is another page: a boolean, or the URL of the next page. */
function findMore(response: Shape): readonly string[] | undefined {
  return findMember(response, ({ name, shape }) => MORE.test(name) && shape.kind === "boolean") ?? findNext(response);
}

function findMember(response: Shape, isWanted: (member: Member) => boolean): readonly string[] | undefined {
  const top = membersOf(response).find(isWanted);
  if (top !== undefined) return [top.name];
  for (const { name, shape } of membersOf(response)) {
    const inner = membersOf(shape).find(isWanted);
    if (inner !== undefined) return [name, inner.name];
  }
  return undefined;
}
