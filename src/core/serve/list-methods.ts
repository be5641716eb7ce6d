/**
 * The list methods. They join the encoded entries to pages.
 *
 * @module
 */

import type { CacheableMethod } from "../define/cache-hint.ts";
import type { ListedEntry } from "../define/catalog.ts";
import type { Registry } from "../define/registry.ts";
import { JsonText } from "../protocol/jsonrpc.ts";
import { completeResult } from "../protocol/lifecycle.ts";
import type { RequestContext } from "../run/request-context.ts";
import { createPage } from "./pagination.ts";

/** The member of a list result that holds its entries, and the catalog that they come from. */
export const MEMBERS = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
} as const satisfies Partial<Record<CacheableMethod, string>>;

export type ListMethod = keyof typeof MEMBERS;

/** The encoded first page of each list. */
const made = new WeakMap<readonly ListedEntry[], FirstPage>();

interface FirstPage {
  readonly registry: Registry;
  readonly endpoint: string | undefined;
  readonly page: JsonText;
}

/** Returns one page of a list, joined from the texts of its entries. */
export function listResult(method: ListMethod, entries: readonly ListedEntry[], call: RequestContext): JsonText {
  const { params } = call.request;
  if (params?.cursor !== undefined) return makePage(method, entries, call, params.cursor);
  const { endpoint } = call;
  let first = made.get(entries);
  // A page may contain a cursor, which is valid at one endpoint only.
  if (first?.registry !== call.registry || first.endpoint !== endpoint) {
    first = { registry: call.registry, endpoint, page: makePage(method, entries, call) };
    made.set(entries, first);
  }
  return first.page;
}

function makePage(
  method: ListMethod,
  entries: readonly ListedEntry[],
  { registry, client: { rules }, endpoint }: RequestContext,
  cursor?: unknown,
): JsonText {
  const page = createPage(method, entries, cursor, registry.options.pageSize, endpoint);
  const rest = completeResult(
    {
      ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
      ...(rules.resultEnvelope ? registry.cacheHint(method) : {}),
    },
    registry,
    rules,
  );
  const tail = JSON.stringify(rest).slice(1);
  const list = `"${MEMBERS[method]}":[${page.entries.map(({ text }) => text).join(",")}]`;
  return new JsonText(tail === "}" ? `{${list}}` : `{${list},${tail}`);
}
