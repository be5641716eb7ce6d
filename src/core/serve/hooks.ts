import type { AroundHook, EndpointHooks, RequestData } from "../define/hook-types.ts";
import type { Registry } from "../define/registry.ts";
import { REGISTRY } from "../define/server.ts";
import type { Reporter } from "../protocol/error-reports.ts";
import { KitError } from "../protocol/errors.ts";
import { type HookContext, hookTools } from "../protocol/execution.ts";
import {
  isObject,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JsonObject,
  JsonText,
  type RequestId,
} from "../protocol/jsonrpc.ts";
import { describeRequest } from "../protocol/request-description.ts";

/** A request or a notification with what its hooks need. */
type HookedMessage<M> = HookContext & {
  readonly registry: Reporter;
  readonly request: M;
  readonly session?: string | undefined;
};

/** Returns the data of a request for `around` and `onRequestEnd`, or of a custom notification for `around`. */
export function hookData(context: HookedMessage<JSONRPCRequest>): RequestData & { readonly requestId: RequestId };
export function hookData(context: HookedMessage<JSONRPCNotification>): RequestData;
export function hookData(context: HookedMessage<JSONRPCNotification>): RequestData {
  const { client, principal, registry, session } = context;
  // A notification has no id.
  const request = context.request as JSONRPCRequest;
  return {
    // For `telemetry()`, which looks up names. The key is a symbol, so that logs of the data do not contain the server.
    [REGISTRY]: registry,
    ...describeRequest(request, client, principal),
    ...hookTools(registry, request, context),
    params: request.params,
    session,
  } as RequestData;
}

/** The part of a request or notification that has hooks. */
export interface Hooked {
  /** The hooks of the endpoint, if it has any. */
  readonly endpointHooks?: EndpointHooks | undefined;
}

/** Returns the hooks around a request: first the hooks of the endpoint, then the hooks of the server. */
export function listAroundHooks(registry: Registry, { endpointHooks }: Hooked): readonly AroundHook[] {
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
  work: RequestWork,
): Promise<JsonObject | JsonText> {
  const innermost = async (): Promise<JsonObject> => {
    try {
      const result = await work();
      // Hooks receive objects. Lists stay encoded only for servers without hooks.
      data.result = result instanceof JsonText ? (JSON.parse(result.text) as JsonObject) : result;
      return data.result;
    } catch (error) {
      data.error = error;
      throw error;
    }
  };
  const wrapped = hooks.reduceRight<() => Promise<JsonObject>>(
    (next, hook, index) => () => runHook(hook, index, data, next),
    innermost,
  );
  return wrapped();
}

async function runHook(
  hook: AroundHook,
  index: number,
  data: RequestData,
  next: () => Promise<JsonObject>,
): Promise<JsonObject> {
  const result = await hook(data, next);
  // Modern results are objects, but a custom method may return any JSON value to a legacy client.
  if (isObject(result) || (result !== undefined && !data.client.rules.resultEnvelope)) return result as JsonObject;
  throw new KitError(
    "options-invalid",
    `The around hook ${hook.name || `number ${index + 1}`} returned no result; return the result of next() or another object.`,
  );
}
