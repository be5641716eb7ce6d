/**
 * Custom methods and notifications.
 *
 * @module
 */
import type { ClientFacts, Principal } from "../protocol/client-facts.ts";
import { KitError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { isStandard } from "../protocol/methods.ts";
import type { VersionRules } from "../protocol/versions.ts";
import type { ContextOf, HandlerContext } from "./handler-context.ts";
import { isInputRequired } from "./input-required.ts";

/** Serves a custom method. Modern results are objects, so any other JSON value becomes `{ value }`. */
export type CustomHandler<Env> = (params: JsonObject, ctx: HandlerContext<Env>) => unknown;

/**
 * The second argument of a notification handler. It cannot respond or ask the client, because no client waits for a
 * notification.
 */
export interface NotificationContext<Env = unknown> {
  /** The bindings of the Worker; on stdio, the `env` given to `serveStdio`. */
  readonly env: Env;
  /** The value of the server's option `context` for this notification. */
  readonly context: ContextOf<Env>;
  /** The principal that the notification acts for; undefined if it is anonymous. */
  readonly auth: Principal | undefined;
  /**
   * The client that sent the notification, as far as it is known. A modern notification may lack a description of its
   * client.
   */
  readonly client: ClientFacts;
  /** The notification's `_meta`, including unknown keys. */
  readonly meta: JsonObject;
  /** Aborts after `limits.handlerTimeoutMs`. */
  readonly signal: AbortSignal;
}

/** Handles a custom notification. Exceptions go to `onError`. */
export type CustomNotificationHandler<Env = unknown> = (
  params: JsonObject,
  ctx: NotificationContext<Env>,
) => void | Promise<void>;

/**
 * Checks a custom method.
 *
 * @throws {KitError} `method-defined` if the protocol defines the name or it is taken; `definition-invalid`.
 */
export function checkCustom(name: string, handler: unknown, taken: ReadonlyMap<string, unknown>): void {
  if (typeof name !== "string" || name === "")
    throw new KitError("definition-invalid", "A custom method needs a name.");
  if (typeof handler !== "function")
    throw new KitError("definition-invalid", `Custom method "${name}" has no handler function.`);
  if (isStandard(name))
    throw new KitError(
      "method-defined",
      `"${name}" is a name of the protocol; choose another, such as "example.com/${name}".`,
    );
  if (taken.has(name)) throw new KitError("method-defined", `Method "${name}" is already defined.`);
}

/** Returns the result of a custom method in the form of the version. */
export function toCustomResult(value: unknown, rules: VersionRules): JsonObject {
  if (isInputRequired(value)) {
    throw new KitError("result-invalid", "A custom method must not return inputRequired().");
  }
  if (isObject(value)) return value;
  if (typeof value === "function" || typeof value === "symbol")
    throw new KitError("result-invalid", `A custom method returned a ${typeof value}, which is not JSON.`);
  // Legacy clients accept any JSON value. The cast is needed because all other results are objects.
  if (!rules.resultEnvelope) return (value ?? {}) as JsonObject;
  return { value: value ?? null };
}
