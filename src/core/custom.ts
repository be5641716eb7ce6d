/**
 * Methods and notifications of the author's own.
 *
 * @module
 */
import type { HandlerContext } from "./context.ts";
import { KitError } from "./errors.ts";
import { isObject, type JsonObject } from "./jsonrpc.ts";
import { isInputRequired } from "./rounds.ts";
import type { VersionRules } from "./versions.ts";

/** Serves a method of the author's own. In the modern era results are objects: any other JSON value becomes `{ value }`. */
export type CustomHandler<Env> = (params: JsonObject, ctx: HandlerContext<Env>) => unknown;

/** Hears of a notification of the author's own. */
export type CustomNotificationHandler = (params: JsonObject) => void | Promise<void>;

/** Names the protocol uses, in any version or official extension. A custom one would change what they mean. */
const PROTOCOL = [
  /^(initialize|ping)$/,
  /^(server|tools|prompts|resources|completion|logging|sampling|elicitation|roots|subscriptions|tasks|skills|notifications|rpc)[/.]/,
];

/** @throws {KitError} `method-defined` when the name is the protocol's, or taken; `definition-invalid`. */
export function checkCustom(name: string, handler: unknown, taken: ReadonlyMap<string, unknown>): void {
  if (typeof name !== "string" || name === "")
    throw new KitError("definition-invalid", "A custom method needs a name.");
  if (typeof handler !== "function")
    throw new KitError("definition-invalid", `Custom method "${name}" has no handler function.`);
  const isOurs = /^notifications\//.test(name)
    ? isProtocolNotification(name)
    : PROTOCOL.some((pattern) => pattern.test(name));
  if (isOurs)
    throw new KitError(
      "method-defined",
      `"${name}" is a name of the protocol. Choose another, such as "example.com/${name}".`,
    );
  if (taken.has(name)) throw new KitError("method-defined", `Method "${name}" is already defined.`);
}

function isProtocolNotification(name: string): boolean {
  return /^notifications\/(initialized|cancelled|progress|message|(tools|prompts|resources|roots)\/|elicitation\/|subscriptions\/|tasks)/.test(
    name,
  );
}

/** The result of a custom method, as the version has results. */
export function toCustomResult(value: unknown, rules: VersionRules): JsonObject {
  if (isInputRequired(value)) {
    throw new KitError(
      "result-invalid",
      "A method of your own cannot return inputRequired(); tools, prompts and resources can.",
    );
  }
  if (isObject(value)) return value;
  if (typeof value === "function" || typeof value === "symbol")
    throw new KitError("result-invalid", `A custom method returned a ${typeof value}, which is no JSON.`);
  // Legacy clients take any JSON value; the type says objects because everything else is.
  if (!rules.resultEnvelope) return (value ?? {}) as JsonObject;
  return { value: value ?? null };
}
