/**
 * The types of sampling requests and results, and their checks.
 *
 * @module
 * @see MCP 2026-07-28, client/sampling
 */
import { isBase64 } from "../basics/bytes.ts";
import { isMediaType } from "../protocol/content.ts";
import { KitError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";
import { invalidAnswer } from "./question-errors.ts";
import type { Ping, Question } from "./questions.ts";

/** The parameters of `sampling/createMessage`. @see `CreateMessageRequestParams` in the schema */
export interface SampleParams extends JsonObject {
  /** The conversation so far; at least one message. */
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: unknown }[];
  /** The maximum number of tokens to generate, at least 1. */
  readonly maxTokens: number;
  /** A system prompt that the client may use, change or ignore. */
  readonly systemPrompt?: string;
  /** The temperature of the model, from 0 to `limits.temperatureMax` (1 by default). */
  readonly temperature?: number;
}

/** The answer of the client's model. @see MCP 2026-07-28, client/sampling */
export interface SampleResult extends JsonObject {
  /** The name of the model that answered. */
  readonly model: string;
  /** The role of the speaker, usually the assistant. */
  readonly role: "user" | "assistant";
  /** The content: one block or, since 2025-11-25, several. */
  readonly content: unknown;
  /** Why the model stopped, such as `endTurn` or `maxTokens`. */
  readonly stopReason?: string;
}

/**
 * Returns a question for the client's model, for `inputRequired({ ... })`.
 *
 * @see MCP 2026-07-28, client/sampling
 */
export function sampleQuestion(params: SampleParams): Question {
  return { method: "sampling/createMessage", params };
}

/**
 * Reads the answer to a {@link sampleQuestion}, from `ctx.inputResponses`.
 *
 * @throws {QuestionError} `invalid-answer` if it is not a sampling result.
 */
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

/** Whether a value is one content block or, since 2025-11-25, a list of blocks. */
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

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number" && Number.isFinite(value);
const isWithin = (value: unknown, max: number) => isNumber(value) && (value as number) >= 0 && (value as number) <= max;
const isShare = (value: unknown) => isWithin(value, 1);
const isNamed = (value: unknown) => isObject(value) && isText(value.name);
const isList = (value: unknown, is: (member: unknown) => boolean) => Array.isArray(value) && value.every(is);

/** The rules for the parameters of a sampling request. A rule applies if its parameter is present. */
const SAMPLE_RULES: Readonly<Record<string, readonly [is: (value: unknown) => boolean, rule: string]>> = {
  messages: [
    (value) =>
      isList(value, (message) => isObject(message) && isRole(message.role) && isSamplingContent(message.content)) &&
      (value as unknown[]).length > 0,
    "a list of at least one message with a role (user, assistant) and content whose data is base64",
  ],
  maxTokens: [(value) => Number.isSafeInteger(value) && (value as number) > 0, "a whole number of at least 1"],
  systemPrompt: [isText, "a string"],
  includeContext: [
    (value) => ["none", "thisServer", "allServers"].includes(value as string),
    "none, thisServer or allServers",
  ],
  stopSequences: [(value) => isList(value, isText), "a list of strings"],
  metadata: [isObject, "an object"],
  modelPreferences: [isObject, "an object"],
  tools: [(value) => isList(value, isNamed), "a list of tools, each with a name"],
  toolChoice: [
    (value) => isObject(value) && [undefined, "auto", "required", "none"].includes(value.mode as string),
    "an object whose mode is auto, required or none",
  ],
};

const PREFERENCE_RULES: typeof SAMPLE_RULES = {
  hints: [
    (value) => isList(value, (hint) => isObject(hint) && (hint.name === undefined || isText(hint.name))),
    "a list of objects with a name",
  ],
  costPriority: [isShare, "a number from 0 to 1"],
  speedPriority: [isShare, "a number from 0 to 1"],
  intelligencePriority: [isShare, "a number from 0 to 1"],
};

/**
 * Checks the parameters of a sampling request. Other questions are not checked.
 *
 * @throws {KitError} `options-invalid` naming the field.
 */
export function checkSampling({ method, params = {} }: Question | Ping, { temperatureMax }: Limits): void {
  if (method !== "sampling/createMessage") return;
  for (const field of ["messages", "maxTokens"]) checkField(field, params[field], SAMPLE_RULES[field]);
  checkFields("", params, SAMPLE_RULES);
  const rule = `a number from 0 to ${temperatureMax} (limits.temperatureMax)`;
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
  throw new KitError("options-invalid", `sampling/createMessage: ${field} must be ${rule[1]}${given}.`);
}
