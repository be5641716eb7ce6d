/**
 * The methods of the protocol. A method that is not listed here cannot be served, except as a custom method, and each one that
 * is listed has a row in `targets.ts`.
 *
 * @module
 */

const NAMES =
  "initialize ping server/discover tools/list tools/call prompts/list prompts/get resources/list resources/templates/list resources/read resources/subscribe resources/unsubscribe subscriptions/listen completion/complete logging/setLevel sampling/createMessage roots/list elicitation/create tasks/get tasks/result tasks/cancel tasks/list tasks/update";

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;

/** The name of a method of the protocol, or of its tasks extension. */
export type MethodName = Words<typeof NAMES>;

/** Whether the protocol, or its tasks extension, defines a method. */
export function isMethodName(method: string): method is MethodName {
  return NAMES.split(" ").includes(method);
}

/** The methods that run a handler of the author, which may ask: what they call, and the member of the params with its name. */
const CALLS = {
  "tools/call": ["tool", "name"],
  "prompts/get": ["prompt", "name"],
  "resources/read": ["resource", "uri"],
} as const satisfies Partial<Record<MethodName, readonly [string, string]>>;

/** Returns what a method calls, and the member of its params with the name. Empty if it runs no handler that may ask. */
export function toCall(method: string): readonly [kind?: string, member?: string] {
  return Object.hasOwn(CALLS, method) ? CALLS[method as keyof typeof CALLS] : [];
}
