/**
 * The scopes that single operations need, beyond those that every request needs.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization, "Scope Challenge Handling"
 */
import { keyOf } from "../../core/define/definitions.ts";
import type { Definition } from "../../core/define/server-options.ts";
import { UriTemplate } from "../../core/define/uri-template.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { DEFAULT_LIMITS, type Limits } from "../../core/protocol/limits.ts";
import { readBody } from "../../http/body.ts";
import { refuse } from "../../http/refusal.ts";
import { wider } from "./body-limits.ts";

type ScopesByName = Readonly<Record<string, readonly string[]>>;

/** The scopes that operations need, in addition to the option `scopes`. */
export interface ScopeNeeds {
  /** The scopes of tools, by name. */
  readonly tools?: ScopesByName;
  /** The scopes of prompts, by name. */
  readonly prompts?: ScopesByName;
  /**
   * The scopes of resources, by URI or URI template. A URI that has an entry of its own needs the scopes of that entry
   * only. Any other one needs those of all templates that match it.
   */
  readonly resources?: ScopesByName;
  /** The scopes of custom methods, and of any other method, by name. */
  readonly methods?: ScopesByName;
}

/** The kinds of operations that a request may name. */
type Kind = keyof ScopeNeeds;

/** Decides which scopes a request or a definition needs. */
export class Needs {
  readonly #scopes: Readonly<Record<Kind, ReadonlyMap<string, readonly string[]>>>;
  readonly #templates: readonly (readonly [UriTemplate, readonly string[]])[];
  /** Every scope that some operation needs. */
  readonly all: readonly string[];
  /** The limits of the endpoints that use the hook. Undefined until it has joined one. */
  #limits: Limits | undefined;

  /** @throws {KitError} `definition-invalid` for a URI template with a mistake. */
  constructor({ tools = {}, prompts = {}, resources = {}, methods = {} }: ScopeNeeds) {
    const mapOf = (given: ScopesByName) => new Map(Object.entries(given));
    this.#scopes = {
      tools: mapOf(tools),
      prompts: mapOf(prompts),
      resources: mapOf(resources),
      methods: mapOf(methods),
    };
    this.#templates = Object.entries(resources)
      .filter(([uri]) => uri.includes("{"))
      .map(([uri, scopes]) => [new UriTemplate(uri), scopes]);
    this.all = Object.values(this.#scopes).flatMap((map) => [...map.values()].flat());
  }

  /** Reads bodies of this endpoint too. */
  join(limits: Limits): void {
    this.#limits = wider(this.#limits, limits);
  }

  /** Returns the scopes that a definition needs. */
  ofDefinition(definition: Definition<never>): readonly string[] {
    const { kind } = definition;
    return this.#of(kind === "tool" ? "tools" : kind === "prompt" ? "prompts" : "resources", keyOf(definition));
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
    return messages.filter(isObject).flatMap((message) => this.#ofMessage(message));
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
        return [...own, ...this.#of("resources", uri)];
      case "completion/complete": {
        const asked = isObject(ref) ? ref : {};
        return [...own, ...this.#of("prompts", asked.name), ...this.#of("resources", asked.uri)];
      }
      case "subscriptions/listen": {
        const uris = isObject(notifications) ? notifications.resourceSubscriptions : undefined;
        return [...own, ...(Array.isArray(uris) ? uris.flatMap((each) => this.#of("resources", each)) : [])];
      }
      default:
        return own;
    }
  }

  #of(kind: Kind, name: unknown): readonly string[] {
    if (typeof name !== "string") return [];
    const exact = this.#scopes[kind].get(name);
    if (exact || kind !== "resources") return exact ?? [];
    return this.#templates.flatMap(([template, scopes]) => (template.match(name) ? scopes : []));
  }
}
