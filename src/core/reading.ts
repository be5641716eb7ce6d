/**
 * Finding and reading a resource: an exact one wins over a template, a template over the provider.
 *
 * @module
 * @see MCP 2026-07-28, server/resources, "Reading Resources"
 */
import type { HandlerContext } from "./context.ts";
import type { JsonObject } from "./jsonrpc.ts";
import { type ReadReturn, resourceNotFound, toContents } from "./resource.ts";
import type { CacheHint, McpServer } from "./server.ts";
import type { VersionRules } from "./versions.ts";

/** What a read gave. */
export interface ReadOutcome {
  readonly contents: JsonObject[];
  /** The hint of the definition, where it has one. */
  readonly cache: CacheHint | undefined;
}

interface Found {
  readonly mimeType: string | undefined;
  readonly cache: CacheHint | undefined;
  read(): ReadReturn | Promise<ReadReturn>;
}

/** @throws {McpError} "not found" of the version, with the URI. */
export async function readResource(
  server: McpServer<never>,
  uri: string,
  ctx: HandlerContext<never>,
  rules: VersionRules,
): Promise<ReadOutcome> {
  const found = find(server, uri, ctx);
  if (!found) throw resourceNotFound(uri, rules);
  return { contents: toContents(await found.read(), uri, found.mimeType, rules), cache: found.cache };
}

function find(server: McpServer<never>, uri: string, ctx: HandlerContext<never>): Found | undefined {
  const exact = server.resources.find(uri)?.definition;
  if (exact) return { mimeType: exact.options.mimeType, cache: exact.options.cache, read: () => exact.read(uri, ctx) };
  for (const { template, definition } of server.templates.values()) {
    const variables = template.match(uri);
    if (!variables) continue;
    const { mimeType, cache } = definition.options;
    return { mimeType, cache, read: () => definition.read(uri, variables, ctx) };
  }
  const { provider } = server;
  return provider && { mimeType: undefined, cache: undefined, read: () => provider.read(uri, ctx) };
}
