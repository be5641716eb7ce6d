/**
 * The audit of sampling requests that are sent in a result and answered by a later request. Each is reported when its
 * answer arrives.
 *
 * @module
 */

import type { AskedBy } from "../ask/asked-by.ts";
import type { Question } from "../ask/questions.ts";
import { reportSample } from "../ask/sampling-audit.ts";
import { readSampleResult } from "../ask/sampling-params.ts";
import type { Registry } from "../define/registry.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";

/** The sampling requests that were sent, by key: the maximum number of tokens and the time, as JSON. */
export type SentSamples = Readonly<Record<string, readonly [maxTokens: number, sentAtMs: number]>>;

/** Returns the data that the audit needs about questions. Undefined if the server has no `onSample`. */
export function sentSamples(
  questions: Readonly<Record<string, Question>>,
  { options }: Registry,
): SentSamples | undefined {
  if (!options.onSample) return undefined;
  const samples = Object.entries(questions).filter(([, { method }]) => method === "sampling/createMessage");
  if (samples.length === 0) return undefined;
  return Object.fromEntries(samples.map(([key, { params }]) => [key, [Number(params?.maxTokens), Date.now()]]));
}

/** Reports the answered requests to `onSample`. */
export function reportAnsweredSamples(sent: SentSamples, answers: JsonObject, by: AskedBy): void {
  for (const [key, [maxTokens, sentAtMs]] of Object.entries(sent)) {
    if (Object.hasOwn(answers, key)) reportAnsweredSample(maxTokens, sentAtMs, answers[key], by);
  }
}

/** Reports one answer to `onSample`. */
export function reportAnsweredSample(maxTokens: number, sentAtMs: number, answer: unknown, by: AskedBy): void {
  const outcome = isValid(answer) ? "answered" : "invalid-answer";
  reportSample(by, { maxTokens, answer, outcome, durationMs: Date.now() - sentAtMs });
}

function isValid(answer: unknown): boolean {
  try {
    readSampleResult(answer);
    return true;
  } catch {
    // The handler gets the error when it reads the answer.
    return false;
  }
}
