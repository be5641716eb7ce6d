/**
 * What was asked of clients' models, one record for each request that was sent.
 *
 * @module
 */

import { attempt } from "../define/server.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import { describeRequest, reachOf, type SampleRecord } from "../serve/hooks.ts";
import { type AskedBy, QuestionError } from "./asker.ts";

/** Sends and reads one sampling request, and tells `onSample` how it ended. */
export async function audited<Result>(
  params: JsonObject,
  by: AskedBy,
  send: () => Promise<unknown>,
  read: (answer: unknown) => Result,
): Promise<Result> {
  const startedAtMs = performance.now();
  let answer: unknown;
  const ended = (outcome: SampleRecord["outcome"]) => {
    reportSample(params, by, answer, outcome, performance.now() - startedAtMs);
  };
  try {
    answer = await send();
    const result = read(answer);
    ended("answered");
    return result;
  } catch (error) {
    // Whatever else ends it is the signal's reason: the call was over first.
    ended(error instanceof QuestionError ? error.reason : "cancelled");
    throw error;
  }
}

/** Tells `onSample` how a sampling request ended. */
export function reportSample(
  params: JsonObject,
  { server, request, call }: AskedBy,
  answer: unknown,
  outcome: SampleRecord["outcome"],
  durationMs: number,
): void {
  const { onSample } = server;
  if (!onSample) return;
  const { method, requestId, client, principal, tool, prompt } = describeRequest(request, call.client, call.principal);
  const { model, stopReason } = isObject(answer) ? answer : {};
  const { env, waitUntil } = reachOf(server, request, call);
  const record: SampleRecord<never> = {
    requestId,
    client,
    principal,
    ...(tool === undefined ? {} : { tool }),
    ...(prompt === undefined ? {} : { prompt }),
    maxTokens: params.maxTokens as number,
    ...(typeof model === "string" ? { model } : {}),
    ...(typeof stopReason === "string" ? { stopReason } : {}),
    outcome,
    durationMs,
    env,
    waitUntil,
  };
  const where = { correlationId: crypto.randomUUID(), method: `(onSample of ${method})`, requestId };
  attempt(
    () => onSample(record),
    (error) => server.report(error, where, call.onError),
    waitUntil,
  );
}
