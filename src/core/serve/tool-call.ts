/**
 * Serves `tools/call`: finds the tool, checks the arguments, runs the handler and checks its result.
 *
 * @module
 * @see MCP 2026-07-28, server/tools, "Calling Tools"
 */

import { explainQuestion, needsCapabilities, QuestionError } from "../ask/question-errors.ts";
import { quote } from "../basics/quote.ts";
import type { CompiledTool } from "../define/tool.ts";
import { capabilityObject } from "../protocol/client-capabilities.ts";
import { errorText } from "../protocol/content.ts";
import { invalidParams, isReasonOf, KitError, McpError, ToolError } from "../protocol/errors.ts";
import { ErrorCode, isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { describeSubject } from "../protocol/request-description.ts";
import { describeIssues } from "../protocol/schema.ts";
import type { RequestContext } from "../run/request-context.ts";
import type { Round } from "../run/round.ts";
import { runRounds } from "../run/run-rounds.ts";
import { toErrorResult, toToolResult } from "./result.ts";
import { withTimedContext } from "./with-context.ts";

/** Serves one `tools/call`. Failures of the tool are results with `isError`; only failures of the request throw. */
export async function callTool(call: RequestContext): Promise<JsonObject> {
  const { tool, args } = readCall(call);
  requireCapabilities(tool, call);
  let value: unknown;
  try {
    if (tool.options.once && !call.once) {
      throw new KitError(
        "options-invalid",
        `Tool "${tool.name}" has once: true, which needs edge(server, { use: [once()] }), with once from "mcp-edge/worker/once".`,
      );
    }
    // If the endpoint has tasks, modern clients without them have already been refused.
    if (tool.options.task === "required" && !call.rounds) return errorText(`Tool "${tool.name}" runs only as a task.`);
    // Inside the try block, because a validator may run code of the author and fail like a handler.
    const checked = tool.input ? await tool.input.validate(args) : { value: {} };
    if (checked.issues) {
      return errorText(`Invalid arguments for tool "${tool.name}": ${describeIssues(checked.issues, "arguments")}`);
    }
    value = checked.value;
  } catch (error) {
    if (McpError.is(error)) throw error;
    return toFailure(error, tool, call);
  }
  const run = () => runTool(tool, value, call);
  // Only now, because a call that is refused is not remembered.
  return call.once ? call.once(call, run) : run();
}

async function runTool(tool: CompiledTool, args: unknown, call: RequestContext): Promise<JsonObject> {
  try {
    const outcome = await runRounds(call, (round) => runHandler(tool, args, call, round));
    return "asked" in outcome ? outcome.asked : await toToolResult(tool, outcome.returned, call.client.rules);
  } catch (error) {
    if (McpError.is(error)) throw error;
    return toFailure(error, tool, call);
  }
}

/**
 * Returns the result of a failure: the author's own for a ToolError, and otherwise one with the kind of failure and a correlation id,
 * with which `onError` gets the exception. A ToolError with invalid content is treated like any other exception.
 */
function toFailure(error: unknown, tool: CompiledTool, call: RequestContext): JsonObject {
  let failure = error;
  try {
    if (ToolError.is(error)) return toErrorResult(error, call.client.rules);
  } catch (misfit) {
    failure = misfit;
  }
  const correlationId = crypto.randomUUID();
  // A cancelled call is not a failure, and its result is not sent.
  if (!isReasonOf(call.ending.signal, failure)) {
    call.registry.report(failure, { correlationId, ...describeSubject(call.request) }, call.onError);
  }
  return errorText(`${describeFailure(`Tool "${tool.name}"`, failure)} Reference: ${correlationId}`);
}

/** Reads the call. A malformed one is an error of the request (-32602), not a result of the tool. */
function readCall({ registry, request }: RequestContext): { tool: CompiledTool; args: JsonObject } {
  const { name, arguments: args = {} } = request.params ?? {};
  if (typeof name !== "string") throw invalidParams("tools/call: params.name is not a string.", { field: "name" });
  if (!isObject(args)) throw invalidParams("tools/call: params.arguments is not an object.", { field: "arguments" });
  const tool = registry.tools.find(name);
  if (!tool) throw invalidParams(`Unknown tool: ${quote(name)}`);
  return { tool, args };
}

/**
 * Refuses a client that lacks a required capability. The legacy era has no error for this; its handlers get a
 * QuestionError when they ask.
 */
function requireCapabilities(tool: CompiledTool, call: RequestContext): void {
  const missing = (tool.options.requires ?? []).filter((name) => !call.client.can(name));
  if (missing.length === 0 || call.client.era === "legacy") return;
  throw new McpError(ErrorCode.MissingRequiredClientCapability, needsCapabilities(`Tool "${tool.name}"`, missing), {
    requiredCapabilities: capabilityObject(missing),
  });
}

/** Runs the handler within its timeout. Its context is then closed, because nothing may follow the result. */
function runHandler(tool: CompiledTool, args: unknown, call: RequestContext, round: Round): Promise<unknown> {
  const timeoutMs = tool.options.timeoutMs ?? call.limits.toolTimeoutMs;
  const what = `Tool "${tool.name}"`;
  return withTimedContext(what, timeoutMs, call, round, (ctx) => tool.handler(args, ctx));
}

function describeFailure(what: string, error: unknown): string {
  if (error instanceof QuestionError) return explainQuestion(what, error);
  switch (KitError.is(error) ? error.code : undefined) {
    case "output-misfit":
    case "result-invalid":
      return `${what} produced a result that does not fit its declaration.`;
    case "timeout":
      return `${what} did not finish in time.`;
    default:
      return `${what} failed.`;
  }
}
