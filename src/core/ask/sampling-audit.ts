import { runDetached } from "../protocol/error-reports.ts";
import { hookTools } from "../protocol/execution.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { describeRequest } from "../protocol/request-description.ts";
import type { AskedBy } from "./asked-by.ts";
import { QuestionError } from "./question-errors.ts";
import type { SampleRecord } from "./sample-hook.ts";

/** Sends a sampling request, reads the answer, and reports the outcome to `onSample`. */
export async function audited<Result>(
  { maxTokens }: JsonObject,
  by: AskedBy,
  send: () => Promise<unknown>,
  read: (answer: unknown) => Result,
): Promise<Result> {
  const startedAtMs = performance.now();
  let answer: unknown;
  const ended = (outcome: SampleRecord["outcome"]) => {
    reportSample(by, { maxTokens: maxTokens as number, answer, outcome, durationMs: performance.now() - startedAtMs });
  };
  try {
    answer = await send();
    const result = read(answer);
    ended("answered");
    return result;
  } catch (error) {
    // Any other error is the reason of the signal, which means that the call ended first.
    ended(error instanceof QuestionError ? error.reason : "cancelled");
    throw error;
  }
}

/** A sampling request that has ended. */
export interface EndedSample extends Pick<SampleRecord, "maxTokens" | "outcome" | "durationMs"> {
  /** The answer of the client, if there is one. It need not be valid. */
  readonly answer?: unknown;
}

/** Reports the outcome of a sampling request to `onSample`. */
export function reportSample(by: AskedBy, { answer, ...sample }: EndedSample): void {
  const { registry, request } = by;
  const { onSample } = registry.options;
  if (!onSample) return;
  const { method, requestId, client, principal, tool, prompt } = describeRequest(request, by.client, by.principal);
  const { model, stopReason } = isObject(answer) ? answer : {};
  const tools = hookTools(registry, request, by);
  const record: SampleRecord = {
    requestId,
    client,
    principal,
    ...(tool === undefined ? {} : { tool }),
    ...(prompt === undefined ? {} : { prompt }),
    ...sample,
    ...(typeof model === "string" ? { model } : {}),
    ...(typeof stopReason === "string" ? { stopReason } : {}),
    ...tools,
  };
  const context = { method: `(onSample of ${method})`, requestId };
  runDetached(
    () => onSample(record),
    (error) => registry.report(error, context, by.onError),
    tools.waitUntil,
  );
}
