/**
 * The scopes that single operations need, beyond those that every request needs.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization, "Scope Challenge Handling"
 */
import { keyOf } from "../../core/define/definitions.ts";
import type { Definition } from "../../core/define/server-options.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { DEFAULT_LIMITS, type Limits } from "../../core/protocol/limits.ts";
import { readBody } from "../../http/body.ts";
import { refuse } from "../../http/refusal.ts";
import { wider } from "./body-limits.ts";
import { UriScopes } from "./uri-scopes.ts";

type ScopesByName = Readonly<Record<string, readonly string[]>>;

/** The scopes that operations need, in addition to the option `scopes`. */
export interface ScopeNeeds {
  /** The scopes of tools, by name. */
  readonly tools?: ScopesByName;
  /** The scopes of prompts, by name. */
  readonly prompts?: ScopesByName;
  /**
   * The scopes of resources, by URI or URI template. A URI that has an entry of its own needs the scopes of that entry
   * only. Any other one needs those of all templates that match it. It does not matter how a client spells the URI: one
   * that a reader could take for several needs the scopes of all of them.
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
  /** Every scope that some operation needs. */
  readonly all: readonly string[];
  /** The limits of the endpoints that use the hook. Undefined until it has joined one. */
  #limits: Limits | undefined;

  /** @throws {KitError} `definition-invalid` for a URI template with a mistake. */
  constructor({ tools = {}, prompts = {}, resources = {}, methods = {} }: ScopeNeeds) {
    const mapOf = (given: ScopesByName) => new Map(Object.entries(given));
    this.#scopes = { tools: mapOf(tools), prompts: mapOf(prompts), methods: mapOf(methods) };
    this.#resources = new UriScopes(resources);
    this.all = [tools, prompts, resources, methods].flatMap((given) => Object.values(given).flat());
  }

  /** Reads bodies of this endpoint too. */
  join(limits: Limits): void {
    this.#limits = wider(this.#limits, limits);
  }

  /** Returns the scopes that a definition needs. */
  ofDefinition(definition: Definition<never>): readonly string[] {
    const key = keyOf(definition);
    switch (definition.kind) {
      case "resource":
        return this.#ofUri(key);
      case "resourceTemplate":
        return this.#resources.ofTemplate(key);
      default:
        return this.#of(definition.kind === "tool" ? "tools" : "prompts", key);
    }
  }

  /**
   * Returns the scopes that the messages in a request need, or the response that refuses its body. The body stays
   * readable.
   */
  async ofRequest(request: Request): Promise<readonly string[] | Response> {
    if (request.method !== "POST" || this.all.length === 0) return [];
    const body = await readBody(request.clone(), this.#limits ?? DEFAULT_LIMITS);
    if (body.refusal) return refuse(body.refusal);
    const messages: readonly unknown[] = Array.isArray(body.value) ? body.value : [body.value];
    return this.ofMessages(messages.filter(isObject));
  }

  /** Returns the scopes that messages need. */
  ofMessages(messages: readonly JsonObject[]): readonly string[] {
    return messages.flatMap((message) => this.#ofMessage(message));
  }

  #ofMessage({ method, params }: JsonObject): readonly string[] {
    const { name, uri, ref, notifications } = isObject(params) ? params : {};
    const own = this.#of("methods", method);
    switch (method) {
      case "tools/call":
        return [...own, ...this.#of("tools", name)];
      case "prompts/get":
        return [...own, ...this.#of("prompts", name)];
      case "resources/read":
      case "resources/subscribe":
        return [...own, ...this.#ofUri(uri)];
      case "completion/complete": {
        const asked = isObject(ref) ? ref : {};
        const ofTemplate = typeof asked.uri === "string" ? this.#resources.ofTemplate(asked.uri) : [];
        return [...own, ...this.#of("prompts", asked.name), ...ofTemplate, ...this.#ofUri(asked.uri)];
      }
      case "subscriptions/listen": {
        const uris = isObject(notifications) ? notifications.resourceSubscriptions : undefined;
        return [...own, ...(Array.isArray(uris) ? uris.flatMap((each) => this.#ofUri(each)) : [])];
      }
      default:
        return own;
    }
  }

  #of(kind: Kind, name: unknown): readonly string[] {
    return (typeof name === "string" && this.#scopes[kind].get(name)) || [];
  }

  #ofUri(uri: unknown): readonly string[] {
    return typeof uri === "string" ? this.#resources.of(uri) : [];
  }
}
