import type { AroundHook, EndpointHooks, RequestData } from "../define/hook-types.ts";
import type { Registry } from "../define/registry.ts";
import type { Reporter } from "../protocol/error-reports.ts";
import { KitError } from "../protocol/errors.ts";
import { type HookedCall, hookTools } from "../protocol/execution.ts";
import {
  isObject,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JsonObject,
  JsonText,
  type RequestId,
} from "../protocol/jsonrpc.ts";
import { describeRequest } from "../protocol/request-description.ts";

/** Returns a request as `around` and `onRequestEnd` see it. */
export function hookData(
  call: HookedCall & { readonly registry: Reporter; readonly request: JSONRPCRequest },
): RequestData & { readonly requestId: RequestId } {
  return {
    ...describeRequest(call.request, call.client, call.principal),
    ...hookTools(call.registry, call.request, call),
  };
}

/** Returns a notification as `around` sees it. */
export function notificationData(
  registry: Registry,
  { method, params = {} }: JSONRPCNotification,
  call: HookedCall,
): RequestData {
  const { client, principal } = call;
  return { method, params, client, principal, ...hookTools(registry, { method }, call) };
}

/** What the hooks of a call are taken from. */
export interface HooksOfCall {
  /** The hooks of the endpoint, if it has any. */
  readonly endpointHooks?: EndpointHooks | undefined;
}

/** Returns the hooks around a call: those of the endpoint, then those of the server. */
export function listAroundHooks(registry: Registry, { endpointHooks }: HooksOfCall): readonly AroundHook[] {
  return endpointHooks?.around.length ? [...endpointHooks.around, ...registry.around] : registry.around;
}

/** The work that serves a request. */
export type RequestWork = () => Promise<JsonObject | JsonText>;

/**
 * Serves a request within its hooks.
 *
 * @throws {KitError} `options-invalid` naming the hook that neither called `next()` nor returned a result.
 */
export function runAround(
  hooks: readonly AroundHook[],
  data: RequestData,
  serve: RequestWork,
): Promise<JsonObject | JsonText> {
  const innermost = async (): Promise<JsonObject> => {
    try {
      const result = await serve();
      // Hooks see objects. Lists stay encoded only for servers without hooks.
      data.result = result instanceof JsonText ? (JSON.parse(result.text) as JsonObject) : result;
      return data.result;
    } catch (error) {
      data.error = error;
      throw error;
    }
  };
  const onion = hooks.reduceRight<() => Promise<JsonObject>>(
    (next, hook, place) => () => runHook(hook, place, data, next),
    innermost,
  );
  return onion();
}

async function runHook(
  hook: AroundHook,
  place: number,
  data: RequestData,
  next: () => Promise<JsonObject>,
): Promise<JsonObject> {
  const result = await hook(data, next);
  // Modern results are objects, but a custom method may return any JSON value to a legacy client.
  if (isObject(result) || (result !== undefined && !data.client.rules.resultEnvelope)) return result as JsonObject;
  throw new KitError(
    "options-invalid",
    `The around hook ${hook.name || `number ${place + 1}`} returned no result. Return what next() gives, or a result object.`,
  );
}
