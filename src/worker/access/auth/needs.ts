/**
 * The scopes that single operations need, beyond those that every request needs.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization, "Scope Challenge Handling"
 */
import { toKey } from "../../../core/define/definitions.ts";
import type { Definition } from "../../../core/define/server-options.ts";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { DEFAULT_LIMITS, type Limits } from "../../../core/protocol/limits.ts";
import { listTargets, type Target } from "../../../core/protocol/targets.ts";
import { UriScopes } from "./uri-scopes.ts";

/** The scopes that operations need, by the name of the operation. */
export type ScopesByName = Readonly<Record<string, readonly string[]>>;

/** The scopes that operations need, in addition to the option `scopes`. */
export interface ScopeNeeds {
  /** The scopes of tools, by name. */
  readonly tools?: ScopesByName;
  /** The scopes of prompts, by name. */
  readonly prompts?: ScopesByName;
  /**
   * The scopes of resources, by URI or URI template. A URI that has an entry of its own needs the scopes of that entry
   * only. Any other one needs those of all templates that match it. It does not matter how a client spells the URI: one
   * that a reader could take for several needs the scopes of all of them. A request with more URIs than a stream may be
   * subscribed to, or with longer ones, needs the scopes of all entries.
   */
  readonly resources?: ScopesByName;
  /** The scopes of custom methods, and of any other method, by name. */
  readonly methods?: ScopesByName;
}

/** The kinds of operations that a request may name by a name. */
type Kind = Exclude<keyof ScopeNeeds, "resources">;

/** Decides which scopes a request or a definition needs. */
export class Needs {
  readonly #scopes: Readonly<Record<Kind, ReadonlyMap<string, readonly string[]>>>;
  readonly #resources: UriScopes;
  /** The scopes of all resources. */
  readonly #ofResources: readonly string[];
  /** Every scope that some operation needs. */
  readonly all: readonly string[];

  /** @throws {KitError} `definition-invalid` for a URI template with a mistake. */
  constructor({ tools = {}, prompts = {}, resources = {}, methods = {} }: ScopeNeeds) {
    const toMap = (given: ScopesByName) => new Map(Object.entries(given));
    this.#scopes = { tools: toMap(tools), prompts: toMap(prompts), methods: toMap(methods) };
    this.#resources = new UriScopes(resources);
    this.#ofResources = [...new Set(Object.values(resources).flat())];
    this.all = [tools, prompts, resources, methods].flatMap((given) => Object.values(given).flat());
  }

  /** Returns the scopes that a definition needs. */
  ofDefinition(definition: Definition<never>): readonly string[] {
    const key = toKey(definition);
    switch (definition.kind) {
      case "resource":
        return this.#resources.of(key);
      case "resourceTemplate":
        return this.#resources.ofTemplate(key);
      default:
        return this.#of(definition.kind === "tool" ? "tools" : "prompts", key);
    }
  }

  /**
   * Returns the scopes that the messages of one request need.
   *
   * @param limits Those of the endpoint. They bound the URIs that are compared with the entries for resources, which takes
   *   longer than reading them.
   */
  ofMessages(messages: readonly JsonObject[], limits: Limits): readonly string[] {
    const targets = messages.flatMap((message) => listTargets(message));
    const ofUri = areFewUris(targets, limits) ? (uri: string) => this.#resources.of(uri) : () => this.#ofResources;
    const needed = new Set(messages.flatMap(({ method }) => this.#of("methods", method)));
    for (const target of targets) for (const scope of this.#ofTarget(target, ofUri)) needed.add(scope);
    return [...needed];
  }

  #ofTarget({ kind, name }: Target, ofUri: (uri: string) => readonly string[]): readonly string[] {
    switch (kind) {
      case "tool":
        return this.#of("tools", name);
      case "prompt":
        return this.#of("prompts", name);
      case "resource":
        return ofUri(name);
      case "reference":
        return [...this.#of("prompts", name), ...this.#resources.ofTemplate(name), ...ofUri(name)];
      case "task":
        // A task is protected by the scopes of the call that created it.
        return [];
    }
  }

  #of(kind: Kind, name: unknown): readonly string[] {
    return (typeof name === "string" && this.#scopes[kind].get(name)) || [];
  }
}

/** Whether there are no more URIs, and no longer ones, than one stream may be subscribed to. */
function areFewUris(targets: readonly Target[], { subscriptionUrisMax, subscriptionCharsMax }: Limits): boolean {
  const uris = targets.filter(({ kind }) => kind === "resource" || kind === "reference");
  // An endpoint that admits fewer subscriptions may still have long URIs to read.
  const urisMax = Math.max(subscriptionUrisMax, DEFAULT_LIMITS.subscriptionUrisMax);
  const charsMax = Math.max(subscriptionCharsMax, DEFAULT_LIMITS.subscriptionCharsMax);
  return uris.length <= urisMax && uris.reduce((sum, { name }) => sum + name.length, 0) <= charsMax;
}
