/**
 * The questions a server may ask a client, shaped for the version of the client.
 *
 * @module
 * @see MCP 2026-07-28, client/elicitation, client/sampling, client/roots
 */
import type { ClientCapabilityName, ClientFacts } from "../protocol/client-facts.ts";
import { KitError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { AnySchema } from "../protocol/schema.ts";
import { compileElicitation, type ElicitationSchema, shapeElicitation } from "./elicitation-schema.ts";
import { QuestionError } from "./question-errors.ts";

/** One request to a client, by method and params: the value of an entry of `inputRequests`. */
export interface Question {
  /** The kind of question. */
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  /** The parameters of the question, as the protocol defines them. */
  readonly params?: JsonObject;
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

/**
 * Returns the question for the folders that the user has opened to the server, for `inputRequired({ ... })`.
 *
 * @see MCP 2026-07-28, client/roots
 */
export function rootsQuestion(): Question {
  return { method: "roots/list" };
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

/** @throws {QuestionError} `unsupported`; {KitError} naming the parameter that has no JSON form, such as a bigint. */
export function checkQuestion(question: Question | Ping, client: ClientFacts): void {
  requireAnswerable(question, client);
  requireJson(question);
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
