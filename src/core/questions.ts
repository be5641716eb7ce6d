/**
 * What a server may ask a client: the requests themselves, shaped for the version, and what their answers may be.
 *
 * @module
 * @see MCP 2026-07-28, client/elicitation, client/sampling, client/roots
 */
import type { ClientCapabilityName, ClientFacts } from "./client-facts.ts";
import { checkElicited, compileElicitation, type ElicitationSchema, shapeElicitation } from "./elicitation-schema.ts";
import { KitError, type McpError } from "./errors.ts";
import { isObject, type JsonObject } from "./jsonrpc.ts";
import type { AnySchema, InferOutput } from "./schema.ts";

/** One request to a client, by method and params: the value of an entry of `inputRequests`. */
export interface Question {
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  readonly params?: JsonObject;
}

/** What a form was answered with. Declining and cancelling are values, not exceptions. */
export type ElicitResult<Content = JsonObject> =
  | { readonly action: "accept"; readonly content: Content }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

export interface Root {
  readonly uri: string;
  readonly name?: string;
}

/** `sampling/createMessage` parameters. @see `CreateMessageRequestParams` in the schema */
export interface SampleParams extends JsonObject {
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: unknown }[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  readonly temperature?: number;
}

export interface SampleResult extends JsonObject {
  readonly model: string;
  readonly role: "user" | "assistant";
  readonly content: unknown;
  readonly stopReason?: string;
}

/** Why a question could not be answered. A handler may catch it and go on without. */
export class QuestionError extends Error {
  override readonly name = "QuestionError";
  /** unsupported: the client has not declared it. unavailable: this way of serving cannot ask. refused: the client answered with an error. */
  readonly reason: "unsupported" | "unavailable" | "refused" | "timeout" | "interrupted" | "invalid-answer";
  /** The code of the client's error, for `refused`. */
  readonly code: number | undefined;

  constructor(reason: QuestionError["reason"], message: string, code?: number) {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}

/** The question that asks a person to fill in a form. */
export function elicitQuestion(message: string, schema: AnySchema | ElicitationSchema): Question {
  return {
    method: "elicitation/create",
    params: { mode: "form", message, requestedSchema: compileElicitation(schema).json },
  };
}

/** The capabilities a question needs. */
export function capabilitiesFor({ method, params }: Question): readonly ClientCapabilityName[] {
  switch (method) {
    case "elicitation/create":
      return [params?.mode === "url" ? "elicitation.url" : "elicitation.form"];
    case "roots/list":
      return ["roots"];
    case "sampling/createMessage": {
      const needed: ClientCapabilityName[] = ["sampling"];
      if (params?.tools !== undefined || params?.toolChoice !== undefined) needed.push("sampling.tools");
      if (params?.includeContext !== undefined && params.includeContext !== "none") needed.push("sampling.context");
      return needed;
    }
  }
}

/** @throws {QuestionError} `unsupported`, before anything is sent. */
export function requireAnswerable(question: Question, client: ClientFacts): void {
  const missing = capabilitiesFor(question).filter((name) => !client.can(name));
  if (missing.length === 0) return;
  throw new QuestionError(
    "unsupported",
    `The client has not declared ${missing.join(", ")}, which ${question.method} needs.`,
  );
}

/** The params as the version has them. */
export function shapeQuestion({ method, params }: Question, client: ClientFacts): JsonObject {
  const { rules } = client;
  if (method !== "elicitation/create" || !params) return params ?? {};
  const { mode, requestedSchema, ...rest } = params;
  const shaped = isObject(requestedSchema) ? { requestedSchema: shapeElicitation(requestedSchema, rules) } : {};
  return { ...(rules.elicitationModes && mode !== undefined ? { mode } : {}), ...rest, ...shaped };
}

/** An elicitation answer, its content checked. @throws {QuestionError} `invalid-answer` naming the field. */
export async function readElicitResult<S extends AnySchema | ElicitationSchema>(
  answer: unknown,
  schema: S,
): Promise<ElicitResult<S extends AnySchema ? InferOutput<S> : JsonObject>> {
  if (isObject(answer) && (answer.action === "decline" || answer.action === "cancel")) return { action: answer.action };
  if (!isObject(answer) || answer.action !== "accept")
    throw invalidAnswer("elicitation/create", 'its "action" is not accept, decline or cancel');
  const checked = await checkElicited(compileElicitation(schema), answer.content ?? {});
  if (checked.problem !== undefined) throw invalidAnswer("elicitation/create", checked.problem);
  // What checkElicited lets through is what the schema yields.
  return { action: "accept", content: checked.value as never };
}

/** @throws {QuestionError} `invalid-answer`. */
export function readSampleResult(answer: unknown): SampleResult {
  if (!isObject(answer) || typeof answer.model !== "string")
    throw invalidAnswer("sampling/createMessage", 'it has no string "model"');
  if (answer.role !== "user" && answer.role !== "assistant")
    throw invalidAnswer("sampling/createMessage", 'its "role" is neither user nor assistant');
  if (answer.content === undefined) throw invalidAnswer("sampling/createMessage", 'it has no "content"');
  return answer as unknown as SampleResult;
}

/** @throws {QuestionError} `invalid-answer`. */
export function readRoots(answer: unknown): readonly Root[] {
  const roots = isObject(answer) ? answer.roots : undefined;
  if (!Array.isArray(roots) || !roots.every((root) => isObject(root) && typeof root.uri === "string")) {
    throw invalidAnswer("roots/list", 'its "roots" is not a list of objects with a string "uri"');
  }
  return roots as readonly Root[];
}

function invalidAnswer(method: string, problem: string): QuestionError {
  return new QuestionError("invalid-answer", `The client's answer to ${method} is not valid: ${problem}.`);
}

/** @throws {KitError} `options-invalid` naming the field, before anything is sent. */
export function checkSampleParams(params: SampleParams): void {
  const wrong = (field: string, rule: string) => new KitError("options-invalid", `ctx.sample(): ${field} ${rule}.`);
  if (!Array.isArray(params.messages) || params.messages.length === 0)
    throw wrong("messages", "is a list of at least one message");
  if (!Number.isSafeInteger(params.maxTokens) || params.maxTokens < 1)
    throw wrong("maxTokens", "is a whole number of at least 1");
  const preferences = isObject(params.modelPreferences) ? params.modelPreferences : {};
  for (const field of ["costPriority", "speedPriority", "intelligencePriority"]) {
    const value = preferences[field];
    if (value !== undefined && !(typeof value === "number" && value >= 0 && value <= 1))
      throw wrong(`modelPreferences.${field}`, "is a number from 0 to 1");
  }
}

/** The error a handler meets when the client answered with one. */
export function refusedQuestion(method: string, error: McpError): QuestionError {
  return new QuestionError("refused", `The client answered ${method} with an error: ${error.message}`, error.code);
}
