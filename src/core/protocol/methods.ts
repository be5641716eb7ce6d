/**
 * The table of methods: one row for each request and notification of the protocol and its tasks extension, with
 * everything that other code asks about a method. A method without a row is not served, except as a custom method that
 * an author has defined.
 *
 * The kind of a message is the part of the table that its row is in.
 *
 * @module
 */

import type { JsonObject } from "./jsonrpc.ts";

/**
 * What a request can name. A `reference` is a prompt, a resource or a resource template. A `subscription` is named by the URI
 * of its resource, but it is a separate kind, so that a caller that may no longer read the resource can still end the
 * subscription.
 */
export type TargetKind = "tool" | "prompt" | "resource" | "reference" | "subscription" | "task";

/** The definitions whose handlers a request can run. A handler may ask the client, and report progress. */
export type RunKind = "tool" | "prompt" | "resource";

/** The members of results that hold the entries of lists. */
export type ListMember = "tools" | "prompts" | "resources" | "resourceTemplates" | "tasks";

/** The facts about a request of a client. `lacks` in the table of versions names the requests that a version does not have. */
export interface RequestRow {
  /** The capability that a server declares if it serves the method, as a path. Absent if none is needed. */
  readonly capability?: string;
  /** The kind of definition whose handler the request runs. The params name the definition. */
  readonly runs?: RunKind;
  /** The kind of thing that the params name, and their member that names it. Authorization and rates depend on it. */
  readonly names?: readonly [kind: TargetKind, member: string];
  /** The member of the result that holds the entries of a list. */
  readonly list?: ListMember;
  /** Whether the result has a cache hint in the modern era. */
  readonly isCacheable?: true;
}

/** The requests that clients send. */
export const CLIENT_REQUESTS = {
  initialize: {},
  ping: {},
  "server/discover": { isCacheable: true },
  "tools/list": { capability: "tools", list: "tools", isCacheable: true },
  "tools/call": { capability: "tools", runs: "tool", names: ["tool", "name"] },
  "prompts/list": { capability: "prompts", list: "prompts", isCacheable: true },
  "prompts/get": { capability: "prompts", runs: "prompt", names: ["prompt", "name"] },
  "resources/list": { capability: "resources", list: "resources", isCacheable: true },
  "resources/templates/list": {
    capability: "resources",
    list: "resourceTemplates",
    isCacheable: true,
  },
  "resources/read": {
    capability: "resources",
    runs: "resource",
    names: ["resource", "uri"],
    isCacheable: true,
  },
  "resources/subscribe": {
    capability: "resources.subscribe",
    names: ["resource", "uri"],
  },
  "resources/unsubscribe": {
    capability: "resources.subscribe",
    names: ["subscription", "uri"],
  },
  "subscriptions/listen": { names: ["resource", "notifications"] },
  "completion/complete": { capability: "completions", names: ["reference", "ref"] },
  "logging/setLevel": { capability: "logging" },
  "tasks/get": { names: ["task", "taskId"] },
  "tasks/result": { names: ["task", "taskId"] },
  "tasks/cancel": { names: ["task", "taskId"] },
  "tasks/list": { list: "tasks" },
  "tasks/update": { names: ["task", "taskId"] },
} as const satisfies Readonly<Record<string, RequestRow>>;

/** The requests that servers send, except `ping`, which both sides send. In the modern era they are entries of `inputRequests`. */
export const SERVER_REQUESTS: readonly string[] = ["sampling/createMessage", "roots/list", "elicitation/create"];

/** The notifications of both sides, in either era. */
export const NOTIFICATIONS: readonly string[] = [
  "notifications/initialized",
  "notifications/cancelled",
  "notifications/progress",
  "notifications/message",
  "notifications/roots/list_changed",
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
  "notifications/elicitation/complete",
  "notifications/subscriptions/acknowledged",
  "notifications/tasks",
  "notifications/tasks/status",
];

type Requests = typeof CLIENT_REQUESTS;

/** The name of a request of a client. */
export type RequestName = keyof Requests;

/** The names of the requests of a client whose rows have these members. */
export type RequestsWith<Members> = {
  [Name in RequestName]: Requests[Name] extends Members ? Name : never;
}[RequestName];

/** Returns the row of a client's request; undefined for a method that the protocol does not define. */
export function findRequest(method: string): RequestRow | undefined {
  return Object.hasOwn(CLIENT_REQUESTS, method) ? CLIENT_REQUESTS[method as RequestName] : undefined;
}

/** Not in the table, because only clients need it. */
const WITH_EFFECTS: readonly string[] = [
  "initialize",
  "tools/call",
  "subscriptions/listen",
  "tasks/cancel",
  "tasks/update",
] satisfies readonly RequestName[];

/** Whether a request of the protocol has additional effects if it is sent again. For `tools/call`, this depends on the tool. */
export function hasEffects(method: string): boolean {
  return WITH_EFFECTS.includes(method);
}

/** Whether the protocol, or its tasks extension, defines a method or a notification. */
export function isStandard(method: string): boolean {
  return NOTIFICATIONS.includes(method) || SERVER_REQUESTS.includes(method) || Object.hasOwn(CLIENT_REQUESTS, method);
}

/** The part of a request that says what it does. */
export interface MethodAndParams {
  readonly method: string;
  readonly params?: JsonObject | undefined;
}

/**
 * Returns the name of the tool or prompt, or the URI of the resource, whose handler a request runs; undefined if none.
 */
export function nameOfDefinition({ method, params }: MethodAndParams): string | undefined {
  const { runs, names } = findRequest(method) ?? {};
  const name = runs && names && params?.[names[1]];
  return typeof name === "string" ? name : undefined;
}

/** Returns the name of the tool that a request calls; undefined if it calls none. */
export function calledTool(request: MethodAndParams): string | undefined {
  return findRequest(request.method)?.runs === "tool" ? nameOfDefinition(request) : undefined;
}
