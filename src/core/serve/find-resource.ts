/**
 * Finds the reader of a resource. An exact URI takes precedence over templates, and templates over the provider.
 *
 * @module
 * @see MCP 2026-07-28, server/resources, "Reading Resources"
 */

import type { CacheHint } from "../define/cache-hint.ts";
import type { HandlerContext } from "../define/handler-context.ts";
import type { Registry } from "../define/registry.ts";
import { type ReadReturn, resourceNotFound } from "../define/resource.ts";
import { normalUri } from "../protocol/uri.ts";
import type { VersionRules } from "../protocol/versions.ts";

/** The reader of a URI. */
export interface FoundReader {
  /**
   * The URI in the spelling that the reader gets: the URI of the definition, the expansion of the template, or the
   * normal form.
   */
  readonly uri: string;
  readonly mimeType?: string | undefined;
  /** The cache hint of the definition, if it has one. */
  readonly cache?: CacheHint | undefined;
  read(ctx: HandlerContext): ReadReturn | Promise<ReadReturn>;
}

/**
 * Finds the reader of a URI. Returns undefined if no definition matches and there is no provider. Definitions that
 * `visible` hides are not found, and no template or provider reads the URI of a hidden resource.
 */
export function findReader(registry: Registry, given: string): FoundReader | undefined {
  const exact = registry.resources.find(given)?.definition;
  if (exact) {
    const { uri, options } = exact;
    return { ...options, uri, read: (ctx) => exact.read(uri, ctx) };
  }
  if (registry.hides("resource", given)) return undefined;
  for (const { template, definition } of registry.resourceTemplates.values()) {
    const variables = template.match(given);
    if (!variables) continue;
    const uri = template.expand(variables);
    return { ...definition.options, uri, read: (ctx) => definition.read(uri, variables, ctx) };
  }
  const { provider } = registry;
  if (registry.hides("resourceTemplate", given)) return undefined;
  const uri = normalUri(given);
  return provider && { uri, read: (ctx) => provider.read(uri, ctx) };
}

/** Finds the reader of a URI. @throws {McpError} the version's "resource not found", with the URI. */
export function requireReader(registry: Registry, given: string, rules: VersionRules): FoundReader {
  const found = findReader(registry, given);
  if (found) return found;
  for (const { template } of registry.resourceTemplates.values()) {
    const variables = template.read(given);
    if (variables) throw resourceNotFound(given, rules, template.expand(variables));
  }
  throw resourceNotFound(given, rules);
}
