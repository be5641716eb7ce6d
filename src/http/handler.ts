/**
 * Serves one endpoint without a framework, as a web-standard `(Request) => Response`.
 *
 * @module
 */
import { REGISTRY } from "../core/define/server.ts";
import { checkNumbers } from "../core/protocol/check-options.ts";
import { checkFunction } from "../core/protocol/errors.ts";
import { Endpoint } from "./endpoint.ts";
import type { HttpHandler, HttpOptions, RegistrySource, ServerSource } from "./endpoint-types.ts";
import { type HttpLimitOptions, resolveHttpLimits, TIMES } from "./response-times.ts";

/** Creates the handler of one endpoint. */
export function createHttpHandler<Env>(
  source: ServerSource<Env>,
  options: Omit<HttpOptions, "limits"> & HttpLimitOptions,
): HttpHandler<Env> {
  checkFunction("auth", options.auth);
  checkNumbers("", options, TIMES);
  const registry: RegistrySource =
    typeof source === "function"
      ? async (request, env, principal) => (await source(request, env as Env, principal))[REGISTRY]
      : source[REGISTRY];
  const endpoint = new Endpoint(registry, { ...options, limits: resolveHttpLimits(options) });
  return async (request, env, execution) => endpoint.handle(request, env, execution);
}
