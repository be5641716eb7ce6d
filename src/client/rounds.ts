/**
 * Requests that a modern server answers with questions: the client answers them and sends the request again. Loaded on demand.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import { isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import type { Answers } from "./answers.ts";
import { type Deadline, untilAborted } from "./deadline.ts";
import { ClientError, invalidAnswer, textOf } from "./errors.ts";

/** The requests that may be answered with questions. */
const MAY_ASK: readonly string[] = ["tools/call", "prompts/get", "resources/read"];

/** The most questions that are answered at the same time. */
const ANSWERED_MAX = 16;

/**
 * Answers the questions of an `input_required` result and returns the members for the next request.
 *
 * Up to 16 questions are answered at the same time, and the limit without progress stands still meanwhile.
 *
 * @throws {ClientError} `answer-invalid` if the server must not ask like this; `question-failed` if a handler throws.
 */
export async function answerRound(
  method: string,
  result: JsonObject,
  answers: Answers,
  deadline: Deadline,
): Promise<JsonObject> {
  const { inputRequests, requestState } = result;
  const state = typeof requestState === "string" ? { requestState } : {};
  if (!MAY_ASK.includes(method)) throw invalidAnswer(method, "this request must not be answered with questions");
  if (inputRequests === undefined && requestState === undefined) {
    throw invalidAnswer(method, "it has neither inputRequests nor requestState");
  }
  if (inputRequests !== undefined && !isObject(inputRequests))
    throw invalidAnswer(method, "inputRequests is not an object");
  const release = deadline.hold();
  try {
    const questions = Object.entries(inputRequests ?? {}).reverse();
    const { signal } = deadline;
    const values = new Map<string, JsonObject>();
    const answerNext = async (): Promise<void> => {
      for (let next = questions.pop(); next; next = questions.pop()) {
        values.set(next[0], await answerOne(method, next[1], answers, signal));
      }
    };
    const answered = Promise.all(Array.from({ length: ANSWERED_MAX }, answerNext));
    await untilAborted(answered, signal);
    const inputResponses = Object.fromEntries(values);
    return inputRequests === undefined ? state : { inputResponses, ...state };
  } finally {
    release();
  }
}

async function answerOne(
  method: string,
  question: unknown,
  answers: Answers,
  signal: AbortSignal,
): Promise<JsonObject> {
  if (!isObject(question) || typeof question.method !== "string")
    throw invalidAnswer(method, "a question has no method");
  try {
    return await answers.answer(question.method, isObject(question.params) ? question.params : {}, { signal });
  } catch (cause) {
    signal.throwIfAborted();
    // A modern answer cannot say that it failed, so the request ends here.
    throw new ClientError("question-failed", `${method} asked ${question.method}, which failed: ${textOf(cause)}`, {
      cause,
      // The handler of the server has run up to its question.
      mayHaveRun: true,
    });
  }
}
