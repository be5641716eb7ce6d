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
import * as ErrorCode from "../protocol/error-codes.ts";
import { invalidParams, isReasonOf, KitError, McpError, ToolError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { describeSubject } from "../protocol/request-description.ts";
import { describeIssues } from "../protocol/schema.ts";
import { readTarget } from "../protocol/targets.ts";
import type { RequestContext } from "../run/request-context.ts";
import type { Round } from "../run/round.ts";
import { runRounds } from "../run/run-rounds.ts";
import { toErrorResult, toToolResult } from "./result.ts";
import { withTimedContext } from "./with-context.ts";

/** Serves one `tools/call`. Failures of the tool are results with `isError`; only failures of the request throw. */
export async function callTool(context: RequestContext): Promise<JsonObject> {
  const { tool, args } = readCall(context);
  requireCapabilities(tool, context);
  let value: unknown;
  try {
    if (tool.options.once && !context.once) {
      throw new KitError(
        "options-invalid",
        `Tool "${tool.name}" has once: true. Add once() from "mcp-edge/worker/once" to the option use of edge().`,
      );
    }
    // If the endpoint has tasks, modern clients that do not support tasks have already been refused.
    if (tool.options.task === "required" && !context.rounds)
      return errorText(`Tool "${tool.name}" runs only as a task.`);
    // Inside the try block, because a validator may run code of the author and fail like a handler.
    const checked = tool.input ? await tool.input.validate(args) : { value: {} };
    if (checked.issues) {
      return errorText(`Invalid arguments for tool "${tool.name}": ${describeIssues(checked.issues, "arguments")}`);
    }
    value = checked.value;
  } catch (error) {
    if (McpError.is(error)) throw error;
    return toFailure(error, tool, context);
  }
  const run = () => runTool(tool, value, context);
  // Only now, because the outcome of a refused call is not stored.
  return context.once ? context.once(context, run) : run();
}

async function runTool(tool: CompiledTool, args: unknown, context: RequestContext): Promise<JsonObject> {
  try {
    const outcome = await runRounds(context, (round) => runHandler(tool, args, context, round));
    return "asked" in outcome ? outcome.asked : await toToolResult(tool, outcome.returned, context.client.rules);
  } catch (error) {
    if (McpError.is(error)) throw error;
    return toFailure(error, tool, context);
  }
}

/**
 * Returns the result for a failure. For a ToolError, it is the author's result. Otherwise it names the kind of failure and a
 * correlation id, which `onError` receives with the exception. A ToolError with invalid content is treated like any other
 * exception.
 */
function toFailure(error: unknown, tool: CompiledTool, context: RequestContext): JsonObject {
  let failure = error;
  try {
    if (ToolError.is(error)) return toErrorResult(error, context.client.rules);
  } catch (misfit) {
    failure = misfit;
  }
  // A cancelled call is not a failure, and its result is not sent.
  const correlationId = isReasonOf(context.ending.signal, failure)
    ? crypto.randomUUID()
    : context.registry.report(failure, describeSubject(context.request), context.onError);
  return errorText(`${describeFailure(`Tool "${tool.name}"`, failure)} Reference: ${correlationId}`);
}

/** Reads the call. A malformed call is an error of the request (-32602), not a result of the tool. */
function readCall({ registry, request }: RequestContext): { tool: CompiledTool; args: JsonObject } {
  const name = readTarget(request);
  const { arguments: args = {} } = request.params ?? {};
  if (!isObject(args)) throw invalidParams("tools/call: params.arguments is not an object.", { field: "arguments" });
  const tool = registry.tools.find(name);
  if (!tool) throw invalidParams(`Unknown tool: ${quote(name)}`);
  return { tool, args };
}

/**
 * Refuses a modern client that lacks a required capability. The legacy era has no error code for this; there, handlers
 * get a QuestionError when they ask.
 */
function requireCapabilities(tool: CompiledTool, context: RequestContext): void {
  const missing = (tool.options.requires ?? []).filter((name) => !context.client.can(name));
  if (missing.length === 0 || context.client.era === "legacy") return;
  throw new McpError(ErrorCode.MissingRequiredClientCapability, needsCapabilities(`Tool "${tool.name}"`, missing), {
    requiredCapabilities: capabilityObject(missing),
  });
}

/** Runs the handler within its time limit. Then its context is closed, because no message may follow the result. */
function runHandler(tool: CompiledTool, args: unknown, context: RequestContext, round: Round): Promise<unknown> {
  const timeoutMs = tool.options.timeoutMs ?? context.limits.toolTimeoutMs;
  const what = `Tool "${tool.name}"`;
  return withTimedContext(context, { what, timeoutMs, round }, (ctx) => tool.handler(args, ctx));
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
