/**
 * The names that a server has. A client can invent names of methods, tools and prompts, so only names that the server has
 * are used as names of spans and attributes of metrics, however a request ends.
 *
 * @module
 */
import type { RequestData, RequestEnd } from "../core/define/hook-types.ts";
import type { Registry } from "../core/define/registry.ts";
import { REGISTRY } from "../core/define/server.ts";
import type { JsonObject } from "../core/protocol/jsonrpc.ts";
import { isStandard } from "../core/protocol/methods.ts";
import { type Operation, OTHER } from "./conventions.ts";

/** Removes names that a server does not have from its operations. */
export class KnownNames<Env> {
  /** The operations with definitions that only the caller has, by the params of the requests. */
  readonly #seen = new WeakMap<JsonObject, Operation>();

  /** Returns the operation of a request that hooks serve, which has the definitions of its caller. */
  serving(data: RequestData<Env>): Operation {
    const known = select(data);
    if (data.params) this.#seen.set(data.params, known);
    return known;
  }

  /** Returns the operation of a request that has ended. */
  ended(end: RequestEnd<Env>): Operation {
    return (end.params && this.#seen.get(end.params)) ?? select(end);
  }
}

function select<Env>(data: RequestData<Env> | RequestEnd<Env>): Operation {
  const { method, tool, prompt } = data;
  const { [REGISTRY]: registry } = data as { readonly [REGISTRY]?: Registry };
  if (!isStandard(method) && !registry?.methods.has(method) && !registry?.notifications.has(method))
    return { method: OTHER };
  return {
    method,
    tool: tool !== undefined && registry?.tools.find(tool) ? tool : undefined,
    prompt: prompt !== undefined && registry?.prompts.find(prompt) ? prompt : undefined,
  };
}
