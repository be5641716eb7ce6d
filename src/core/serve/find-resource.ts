/**
 * Finds the reader of a resource. An exact URI takes precedence over templates, and templates over the provider.
 *
 * @module
 * @see MCP 2026-07-28, server/resources, "Reading Resources"
 */

import type { HandlerContext } from "../define/handler-context.ts";
import type { Registry } from "../define/registry.ts";
import { type ReadReturn, resourceNotFound } from "../define/resource.ts";
import type { CacheHint } from "../define/server-options.ts";
import type { VersionRules } from "../protocol/versions.ts";

/** The reader of a URI. */
export interface FoundReader {
  readonly mimeType: string | undefined;
  /** The cache hint of the definition, if it has one. */
  readonly cache: CacheHint | undefined;
  read(ctx: HandlerContext): ReadReturn | Promise<ReadReturn>;
}

/** Finds the reader of a URI. @throws {McpError} the version's "resource not found", with the URI. */
export function findReader(server: Registry, uri: string, rules: VersionRules): FoundReader {
  const exact = server.resources.find(uri)?.definition;
  if (exact) {
    const { mimeType, cache } = exact.options;
    return { mimeType, cache, read: (ctx) => exact.read(uri, ctx) };
  }
  for (const { template, definition } of server.resourceTemplates.values()) {
    const variables = template.match(uri);
    if (!variables) continue;
    const { mimeType, cache } = definition.options;
    return { mimeType, cache, read: (ctx) => definition.read(uri, variables, ctx) };
  }
  const { provider } = server;
  if (!provider) throw resourceNotFound(uri, rules);
  return { mimeType: undefined, cache: undefined, read: (ctx) => provider.read(uri, ctx) };
}
