/**
 * Delivers notifications to clients: by `subscriptions/listen` in the modern era; in the legacy era list changes to every client
 * and updates of the resources it subscribed to.
 *
 * These methods are not in the standard tables. A transport adds them if notifications can reach its clients.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/subscriptions; MCP 2025-11-25, server/resources, "Subscriptions"
 */

import type { Registry } from "../define/registry.ts";
import { resourceNotFound } from "../define/resource.ts";
import type { SubscriptionPlace } from "../define/server-options.ts";
import {
  type ChangeBus,
  type ChangeFilter,
  type ChangeNotification,
  type ChangeSource,
  compileFilter,
  computeSize,
  type ListKind,
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
import { uriKey } from "../protocol/uri.ts";
import type { Method, RequestContext } from "../run/request-context.ts";
import { suspend } from "../run/suspend.ts";
import { findReader, requireReader } from "./find-resource.ts";

const LIST_CHANGED: Readonly<Record<ListKind, string>> = {
  tools: "notifications/tools/list_changed",
  prompts: "notifications/prompts/list_changed",
  resources: "notifications/resources/list_changed",
};

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
 * Returns a notification in the form for legacy clients. The caller must remember elicitation ids only for versions that have
 * this notification.
 */
export function legacyNotification(change: ChangeNotification): JSONRPCNotification {
  switch (change.kind) {
    case "resource":
      return notification("notifications/resources/updated", { uri: change.uri });
    case "elicitation":
      return notification("notifications/elicitation/complete", { elicitationId: change.id });
    case "log":
      return logNotification(change.level, change.data, change.logger);
    default:
      // The filter of a legacy client never names tasks.
      return notification(LIST_CHANGED[change.kind as ListKind]);
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
export function subscribeMethods(store: SubscriptionStore): Readonly<Record<string, Method>> {
  const isOffered = ({ registry }: RequestContext) => registry.offers("resources");
  return {
    "resources/subscribe": { isOffered, serve: (call) => subscribe(call, store) },
    "resources/unsubscribe": {
      isOffered,
      serve: (call) => unsubscribe(call, store),
    },
  };
}

async function subscribe(call: RequestContext, store: SubscriptionStore): Promise<JsonObject> {
  const given = readUri(call.request);
  const { uri } = requireReader(call.registry, given, call.client.rules);
  const isStored = () => store.read().some((kept) => uriKey(kept) === uriKey(uri));
  if (isStored()) return {};
  withRoomFor(uri, store, call.limits);
  if (!(await isAdmitted(uri, call))) throw resourceNotFound(given, call.client.rules);
  // Another request may have stored the subscription meanwhile.
  if (isStored()) return {};
  try {
    await store.keep(withRoomFor(uri, store, call.limits));
  } catch (error) {
    const { onUnsubscribe } = call.registry.options;
    await onUnsubscribe?.(uri, toPlace(call));
    throw error;
  }
  return {};
}

/** Returns the stored URIs and one more. @throws {McpError} -32602 beyond the limits. */
function withRoomFor(uri: string, store: SubscriptionStore, limits: Limits): string[] {
  const uris = [...store.read(), uri];
  checkUris(uris, uris.join("").length, "resources/subscribe", limits);
  return uris;
}

async function unsubscribe(call: RequestContext, store: SubscriptionStore): Promise<JsonObject> {
  const key = uriKey(readUri(call.request));
  const uri = store.read().find((kept) => uriKey(kept) === key);
  if (uri === undefined) return {};
  await store.keep(store.read().filter((kept) => kept !== uri));
  await call.registry.options.onUnsubscribe?.(uri, toPlace(call));
  return {};
}

function readUri(request: JSONRPCRequest): string {
  const uri = request.params?.uri;
  if (typeof uri !== "string") throw invalidParams(`${request.method}: params.uri is not a string.`, { field: "uri" });
  return uri;
}

/** Calls `onSubscribe`. @throws the exception of the hook; {KitError} `options-invalid` if it returned another value. */
async function isAdmitted(uri: string, call: RequestContext): Promise<boolean> {
  const answer: unknown = await call.registry.options.onSubscribe?.(uri, toPlace(call));
  if (answer === undefined || typeof answer === "boolean") return answer !== false;
  throw new KitError(
    "options-invalid",
    `onSubscribe returned ${describeType(answer)}; return true or false, or nothing.`,
  );
}

/** Checks the number and size of URIs. @throws {McpError} -32602 naming the limits. */
function checkUris(uris: readonly string[], chars: number, method: string, limits: Limits): void {
  const { subscriptionUrisMax: urisMax, subscriptionCharsMax: charsMax } = limits;
  if (uris.length <= urisMax && chars <= charsMax) return;
  throw invalidParams(
    `${method}: ${uris.length} resources in ${chars} characters are too many; subscribe to at most ${urisMax} in ${charsMax} characters.`,
    { field: "uri" },
  );
}

function toPlace({ env, principal, client, ending }: RequestContext): SubscriptionPlace<unknown> {
  return { env, principal, client, signal: ending.signal };
}

/** Calls `onUnsubscribe` for the resources of a client whose subscriptions have ended. Failures go to `onError`. */
export async function releaseUris(
  registry: Registry,
  uris: readonly string[],
  given: Omit<SubscriptionPlace<unknown>, "signal">,
  onError: RequestContext["onError"],
): Promise<void> {
  // The hooks run because the client's request has ended, so its signal must not stop them. Nothing aborts this one.
  const place = { ...given, signal: new AbortController().signal };
  for (const uri of uris) {
    try {
      await registry.options.onUnsubscribe?.(uri, place);
    } catch (error) {
      registry.report(error, { correlationId: crypto.randomUUID(), method: "(onUnsubscribe)", uri }, onError);
    }
  }
}

/** Returns `subscriptions/listen` for a source of notifications. */
export function listenMethods(source: ChangeSource): Readonly<Record<string, Method>> {
  return {
    "subscriptions/listen": { serve: (call) => listen(call, source) },
  };
}

/** Serves a listen request until the client cancels it or the source ends. */
async function listen(call: RequestContext, source: ChangeSource): Promise<JsonObject> {
  const filter = await honour(readFilter(call.request, call.limits), call);
  const size = computeSize(call.request, filter.uris);
  // The stream keeps the request while it is open, and the request may name much more than the granted filter.
  if (call.request.params) call.request.params.notifications = undefined;
  try {
    await deliver(filter, size, call.request.id, call, source);
  } finally {
    await releaseUris(call.registry, filter.uris, toPlace(call), call.onError);
  }
  return { _meta: { [SUBSCRIPTION_ID]: call.request.id } };
}

async function deliver(
  filter: ChangeFilter,
  size: number,
  id: RequestId,
  call: RequestContext,
  source: ChangeSource,
): Promise<void> {
  const _meta = { [SUBSCRIPTION_ID]: id };
  // The acknowledgement must be sent first, but notifications may arrive while the source opens.
  let tell: (notification: ChangeNotification) => void = (notification) => early.push(notification);
  const early: ChangeNotification[] = [];
  const claim = { principal: call.principal, size };
  const tap = await source.open({ ...filter, tasks: call.tasks?.ids }, (notification) => tell(notification), claim);
  if (call.ending.signal.aborted) {
    tap.stop();
    return;
  }
  call.emit(notification("notifications/subscriptions/acknowledged", { _meta, notifications: shown(filter) }));
  tell = (notification) =>
    notification.kind === "task" ? call.tasks?.tell(notification.id) : call.emit(tagged(notification, id));
  early.forEach(tell);
  await new Promise<void>((resolve) => {
    void tap.ended.then(resolve);
    call.ending.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  tap.stop();
}

/** Reads the requested filter. The stream keeps the whole request, so all of it counts towards the limit. */
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
  const lists = (["tools", "prompts", "resources"] as const).filter((kind) => asked[`${kind}ListChanged`] === true);
  return { lists, uris: [...new Set<string>(uris)] };
}

/**
 * Returns the part of a filter that is honoured. Left out are lists the server does not have, and resources that do not
 * exist, are hidden from the caller, or are refused by a hook.
 */
async function honour(asked: ChangeFilter, call: RequestContext): Promise<ChangeFilter> {
  const has = {
    tools: call.registry.offers("tools"),
    prompts: call.registry.offers("prompts"),
    resources: call.registry.offers("resources"),
  };
  const uris = new Map<string, string>();
  for (const given of has.resources ? asked.uris : []) {
    const uri = findReader(call.registry, given)?.uri;
    if (uri === undefined || uris.has(uriKey(uri))) continue;
    try {
      if (await isAdmitted(uri, call)) uris.set(uriKey(uri), uri);
    } catch (error) {
      if (McpError.is(error) || isReasonOf(call.ending.signal, error)) continue;
      call.registry.report(error, { correlationId: crypto.randomUUID(), method: "(onSubscribe)", uri }, call.onError);
    }
  }
  return { lists: asked.lists.filter((kind) => has[kind]), uris: [...uris.values()] };
}

function shown({ lists, uris }: ChangeFilter): JsonObject {
  const wire: JsonObject = {};
  for (const kind of lists) wire[`${kind}ListChanged`] = true;
  if (uris.length > 0) wire.resourceSubscriptions = uris;
  return wire;
}

function tagged(change: ChangeNotification, id: RequestId): JSONRPCNotification {
  const _meta = { [SUBSCRIPTION_ID]: id };
  if (change.kind === "resource") return notification("notifications/resources/updated", { _meta, uri: change.uri });
  return notification(LIST_CHANGED[change.kind as ListKind], { _meta });
}
