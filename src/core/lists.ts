/**
 * The list methods: what is compiled, page by page, as ready text.
 *
 * @module
 */
import type { Call } from "./context.ts";
import { type JSONRPCRequest, JsonText } from "./jsonrpc.ts";
import { completeResult } from "./lifecycle.ts";
import { pageOf } from "./pagination.ts";
import type { McpServer } from "./server.ts";
import type { CacheableMethod } from "./server-options.ts";
import type { ListedEntry } from "./shelf.ts";

/** The member of a list result that holds its entries. */
const MEMBERS = {
  "tools/list": "tools",
  "prompts/list": "prompts",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
} as const satisfies Partial<Record<CacheableMethod, string>>;

export type ListMethod = keyof typeof MEMBERS;

/** One page of a list, spliced from the entries' texts. */
export function listResult(
  method: ListMethod,
  entries: readonly ListedEntry[],
  server: McpServer<never>,
  request: JSONRPCRequest,
  call: Call<never>,
): JsonText {
  const { rules } = call.client;
  const page = pageOf(method, entries, request.params?.cursor, server.pageSize);
  const rest = completeResult(
    {
      ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
      ...(rules.resultEnvelope ? server.cacheHint(method) : {}),
    },
    server,
    rules,
  );
  const tail = JSON.stringify(rest).slice(1);
  const list = `"${MEMBERS[method]}":[${page.entries.map(({ text }) => text).join(",")}]`;
  return new JsonText(tail === "}" ? `{${list}}` : `{${list},${tail}`);
}
