/**
 * The questions that a server may ask a client, and their form in the client's protocol version.
 *
 * @module
 * @see MCP 2026-07-28, client/elicitation, client/sampling, client/roots
 */

import type { ClientCapabilityName } from "../protocol/client-capabilities.ts";
import type { ClientFacts } from "../protocol/client-facts.ts";
import { KitError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { AnySchema } from "../protocol/schema.ts";
import { compileElicitation, type ElicitationSchema, shapeElicitation } from "./elicitation-schema.ts";
import { QuestionError } from "./question-errors.ts";

/** A request to a client by method and params, as in an entry of `inputRequests`. */
export interface Question {
  /** The kind of question. */
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  /** The parameters of the question, as the protocol defines them. */
  readonly params?: JsonObject;
}

/** Returns the capabilities that a question needs. */
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

/**
 * A request that checks whether the client is connected. `inputRequired` does not take it, so it is not a {@link
 * Question}.
 */
export interface Ping {
  readonly method: "ping";
  readonly params?: never;
}

/** Returns the question that asks the user to fill in a form. */
export function elicitQuestion(message: string, schema: AnySchema | ElicitationSchema): Question {
  return {
    method: "elicitation/create",
    params: { mode: "form", message, requestedSchema: compileElicitation(schema).json },
  };
}

/**
 * Returns the question for the client's roots, for `inputRequired({ ... })`.
 *
 * @see MCP 2026-07-28, client/roots
 */
export function rootsQuestion(): Question {
  return { method: "roots/list" };
}

/** Checks that the client can answer a question. @throws {QuestionError} `unsupported`. */
export function requireAnswerable(question: Question | Ping, client: ClientFacts): void {
  // Every client answers a ping.
  if (question.method === "ping") return;
  const missing = capabilitiesFor(question).filter((name) => !client.can(name));
  if (missing.length > 0) {
    throw new QuestionError(
      "unsupported",
      `${question.method} needs ${missing.join(", ")}, which the client does not support.`,
      undefined,
      missing,
    );
  }
  const list = client.rules.elicitationModes ? undefined : findList(question.params?.requestedSchema);
  if (list === undefined) return;
  throw new QuestionError(
    "unsupported",
    `Property "${list}" of the form is a list of choices, which ${client.protocolVersion} does not support.`,
  );
}

/**
 * Checks that a question can be encoded.
 *
 * @throws {KitError} naming the parameter that has no JSON form, such as a bigint.
 */
export function requireJson({ method, params = {} }: Question | Ping): void {
  for (const [field, value] of Object.entries(params)) {
    try {
      JSON.stringify(value);
    } catch (cause) {
      throw new KitError("options-invalid", `${method}: ${field} has no JSON form.`, { cause });
    }
  }
}

/**
 * Checks a question before it is sent.
 *
 * @throws {QuestionError} `unsupported`.
 * @throws {KitError} naming the parameter that has no JSON form.
 */
export function checkQuestion(question: Question | Ping, client: ClientFacts): void {
  requireAnswerable(question, client);
  requireJson(question);
}

/** Returns the name of the first property that is a list. */
function findList(schema: unknown): string | undefined {
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
  return Object.keys(properties).find((name) => {
    const property = properties[name];
    return isObject(property) && property.type === "array";
  });
}

/** Returns the params in the form of the client's version. */
export function shapeQuestion({ method, params }: Question | Ping, client: ClientFacts): JsonObject {
  const { rules } = client;
  if (method !== "elicitation/create" || !params) return params ?? {};
  const { mode, requestedSchema, ...rest } = params;
  const shaped = isObject(requestedSchema) ? { requestedSchema: shapeElicitation(requestedSchema, rules) } : {};
  return { ...(rules.elicitationModes && mode !== undefined ? { mode } : {}), ...rest, ...shaped };
}
