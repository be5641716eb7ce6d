/**
 * Delivers notifications to clients: by `subscriptions/listen` in the modern era. In the legacy era, every client gets
 * list changes, and updates of the resources to which it is subscribed.
 *
 * A transport adds these methods if notifications can reach its clients.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/subscriptions; MCP 2025-11-25, server/resources, "Subscriptions"
 */

import type { Registry } from "../define/registry.ts";
import { resourceNotFound } from "../define/resource.ts";
import type { SubscriptionContext } from "../define/server-options.ts";
import {
  type ChangeBus,
  type ChangeFilter,
  type ChangeNotification,
  type ChangeSource,
  compileFilter,
  computeSize,
  LIST_KINDS,
} from "../protocol/change-notifications.ts";
import { describeType, invalidParams, isReasonOf, KitError, McpError } from "../protocol/errors.ts";
import {
  isObject,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JsonObject,
  type RequestId,
} from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";
import { logNotification } from "../protocol/logging.ts";
import { readTarget } from "../protocol/targets.ts";
import { uriKey } from "../protocol/uri.ts";
import type { MethodTable, RequestContext } from "../run/request-context.ts";
import { suspend } from "../run/suspend.ts";
import { findReader, requireReader } from "./find-resource.ts";

export const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

/** Returns the notifications of this process as a source. */
export function localNotifications(bus: ChangeBus): ChangeSource {
  return {
    open: async (first, listener) => {
      let admits = compileFilter(first);
      const stop = bus.subscribe((notifications) =>
        notifications.filter((notification) => admits(notification)).forEach(listener),
      );
      return {
        stop,
        ended: suspend(),
        update: async (filter) => {
          admits = compileFilter(filter);
        },
      };
    },
  };
}

/**
 * Returns the message that reports a change. The caller must pass elicitations only for versions that have
 * `notifications/elicitation/complete`, and must not pass tasks.
 */
export function toNotification(change: ChangeNotification): JSONRPCNotification {
  switch (change.kind) {
    case "resource":
      return notification("notifications/resources/updated", { uri: change.uri });
    case "elicitation":
      return notification("notifications/elicitation/complete", { elicitationId: change.id });
    case "log":
      return logNotification(change.level, change.data, change.logger);
    default:
      // Tasks are reported elsewhere.
      return notification(`notifications/${change.kind}/list_changed`);
  }
}

/** Returns the id of the URL elicitation that a message requests, if it requests one. */
export function readElicitationId(message: JSONRPCNotification | JSONRPCRequest): string | undefined {
  const id = message.method === "elicitation/create" ? message.params?.elicitationId : undefined;
  return typeof id === "string" ? id : undefined;
}

/** Returns the ids of the URL elicitations that a -32042 error requires. */
export function listElicitationIds({ data }: McpError): string[] {
  const list: unknown = isObject(data) ? data.elicitations : undefined;
  const ids = Array.isArray(list) ? list.map((each: unknown) => isObject(each) && each.elicitationId) : [];
  return ids.filter((id) => typeof id === "string");
}

function notification(method: string, params?: JsonObject): JSONRPCNotification {
  return { jsonrpc: "2.0", method, params };
}

/** Stores the resources to which a legacy client is subscribed. */
export interface SubscriptionStore {
  read(): readonly string[];
  /** Stores the URIs. Resolves once notifications about exactly these resources reach the client. */
  keep(uris: readonly string[]): void | Promise<void>;
}

/** Returns `resources/subscribe` and `resources/unsubscribe` for a store of subscriptions. */
export function subscribeMethods(store: SubscriptionStore): MethodTable {
  return {
    "resources/subscribe": { serve: (context) => subscribe(context, store) },
    "resources/unsubscribe": { serve: (context) => unsubscribe(context, store) },
  };
}

async function subscribe(context: RequestContext, store: SubscriptionStore): Promise<JsonObject> {
  const given = readTarget(context.request);
  const { uri } = requireReader(context.registry, given, context.client.rules);
  const isStored = () => store.read().some((kept) => uriKey(kept) === uriKey(uri));
  if (isStored()) return {};
  withRoomFor(uri, store, context.limits);
  if (!(await isAdmitted(uri, context))) throw resourceNotFound(given, context.client.rules);
  // Another request may have stored the subscription meanwhile.
  if (isStored()) return {};
  try {
    await store.keep(withRoomFor(uri, store, context.limits));
  } catch (error) {
    const { onUnsubscribe } = context.registry.options;
    await onUnsubscribe?.(uri, toSubscriptionContext(context));
    throw error;
  }
  return {};
}

/** Returns the stored URIs and another URI. @throws {McpError} -32602 if they exceed the limits. */
function withRoomFor(uri: string, store: SubscriptionStore, limits: Limits): string[] {
  const uris = [...store.read(), uri];
  checkUris(uris, uris.join("").length, "resources/subscribe", limits);
  return uris;
}

async function unsubscribe(context: RequestContext, store: SubscriptionStore): Promise<JsonObject> {
  const key = uriKey(readTarget(context.request));
  const uri = store.read().find((kept) => uriKey(kept) === key);
  if (uri === undefined) return {};
  await store.keep(store.read().filter((kept) => kept !== uri));
  await context.registry.options.onUnsubscribe?.(uri, toSubscriptionContext(context));
  return {};
}

/**
 * Calls `onSubscribe`.
 *
 * @throws the exception of the hook; {KitError} `options-invalid` if the result is not a boolean or undefined.
 */
async function isAdmitted(uri: string, context: RequestContext): Promise<boolean> {
  const answer: unknown = await context.registry.options.onSubscribe?.(uri, toSubscriptionContext(context));
  if (answer === undefined || typeof answer === "boolean") return answer !== false;
  throw new KitError(
    "options-invalid",
    `onSubscribe returned ${describeType(answer)}; return true, false or undefined.`,
  );
}

/** Checks the number and size of URIs. @throws {McpError} -32602 naming the limits. */
function checkUris(uris: readonly string[], chars: number, method: string, limits: Limits): void {
  const { subscriptionUrisMax: urisMax, subscriptionCharsMax: charsMax } = limits;
  if (uris.length <= urisMax && chars <= charsMax) return;
  throw invalidParams(
    `${method}: ${uris.length} resources in ${chars} characters are too many; use at most ${urisMax} in ${charsMax} characters.`,
    { field: "uri" },
  );
}

function toSubscriptionContext({ env, principal, client, ending }: RequestContext): SubscriptionContext<unknown> {
  return { env, principal, client, signal: ending.signal };
}

/** Calls `onUnsubscribe` for the resources of a client whose subscriptions have ended. Failures go to `onError`. */
export async function releaseUris(
  registry: Registry,
  uris: readonly string[],
  given: Omit<SubscriptionContext<unknown>, "signal">,
  onError: RequestContext["onError"],
): Promise<void> {
  // The hooks run because the request has ended, so its signal must not stop them. This signal never aborts.
  const context = { ...given, signal: new AbortController().signal };
  for (const uri of uris) {
    try {
      await registry.options.onUnsubscribe?.(uri, context);
    } catch (error) {
      registry.report(error, { method: "(onUnsubscribe)", uri }, onError);
    }
  }
}

/** Returns `subscriptions/listen` for a source of notifications. */
export function listenMethods(source: ChangeSource): MethodTable {
  return {
    "subscriptions/listen": { serve: (context) => listen(context, source) },
  };
}

/** Serves a listen request until the client cancels it or the source ends. */
async function listen(context: RequestContext, source: ChangeSource): Promise<JsonObject> {
  const filter = await grant(readFilter(context.request, context.limits), context);
  const size = computeSize(context.request, filter.uris);
  // The stream keeps the request in memory, and the request may name many more resources than are granted.
  if (context.request.params) context.request.params.notifications = undefined;
  try {
    await deliver(filter, size, context, source);
  } finally {
    await releaseUris(context.registry, filter.uris, toSubscriptionContext(context), context.onError);
  }
  return { _meta: { [SUBSCRIPTION_ID]: context.request.id } };
}

async function deliver(
  filter: ChangeFilter,
  size: number,
  context: RequestContext,
  source: ChangeSource,
): Promise<void> {
  const { id } = context.request;
  const _meta = { [SUBSCRIPTION_ID]: id };
  // The acknowledgement must be sent first, but notifications may arrive while the source opens.
  let deliverOne: (notification: ChangeNotification) => void = (notification) => early.push(notification);
  const early: ChangeNotification[] = [];
  const claim = { principal: context.principal, size };
  const tap = await source.open(
    { ...filter, tasks: context.tasks?.ids },
    (notification) => deliverOne(notification),
    claim,
  );
  if (context.ending.signal.aborted) {
    tap.stop();
    return;
  }
  context.emit(notification("notifications/subscriptions/acknowledged", { _meta, notifications: toWire(filter) }));
  deliverOne = (notification) =>
    notification.kind === "task" ? context.tasks?.notify(notification.id) : context.emit(tagged(notification, id));
  early.forEach(deliverOne);
  await new Promise<void>((resolve) => {
    void tap.ended.then(resolve);
    context.ending.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  tap.stop();
}

/** Reads the requested filter. The stream keeps the whole request in memory, so all of it counts towards the limit. */
function readFilter(request: JSONRPCRequest, limits: Limits): ChangeFilter {
  const asked = request.params?.notifications;
  if (!isObject(asked))
    throw invalidParams("subscriptions/listen: params.notifications is not an object.", { field: "notifications" });
  const uris = asked.resourceSubscriptions ?? [];
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === "string")) {
    throw invalidParams("subscriptions/listen: resourceSubscriptions is not a list of strings.", {
      field: "notifications.resourceSubscriptions",
    });
  }
  checkUris(uris, JSON.stringify(request).length, "subscriptions/listen", limits);
  const lists = LIST_KINDS.filter((kind) => asked[`${kind}ListChanged`] === true);
  return { lists, uris: [...new Set<string>(uris)] };
}

/**
 * Returns the part of a filter that is granted: without lists that the server does not have, and without resources that
 * do not exist, are hidden from the caller, or are refused by a hook.
 */
async function grant(asked: ChangeFilter, context: RequestContext): Promise<ChangeFilter> {
  const { registry } = context;
  const lists = asked.lists.filter((list) => registry.offers(list));
  const uris = new Map<string, string>();
  for (const given of registry.offers("resources") ? asked.uris : []) {
    const uri = findReader(registry, given)?.uri;
    if (uri === undefined || uris.has(uriKey(uri))) continue;
    try {
      if (await isAdmitted(uri, context)) uris.set(uriKey(uri), uri);
    } catch (error) {
      if (McpError.is(error) || isReasonOf(context.ending.signal, error)) continue;
      registry.report(error, { method: "(onSubscribe)", uri }, context.onError);
    }
  }
  return { lists, uris: [...uris.values()] };
}

function toWire({ lists, uris }: ChangeFilter): JsonObject {
  const wire: JsonObject = {};
  for (const kind of lists) wire[`${kind}ListChanged`] = true;
  if (uris.length > 0) wire.resourceSubscriptions = uris;
  return wire;
}

/** Returns the message that reports a change on a stream of `subscriptions/listen`. @param id The id of the listen request. */
function tagged(change: ChangeNotification, id: RequestId): JSONRPCNotification {
  const { method, params } = toNotification(change);
  return notification(method, { _meta: { [SUBSCRIPTION_ID]: id }, ...params });
}
