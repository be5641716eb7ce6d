/**
 * What a server may ask a client: the requests themselves, shaped for the version, and what their answers may be.
 *
 * @module
 * @see MCP 2026-07-28, client/elicitation, client/sampling, client/roots
 */

import { isBase64 } from "../protocol/bytes.ts";
import type { ClientFacts } from "../protocol/client-facts.ts";
import { isMediaType } from "../protocol/content.ts";
import { KitError, type McpError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";
import { quote } from "../protocol/quote.ts";
import type { AnySchema } from "../protocol/schema.ts";
import { type Elicited, QuestionError } from "./asker.ts";
import { checkElicited, compileElicitation, type ElicitationSchema, shapeElicitation } from "./elicitation-schema.ts";
import { capabilitiesFor, type Question } from "./question.ts";

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
  /** At least 1. */
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  /** From 0 to `limits.temperatureMax`, which is 1 unless it was set. */
  readonly temperature?: number;
}

export interface SampleResult extends JsonObject {
  readonly model: string;
  readonly role: "user" | "assistant";
  readonly content: unknown;
  readonly stopReason?: string;
}

/** Asks whether the client is there. It is no question for `inputRequired`, so it is not a {@link Question}. */
export interface Ping {
  readonly method: "ping";
  readonly params?: never;
}

/** The question that asks a person to fill in a form. */
export function elicitQuestion(message: string, schema: AnySchema | ElicitationSchema): Question {
  return {
    method: "elicitation/create",
    params: { mode: "form", message, requestedSchema: compileElicitation(schema).json },
  };
}

/** @throws {QuestionError} `unsupported`, before anything is sent. */
export function requireAnswerable(question: Question | Ping, client: ClientFacts): void {
  // Every client answers a ping.
  if (question.method === "ping") return;
  const missing = capabilitiesFor(question).filter((name) => !client.can(name));
  if (missing.length > 0) {
    throw new QuestionError(
      "unsupported",
      `The client has not declared, or its version does not have, ${missing.join(", ")}, which ${question.method} needs.`,
      undefined,
      missing,
    );
  }
  const list = client.rules.elicitationModes ? undefined : findList(question.params?.requestedSchema);
  if (list === undefined) return;
  throw new QuestionError(
    "unsupported",
    `Property "${list}" of the form is a list of choices, which ${client.protocolVersion} does not have.`,
  );
}

/** @throws {KitError} naming the parameter that has no JSON form, such as a bigint. */
export function requireJson({ method, params = {} }: Question | Ping): void {
  for (const [field, value] of Object.entries(params)) {
    try {
      JSON.stringify(value);
    } catch (cause) {
      throw new KitError("options-invalid", `${method}: ${field} has no JSON form.`, { cause });
    }
  }
}

/** The name of a property that is a list. */
function findList(schema: unknown): string | undefined {
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
  return Object.keys(properties).find((name) => {
    const property = properties[name];
    return isObject(property) && property.type === "array";
  });
}

/** The params as the version has them. */
export function shapeQuestion({ method, params }: Question | Ping, client: ClientFacts): JsonObject {
  const { rules } = client;
  if (method !== "elicitation/create" || !params) return params ?? {};
  const { mode, requestedSchema, ...rest } = params;
  const shaped = isObject(requestedSchema) ? { requestedSchema: shapeElicitation(requestedSchema, rules) } : {};
  return { ...(rules.elicitationModes && mode !== undefined ? { mode } : {}), ...rest, ...shaped };
}

/** What the person did. @throws {QuestionError} `invalid-answer`. */
export function readAnswer(answer: unknown): { action: ElicitResult["action"]; content?: unknown } {
  const { action, content } = isObject(answer) ? answer : {};
  if (action === "accept" || action === "decline" || action === "cancel") return { action, content };
  throw invalidAnswer("elicitation/create", 'its "action" is not accept, decline or cancel');
}

/** An elicitation answer, its content checked. @throws {QuestionError} `invalid-answer` naming the field. */
export async function readElicitResult<S extends AnySchema | ElicitationSchema>(
  answer: unknown,
  schema: S,
): Promise<Elicited<S>> {
  const read = await tryElicitResult(answer, schema);
  if (typeof read === "string") throw invalidAnswer("elicitation/create", read);
  return read;
}

/** The same, or what is wrong with the content. @throws {QuestionError} `invalid-answer` when it is no answer to a form. */
export async function tryElicitResult<S extends AnySchema | ElicitationSchema>(
  answer: unknown,
  schema: S,
): Promise<Elicited<S> | string> {
  const { action, content } = readAnswer(answer);
  if (action !== "accept") return { action };
  const checked = await checkElicited(compileElicitation(schema), content ?? {});
  // What checkElicited lets through is what the schema yields.
  return checked.problem ?? { action: "accept", content: checked.value as never };
}

/** @throws {QuestionError} `invalid-answer`, for a person who does not get it right. */
export function misfit(problem: string): QuestionError {
  return invalidAnswer("elicitation/create", problem);
}

/** @throws {QuestionError} `invalid-answer`. */
export function readSampleResult(answer: unknown): SampleResult {
  const invalid = (problem: string) => invalidAnswer("sampling/createMessage", problem);
  if (!isObject(answer) || typeof answer.model !== "string") throw invalid('it has no string "model"');
  if (!isRole(answer.role)) throw invalid('its "role" is neither user nor assistant');
  if (!isSamplingContent(answer.content)) throw invalid('its "content" is not a content block');
  if (answer.stopReason !== undefined && typeof answer.stopReason !== "string")
    throw invalid('its "stopReason" is not a string');
  return answer as unknown as SampleResult;
}

const isRole = (role: unknown) => role === "user" || role === "assistant";

/** The string members of each kind of content in sampling. */
const CONTENT: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  tool_use: ["id", "name"],
  tool_result: ["toolUseId"],
};

/** One block or, since 2025-11-25, several. */
function isSamplingContent(content: unknown): boolean {
  const blocks = Array.isArray(content) ? content : [content];
  return blocks.every((block) => {
    const members =
      isObject(block) && typeof block.type === "string" && Object.hasOwn(CONTENT, block.type)
        ? CONTENT[block.type]
        : undefined;
    if (!isObject(block) || !members?.every((member) => typeof block[member] === "string")) return false;
    return !members.includes("data") || (isBase64(block.data as string) && isMediaType(block.mimeType));
  });
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

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value);
const isWithin = (value: unknown, max: number) => isNumber(value) && (value as number) >= 0 && (value as number) <= max;
const isShare = (value: unknown) => isWithin(value, 1);
const isNamed = (value: unknown) => isObject(value) && isText(value.name);
const isList = (value: unknown, is: (member: unknown) => boolean) => Array.isArray(value) && value.every(is);

/** What each parameter of sampling is, when it is there. */
const SAMPLE_RULES: Readonly<Record<string, readonly [is: (value: unknown) => boolean, rule: string]>> = {
  messages: [
    (value) =>
      isList(value, (message) => isObject(message) && isRole(message.role) && isSamplingContent(message.content)) &&
      (value as unknown[]).length > 0,
    "is a list of at least one message, each with a role (user, assistant) and content, whose data is base64",
  ],
  maxTokens: [(value) => Number.isSafeInteger(value) && (value as number) > 0, "is a whole number of at least 1"],
  systemPrompt: [isText, "is a string"],
  includeContext: [
    (value) => ["none", "thisServer", "allServers"].includes(value as string),
    "is none, thisServer or allServers",
  ],
  stopSequences: [(value) => isList(value, isText), "is a list of strings"],
  metadata: [isObject, "is an object"],
  modelPreferences: [isObject, "is an object"],
  tools: [(value) => isList(value, isNamed), "is a list of tools, each with a name"],
  toolChoice: [
    (value) => isObject(value) && [undefined, "auto", "required", "none"].includes(value.mode as string),
    "is an object whose mode is auto, required or none",
  ],
};

const PREFERENCE_RULES: typeof SAMPLE_RULES = {
  hints: [
    (value) => isList(value, (hint) => isObject(hint) && (hint.name === undefined || isText(hint.name))),
    "is a list of objects with a name",
  ],
  costPriority: [isShare, "is a number from 0 to 1"],
  speedPriority: [isShare, "is a number from 0 to 1"],
  intelligencePriority: [isShare, "is a number from 0 to 1"],
};

/**
 * Checks the parameters of a sampling request; other questions pass.
 *
 * @throws {KitError} `options-invalid` naming the field, before anything is sent.
 */
export function checkSampling({ method, params = {} }: Question | Ping, { temperatureMax }: Limits): void {
  if (method !== "sampling/createMessage") return;
  for (const field of ["messages", "maxTokens"]) checkField(field, params[field], SAMPLE_RULES[field]);
  checkFields("", params, SAMPLE_RULES);
  const rule = `is a number from 0 to ${temperatureMax} (limits.temperatureMax)`;
  checkFields("", params, { temperature: [(value) => isWithin(value, temperatureMax), rule] });
  if (isObject(params.modelPreferences)) checkFields("modelPreferences.", params.modelPreferences, PREFERENCE_RULES);
}

function checkFields(prefix: string, values: JsonObject, rules: typeof SAMPLE_RULES): void {
  for (const [field, rule] of Object.entries(rules)) {
    if (values[field] !== undefined) checkField(`${prefix}${field}`, values[field], rule);
  }
}

function checkField(field: string, value: unknown, rule: (typeof SAMPLE_RULES)[string] | undefined): void {
  if (!rule || rule[0](value)) return;
  const given = typeof value === "number" ? `, not ${value}` : "";
  throw new KitError("options-invalid", `sampling/createMessage: ${field} ${rule[1]}${given}.`);
}

/** The error a handler meets when the client answered with one. */
export function refusedQuestion(method: string, error: McpError): QuestionError {
  return new QuestionError(
    "refused",
    `The client answered ${method} with an error: ${quote(error.message)}`,
    error.code,
  );
}
