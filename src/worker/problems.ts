/**
 * Problems in the configuration of an endpoint. All of them are reported together: once in the log, and in the answer
 * to each request for a loopback host.
 *
 * @module
 */
import { isLoopback, splitUrl } from "../http/origin.ts";

/** Identifies a problem in the log and in answers. */
export type ProblemCode =
  /** `edge()` got an option that does not exist. */
  | "option-unknown"
  /** An option has a value that it does not take. */
  | "option-invalid"
  /** Two endpoints of the Worker have the same class, or the same Workflow binding. */
  | "name-taken"
  /** The Worker does not export the class. */
  | "export-missing"
  /** The configuration does not create the class. */
  | "migration-missing"
  /** A binding is missing, or has the wrong type. */
  | "binding-wrong"
  /** The class is not the one that `edge()` created. */
  | "class-wrong"
  /** There are no sealing keys. */
  | "keys-missing"
  /** The compatibility date is too old for Durable Objects. */
  | "date-too-old";

/** A problem, as a line of text that says what to write. */
export type Problem = `[${ProblemCode}] ${string}`;

/** Returns whether a compatibility flag of the Worker is not set. False on a platform that does not report its flags. */
export function lacksFlag(name: string): boolean {
  const platform = globalThis as { Cloudflare?: { compatibilityFlags?: Record<string, boolean> } };
  return platform.Cloudflare?.compatibilityFlags?.[name] === false;
}

/** Logs a missing flag. Without request signals, which report disconnects, an endpoint works. */
export function warnOfMissingFlag(): void {
  if (lacksFlag("enable_request_signal"))
    console.warn(
      "mcp-edge: [flag-missing] ctx.signal aborts late, because the compatibility flag enable_request_signal is not set.",
    );
}

/**
 * Returns the answer to every request while there are problems. Only a loopback host gets one line for each, since they
 * name classes and bindings of the Worker.
 *
 * @param isNew Whether the problems are logged.
 */
export function misconfigured(problems: readonly Problem[], { url }: Request, isNew: boolean): Response {
  const wrong = "This server is not configured correctly.";
  const all = `${wrong}\n${problems.join("\n")}`;
  if (isNew) console.error(`mcp-edge: ${all}`);
  const [message, shown] = isLoopback(splitUrl(url).hostname) ? [all, problems] : [`${wrong} See its log.`];
  const data = { reason: "misconfigured", problems: shown };
  return Response.json({ jsonrpc: "2.0", error: { code: -32603, message, data } }, { status: 500 });
}
