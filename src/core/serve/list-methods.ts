/**
 * The list methods. They join encoded entries to pages.
 *
 * @module
 */

import type { CacheableMethod } from "../define/cache-hint.ts";
import type { ListedEntry } from "../define/catalog.ts";
import type { Registry } from "../define/registry.ts";
import { JsonText } from "../protocol/jsonrpc.ts";
import { completeResult } from "../protocol/lifecycle.ts";
import { CLIENT_REQUESTS, type RequestsWith } from "../protocol/methods.ts";
import type { RequestContext } from "../run/request-context.ts";
import { createPage } from "./pagination.ts";

/** The methods that list definitions. The member of the result that has the entries is named like their catalog. */
export type ListMethod = Extract<RequestsWith<{ readonly list: string }>, CacheableMethod>;

/** The encoded first page of each list. */
const made = new WeakMap<readonly ListedEntry[], FirstPage>();

interface FirstPage {
  readonly registry: Registry;
  readonly endpoint: string | undefined;
  readonly page: JsonText;
}

/** Returns one page of a list, joined from its encoded entries. */
export function listResult(method: ListMethod, entries: readonly ListedEntry[], context: RequestContext): JsonText {
  const { params } = context.request;
  if (params?.cursor !== undefined) return makePage(method, entries, context, params.cursor);
  const { endpoint } = context;
  let first = made.get(entries);
  // A page may contain a cursor, which is valid only at one endpoint.
  if (first?.registry !== context.registry || first.endpoint !== endpoint) {
    first = { registry: context.registry, endpoint, page: makePage(method, entries, context) };
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
  const page = createPage(method, entries, { cursor, pageSize: registry.options.pageSize, endpoint });
  const rest = completeResult(
    {
      nextCursor: page.nextCursor,
      ...(rules.resultEnvelope ? registry.cacheHint(method) : {}),
    },
    registry,
    rules,
  );
  const tail = JSON.stringify(rest).slice(1);
  const list = `"${CLIENT_REQUESTS[method].list}":[${page.entries.map(({ text }) => text).join(",")}]`;
  return new JsonText(tail === "}" ? `{${list}}` : `{${list},${tail}`);
}
