/**
 * The audit of sampling, with one record for each request that a client was sent.
 *
 * @module
 */
import type { ClientFacts, Principal } from "../protocol/client-facts.ts";
import { runDetached } from "../protocol/error-reports.ts";
import { type HookTools, hookTools } from "../protocol/execution.ts";
import { isObject, type JsonObject, type RequestId } from "../protocol/jsonrpc.ts";
import { describeRequest } from "../protocol/request-description.ts";
import type { AskedBy } from "./asker.ts";
import { QuestionError } from "./question-errors.ts";

/** A finished sampling request to a client. */
export interface SampleRecord<Env = unknown> extends HookTools<Env> {
  /** The request whose handler asked. */
  readonly requestId: RequestId;
  /** The client that was asked. */
  readonly client: ClientFacts;
  /** The principal that the request acts for; undefined if it is anonymous. */
  readonly principal: Principal | undefined;
  /** The name of the tool that asked. */
  readonly tool?: string;
  /** The name of the prompt that asked. */
  readonly prompt?: string;
  /** The most tokens that the request allowed. */
  readonly maxTokens: number;
  /** The model that the client's answer names. */
  readonly model?: string;
  /** Why the model stopped, according to the client's answer. */
  readonly stopReason?: string;
  /** `cancelled`: the call ended before the answer. The others are the reasons of `QuestionError`. */
  readonly outcome: "answered" | "cancelled" | QuestionError["reason"];
  /** Milliseconds from sending to answer. */
  readonly durationMs: number;
}

/**
 * Called when a sampling request has ended. The platform keeps a returned promise running, and the client does not wait
 * for it.
 */
export type SampleHook<Env = unknown> = (record: SampleRecord<Env>) => void | Promise<void>;

/** Sends a sampling request, reads the answer, and reports the outcome to `onSample`. */
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
    // Any other error is the reason of the signal, which means that the call ended first.
    ended(error instanceof QuestionError ? error.reason : "cancelled");
    throw error;
  }
}

/** Reports the outcome of a sampling request to `onSample`. */
export function reportSample(
  params: JsonObject,
  { server, request, call }: AskedBy,
  answer: unknown,
  outcome: SampleRecord["outcome"],
  durationMs: number,
): void {
  const { onSample } = server.options;
  if (!onSample) return;
  const { method, requestId, client, principal, tool, prompt } = describeRequest(request, call.client, call.principal);
  const { model, stopReason } = isObject(answer) ? answer : {};
  const tools = hookTools(server, request, call);
  const record: SampleRecord = {
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
    ...tools,
  };
  const where = { correlationId: crypto.randomUUID(), method: `(onSample of ${method})`, requestId };
  runDetached(
    () => onSample(record),
    (error) => server.report(error, where, call.onError),
    tools.waitUntil,
  );
}
