/**
 * Problems in the configuration of an endpoint. They are reported together: once in the log, and in the response to each
 * request for a loopback host.
 *
 * @module
 */
import { isLoopback, splitUrl } from "../http/origin.ts";
import { type Refused, refuse } from "../http/refusal.ts";

/** Identifies a problem in the log and in responses. */
export type ProblemCode =
  /** An option of `edge()` does not exist. */
  | "option-unknown"
  /** An option has an invalid value. */
  | "option-invalid"
  /** Two endpoints of the Worker use the same class or the same Workflow binding. */
  | "name-taken"
  /** The Worker does not export the class. */
  | "export-missing"
  /** The Wrangler configuration does not create the class. */
  | "migration-missing"
  /** A binding is missing or has the wrong type. */
  | "binding-wrong"
  /** The class was not created by `edge()`. */
  | "class-wrong"
  /** There are no sealing keys. */
  | "keys-missing"
  /** The compatibility date is too old for Durable Objects. */
  | "date-too-old";

/** A problem: one line with its code, its cause, and what to write instead. */
export type Problem = `[${ProblemCode}] ${string}`;

/** Returns whether a compatibility flag of the Worker is not set. Returns false if the platform does not report its flags. */
export function lacksFlag(name: string): boolean {
  const platform = globalThis as { Cloudflare?: { compatibilityFlags?: Record<string, boolean> } };
  return platform.Cloudflare?.compatibilityFlags?.[name] === false;
}

/** Warns if request signals, which report disconnects, are not enabled. The endpoint works without them. */
export function warnOfMissingFlag(): void {
  if (lacksFlag("enable_request_signal"))
    console.warn(
      "mcp-edge: [flag-missing] ctx.signal aborts late, because the compatibility flag enable_request_signal is not set.",
    );
}

/**
 * Returns the refusal of requests while there are problems. Only refusals for a loopback host list the problems, because
 * they name classes and bindings of the Worker.
 *
 * @param isNew Whether to log the problems.
 */
export function misconfigured(problems: readonly Problem[], { url }: Request, isNew: boolean): Refused {
  const wrong = "This server is not configured correctly.";
  const all = `${wrong}\n${problems.join("\n")}`;
  if (isNew) console.error(`mcp-edge: ${all}`);
  const [message, shown] = isLoopback(splitUrl(url).hostname) ? [all, problems] : [`${wrong} See its log.`];
  const reason = "misconfigured";
  const data = { reason, problems: shown };
  return refuse({ reason, form: { status: 500, code: -32603, message, data } });
}
