/**
 * The answers to questions: their types, and the checks of what a client sends.
 *
 * @module
 * @see MCP 2026-07-28, client/elicitation, client/roots
 */
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Root } from "../protocol/root.ts";
import type { AnySchema, InferOutput } from "../protocol/schema.ts";
import { checkElicited, compileElicitation, type ElicitationSchema } from "./elicitation-schema.ts";
import { invalidAnswer, QuestionError } from "./question-errors.ts";

/** The user's answer to a form. Declining and cancelling are values, not exceptions. */
export type ElicitResult<Content = JsonObject> =
  | { readonly action: "accept"; readonly content: Content }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** The answer to a form of this schema. */
export type Elicited<S extends AnySchema | ElicitationSchema> = ElicitResult<
  S extends AnySchema ? InferOutput<S> : JsonObject
>;

/** The outcome of a question: the answer, or why there is none. */
export type QuestionOutcome = { readonly answer: unknown } | { readonly failed: FailedQuestion };

/** A question that ended without an answer. */
export interface FailedQuestion {
  readonly reason: QuestionError["reason"];
  readonly message: string;
  readonly code?: number | undefined;
}

/** Returns the answer. @throws {QuestionError} if the question ended without one. */
export function toAnswer(outcome: QuestionOutcome): unknown {
  if (!("failed" in outcome)) return outcome.answer;
  const { reason, message, code } = outcome.failed;
  throw new QuestionError(reason, message, code);
}

/** Reads the action of an elicitation answer. @throws {QuestionError} `invalid-answer`. */
export function readAnswer(answer: unknown): { action: ElicitResult["action"]; content?: unknown } {
  const { action, content } = isObject(answer) ? answer : {};
  if (action === "accept" || action === "decline" || action === "cancel") return { action, content };
  throw invalidAnswer("elicitation/create", 'its "action" is not accept, decline or cancel');
}

/** Reads an elicitation answer and checks its content. @throws {QuestionError} `invalid-answer` naming the field. */
export async function readElicitResult<S extends AnySchema | ElicitationSchema>(
  answer: unknown,
  schema: S,
): Promise<Elicited<S>> {
  const read = await tryElicitResult(answer, schema);
  if (typeof read === "string") throw invalidAnswer("elicitation/create", read);
  return read;
}

/**
 * Reads an elicitation answer, or returns what is wrong with its content.
 *
 * @throws {QuestionError} `invalid-answer` if it is not an answer to an elicitation.
 */
export async function tryElicitResult<S extends AnySchema | ElicitationSchema>(
  answer: unknown,
  schema: S,
): Promise<Elicited<S> | string> {
  const { action, content } = readAnswer(answer);
  if (action !== "accept") return { action };
  const checked = await checkElicited(compileElicitation(schema), content ?? {});
  // A checked value has the type that the schema yields.
  return checked.problem ?? { action: "accept", content: checked.value as never };
}

/**
 * Reads the answer to a {@link rootsQuestion}, from `ctx.inputResponses`.
 *
 * @throws {QuestionError} `invalid-answer` if it is not a list of roots.
 */
export function readRoots(answer: unknown): readonly Root[] {
  const roots = isObject(answer) ? answer.roots : undefined;
  if (!Array.isArray(roots) || !roots.every((root) => isObject(root) && typeof root.uri === "string")) {
    throw invalidAnswer("roots/list", 'its "roots" is not a list of objects with a string "uri"');
  }
  return roots as readonly Root[];
}
