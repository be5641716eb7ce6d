/**
 * The methods of each version and side, and the names of their definitions.
 *
 * Written out rather than derived, so that the oracle also works without the specification's schemas; `methods.test.ts`
 * compares it with them if they are available.
 */

export type Side = "client" | "server";

export const LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
export const MODERN = ["2026-07-28"] as const;
export const VERSIONS: readonly string[] = [...LEGACY, ...MODERN];
export const NEWEST_LEGACY = "2025-11-25";
export const NEWEST = "2026-07-28";
/** The version that HTTP assumes for a request without version and session. */
export const ASSUMED_VERSION = "2025-03-26";

export function isModern(version: string): boolean {
  return MODERN.some((each) => each === version);
}

/** A method in one version, for one sender. */
export interface MethodRow {
  readonly method: string;
  /** Name of the definition of the request or notification. */
  readonly message: string;
  /** Name of the definition of the result; absent for notifications. */
  readonly result?: string;
  readonly from: readonly Side[];
  readonly versions: readonly string[];
  /** In modern versions the result may be an `InputRequiredResult` instead. */
  readonly mayAskInput?: true;
  /** Defined by the tasks extension, not by the version itself. */
  readonly extension?: true;
}

const CLIENT: readonly Side[] = ["client"];
const SERVER: readonly Side[] = ["server"];
const BOTH: readonly Side[] = ["client", "server"];
const TASKS_2025 = ["2025-11-25"];
const ELICITATION = ["2025-06-18", "2025-11-25"];

function request(method: string, stem: string, from: readonly Side[], versions: readonly string[], result = stem) {
  return { method, message: `${stem}Request`, result: `${result}Result`, from, versions };
}

function notification(method: string, stem: string, from: readonly Side[], versions: readonly string[]) {
  return { method, message: `${stem}Notification`, from, versions };
}

export const METHODS: readonly MethodRow[] = [
  request("initialize", "Initialize", CLIENT, LEGACY),
  request("ping", "Ping", BOTH, LEGACY, "Empty"),
  request("server/discover", "Discover", CLIENT, MODERN),
  request("tools/list", "ListTools", CLIENT, VERSIONS),
  { ...request("tools/call", "CallTool", CLIENT, VERSIONS), mayAskInput: true },
  request("prompts/list", "ListPrompts", CLIENT, VERSIONS),
  { ...request("prompts/get", "GetPrompt", CLIENT, VERSIONS), mayAskInput: true },
  request("resources/list", "ListResources", CLIENT, VERSIONS),
  request("resources/templates/list", "ListResourceTemplates", CLIENT, VERSIONS),
  { ...request("resources/read", "ReadResource", CLIENT, VERSIONS), mayAskInput: true },
  request("resources/subscribe", "Subscribe", CLIENT, LEGACY, "Empty"),
  request("resources/unsubscribe", "Unsubscribe", CLIENT, LEGACY, "Empty"),
  request("subscriptions/listen", "SubscriptionsListen", CLIENT, MODERN),
  request("completion/complete", "Complete", CLIENT, VERSIONS),
  request("logging/setLevel", "SetLevel", CLIENT, LEGACY, "Empty"),
  request("sampling/createMessage", "CreateMessage", SERVER, LEGACY),
  request("roots/list", "ListRoots", SERVER, LEGACY),
  request("elicitation/create", "Elicit", SERVER, ELICITATION),
  request("tasks/get", "GetTask", BOTH, TASKS_2025),
  request("tasks/result", "GetTaskPayload", BOTH, TASKS_2025),
  request("tasks/cancel", "CancelTask", BOTH, TASKS_2025),
  request("tasks/list", "ListTasks", BOTH, TASKS_2025),
  { ...request("tasks/get", "GetTask", CLIENT, MODERN), extension: true },
  { ...request("tasks/update", "UpdateTask", CLIENT, MODERN), extension: true },
  { ...request("tasks/cancel", "CancelTask", CLIENT, MODERN), extension: true },

  notification("notifications/initialized", "Initialized", CLIENT, LEGACY),
  notification("notifications/roots/list_changed", "RootsListChanged", CLIENT, LEGACY),
  notification("notifications/cancelled", "Cancelled", BOTH, VERSIONS),
  notification("notifications/progress", "Progress", BOTH, LEGACY),
  notification("notifications/progress", "Progress", SERVER, MODERN),
  notification("notifications/message", "LoggingMessage", SERVER, VERSIONS),
  notification("notifications/tools/list_changed", "ToolListChanged", SERVER, VERSIONS),
  notification("notifications/prompts/list_changed", "PromptListChanged", SERVER, VERSIONS),
  notification("notifications/resources/list_changed", "ResourceListChanged", SERVER, VERSIONS),
  notification("notifications/resources/updated", "ResourceUpdated", SERVER, VERSIONS),
  notification("notifications/elicitation/complete", "ElicitationComplete", SERVER, TASKS_2025),
  notification("notifications/tasks/status", "TaskStatus", BOTH, TASKS_2025),
  notification("notifications/subscriptions/acknowledged", "SubscriptionsAcknowledged", SERVER, MODERN),
  { ...notification("notifications/tasks", "TaskStatus", SERVER, MODERN), extension: true },
];

/** Returns the row of a method as one side sends it in one version. */
export function findMethod(method: string, from: Side, version: string): MethodRow | undefined {
  return METHODS.find((row) => row.method === method && row.from.includes(from) && row.versions.includes(version));
}

/** Whether any version defines this method. */
export function isSpecMethod(method: string): boolean {
  return METHODS.some((row) => row.method === method);
}
