/**
 * Problems in the configuration of an endpoint. All of them are reported together: once in the log, and in the answer
 * to each request.
 *
 * @module
 */

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
  /** No migration creates the class. */
  | "migration-missing"
  /** A binding is missing, or has the wrong type. */
  | "binding-wrong"
  /** The class is not the one that `edge()` created. */
  | "class-wrong"
  /** There are no sealing keys. */
  | "keys-missing"
  /** The compatibility date is too old for Durable Objects. */
  | "date-too-old"
  /** A compatibility flag is missing. */
  | "flag-missing";

/** A problem, as a line of text that says what to write. */
export type Problem = `[${ProblemCode}] ${string}`;

/** Finds missing features of the platform: RPC, which objects need, and request signals, which report disconnects. */
export function findFlagProblems(needsObjects: boolean): Problem[] {
  const { Cloudflare } = globalThis as { Cloudflare?: { compatibilityFlags?: Record<string, boolean> } };
  const { rpc, enable_request_signal } = Cloudflare?.compatibilityFlags ?? {};
  const problems: Problem[] = [];
  if (needsObjects && rpc === false)
    problems.push(
      `[date-too-old] Durable Objects need a compatibility date from 2024-04-03 on. In wrangler.toml write: compatibility_date = "2026-10-20"`,
    );
  if (enable_request_signal === false)
    problems.push(
      `[flag-missing] Without the flag, ctx.signal does not abort when a client disconnects. In wrangler.toml write: compatibility_flags = ["enable_request_signal"]`,
    );
  return problems;
}

/** The line before the list of problems. */
export const CONFIGURED_WRONGLY = "This server is not configured correctly.";

/** Returns the answer to every request while there are problems, with one line for each. */
export function misconfigured(problems: readonly Problem[]): Response {
  const message = `${CONFIGURED_WRONGLY}\n${problems.join("\n")}`;
  return Response.json(
    { jsonrpc: "2.0", error: { code: -32603, message, data: { reason: "misconfigured", problems } } },
    { status: 500 },
  );
}
