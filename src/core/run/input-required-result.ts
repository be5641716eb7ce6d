/**
 * The `input_required` result of a modern request.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */

import { needsCapabilities } from "../ask/question-errors.ts";
import { capabilitiesFor, type Question } from "../ask/questions.ts";
import { checkSampling } from "../ask/sampling-params.ts";
import { warnOfSecrets } from "../ask/secret-fields.ts";
import type { InputRequired } from "../define/input-required.ts";
import { type ClientCapabilityName, capabilityObject } from "../protocol/client-capabilities.ts";
import * as ErrorCode from "../protocol/error-codes.ts";
import { McpError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { RequestContext } from "./request-context.ts";
import { type SealedState, sealState } from "./request-state.ts";
import { sentSamples } from "./sampling-rounds.ts";

/**
 * Returns the result that asks the client.
 *
 * @throws {McpError} -32021 if a question needs a capability that the client has not declared.
 */
export async function toInputRequiredResult(
  asked: InputRequired,
  context: RequestContext,
  more: Omit<SealedState, "state" | "samples"> = {},
): Promise<JsonObject> {
  const questions = Object.entries(asked.inputRequests);
  const missing = [...new Set(questions.flatMap(([, question]) => capabilitiesFor(question)))].filter(
    (name) => !context.client.can(name),
  );
  if (missing.length > 0) throw missingCapabilities(missing);
  for (const [, question] of questions) {
    checkSampling(question, context.limits);
    warnOfSecrets(question, context);
  }
  // Assignment would lose a question with the key "__proto__".
  const inputRequests = Object.fromEntries(questions.map(([key, question]) => [key, toInputRequest(question)]));
  const kept = { ...more, state: asked.requestState, samples: sentSamples(asked.inputRequests, context.registry) };
  return {
    resultType: "input_required",
    ...(questions.length > 0 ? { inputRequests } : {}),
    ...(Object.values(kept).some((each) => each !== undefined) ? { requestState: await sealState(kept, context) } : {}),
  };
}

/**
 * Returns a question as an entry of `inputRequests`, where its key identifies it, so the id of an elicitation is left
 * out.
 */
export function toInputRequest({ method, params }: Question): JsonObject {
  const { elicitationId: _, ...rest } = params ?? {};
  return { method, params: rest };
}

/** Returns a -32021 error that names the missing capabilities. */
export function missingCapabilities(missing: readonly ClientCapabilityName[]): McpError {
  return new McpError(ErrorCode.MissingRequiredClientCapability, needsCapabilities("The request", missing), {
    requiredCapabilities: capabilityObject(missing),
  });
}
