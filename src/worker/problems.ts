/**
 * What is wrong with the configuration of an endpoint. It is collected, and told all at once to whoever sends the first
 * request, in the log and in the answer.
 *
 * @module
 */

/** Identifies what is wrong, in the log and in answers. */
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
  /** A binding is missing, or is not bound to what it must be. */
  | "binding-wrong"
  /** The class is not the one that `edge()` made. */
  | "class-wrong"
  /** The compatibility date is too old for Durable Objects. */
  | "date-too-old"
  /** A compatibility flag is missing. */
  | "flag-missing";

/** One thing that is wrong, as a line of text that says what to write. */
export type Problem = `[${ProblemCode}] ${string}`;

/** What the platform lacks: Durable Objects are called by RPC, and handlers hear of clients that leave. */
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
      `[flag-missing] Without it handlers do not hear of clients that leave. In wrangler.toml write: compatibility_flags = ["enable_request_signal"]`,
    );
  return problems;
}

/** What precedes the lines of what is wrong. */
export const CONFIGURED_WRONGLY = "This server is not configured correctly.";

/** The answer to every request while something is wrong: one line for each problem. */
export function misconfigured(problems: readonly Problem[]): Response {
  const message = `${CONFIGURED_WRONGLY}\n${problems.join("\n")}`;
  return Response.json(
    { jsonrpc: "2.0", error: { code: -32603, message, data: { reason: "misconfigured", problems } } },
    { status: 500 },
  );
}
