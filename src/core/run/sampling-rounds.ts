/**
 * The audit of sampling requests that leave as a result and are answered by a later request: each is heard of when its
 * answer comes.
 *
 * @module
 */

import type { AskedBy } from "../ask/asker.ts";
import type { Question } from "../ask/questions.ts";
import { reportSample } from "../ask/sampling-audit.ts";
import { readSampleResult } from "../ask/sampling-params.ts";
import type { Registry } from "../define/registry.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";

/** Sampling requests that were sent, by key: tokens asked for, and when. JSON. */
export type SentSamples = Readonly<Record<string, readonly [maxTokens: number, sentAtMs: number]>>;

/** What is to be kept of questions that go out; undefined where nobody would hear of it. */
export function sentSamples(
  questions: Readonly<Record<string, Question>>,
  { options }: Registry,
): SentSamples | undefined {
  if (!options.onSample) return undefined;
  const samples = Object.entries(questions).filter(([, { method }]) => method === "sampling/createMessage");
  if (samples.length === 0) return undefined;
  return Object.fromEntries(samples.map(([key, { params }]) => [key, [Number(params?.maxTokens), Date.now()]]));
}

/** Tells `onSample` of those that are answered. */
export function hearSamples(sent: SentSamples, answers: JsonObject, by: AskedBy): void {
  for (const [key, [maxTokens, sentAtMs]] of Object.entries(sent)) {
    if (Object.hasOwn(answers, key)) hearSample(maxTokens, sentAtMs, answers[key], by);
  }
}

/** Tells `onSample` of one answer. */
export function hearSample(maxTokens: number, sentAtMs: number, answer: unknown, by: AskedBy): void {
  reportSample({ maxTokens }, by, answer, isValid(answer) ? "answered" : "invalid-answer", Date.now() - sentAtMs);
}

function isValid(answer: unknown): boolean {
  try {
    readSampleResult(answer);
    return true;
  } catch {
    // The handler meets the error.
    return false;
  }
}
