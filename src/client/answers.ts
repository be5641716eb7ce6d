import type { ClientCapabilities } from "../core/protocol/client-facts.ts";
import { invalidParams, McpError } from "../core/protocol/errors.ts";
import { ErrorCode, isObject, type JsonObject } from "../core/protocol/jsonrpc.ts";
import type { Era } from "../core/protocol/versions.ts";
import { type ExtensionHooks, type IncomingRequest, wrap } from "./extensions.ts";
import type { ClientOptions } from "./options.ts";
import type {
  CreateMessageRequestParams,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  QuestionContext,
  Root,
} from "./questions.ts";

const ACTIONS: readonly unknown[] = ["accept", "decline", "cancel"];

/** Answers the questions of a server with the author's handlers. */
export class Answers {
  readonly #options: ClientOptions;
  readonly #extensions: () => readonly ExtensionHooks[];
  /** The current roots; undefined if the client has no roots. */
  roots: readonly Root[] | undefined;

  constructor(options: ClientOptions, extensions: () => readonly ExtensionHooks[]) {
    this.#options = options;
    this.#extensions = extensions;
    this.roots = options.roots;
  }

  /** The capabilities to declare: those of the handlers, and those that the author and the extensions add. */
  capabilities(era: Era): ClientCapabilities {
    const { onElicit, onElicitUrl, onSample, samplesWithTools, capabilities } = this.#options;
    const elicitation = { ...(onElicit ? { form: {} } : {}), ...(onElicitUrl ? { url: {} } : {}) };
    const own: ClientCapabilities = {
      ...(onElicit || onElicitUrl ? { elicitation } : {}),
      ...(onSample ? { sampling: samplesWithTools ? { tools: {} } : {} } : {}),
      ...(this.roots ? { roots: era === "legacy" ? { listChanged: true } : {} } : {}),
      ...capabilities,
    };
    return this.#extensions().reduce((all, { capabilities: more }) => {
      return merge(all, typeof more === "function" ? more(era) : more);
    }, own);
  }

  /**
   * Answers one question, through the extensions.
   *
   * @throws {McpError} -32601 if there is no handler for it, -32602 if its params are invalid.
   * @throws {unknown} what the handler throws.
   */
  answer(method: string, params: JsonObject, context: QuestionContext): Promise<JsonObject> {
    return wrap(this.#extensions(), "onQuestion", (last) => this.#answer(last))({ method, params, context });
  }

  async #answer({ method, params, context }: IncomingRequest): Promise<JsonObject> {
    const { onSample, onRequest, samplesWithTools } = this.#options;
    if (method === "elicitation/create") return this.#elicit(params, context);
    if (method === "sampling/createMessage" && onSample) {
      if (params.tools !== undefined && !samplesWithTools) {
        throw invalidParams("This client has not declared sampling.tools.", { field: "tools" });
      }
      return { ...(await onSample(params as unknown as CreateMessageRequestParams, context)) };
    }
    if (method === "roots/list" && this.roots) return { roots: this.roots };
    if (method === "ping") return {};
    if (onRequest) return onRequest(method, params, context);
    throw new McpError(ErrorCode.MethodNotFound, `This client does not answer ${method}.`);
  }

  async #elicit(params: JsonObject, context: QuestionContext): Promise<JsonObject> {
    const { onElicit, onElicitUrl } = this.#options;
    const { mode = "form" } = params;
    if (mode === "url" && onElicitUrl) {
      const { action } = await onElicitUrl(params as unknown as ElicitRequestURLParams, context);
      return { action: checkedAction(action) };
    }
    if (mode !== "form" || !onElicit) {
      throw invalidParams(`This client has not declared elicitation.${String(mode)}.`, { field: "mode" });
    }
    const form = params as unknown as ElicitRequestFormParams;
    const { action, content } = await onElicit(form, context);
    return action === "accept" ? { action, content: withDefaults(form, content) } : { action: checkedAction(action) };
  }
}

/** Adds capabilities. Those that both have, such as `extensions`, get the members of both. */
function merge(one: ClientCapabilities, other: ClientCapabilities = {}): ClientCapabilities {
  const both = Object.entries(other).map(([name, value]) => {
    const present = one[name];
    return [name, isObject(present) && isObject(value) ? { ...present, ...value } : value];
  });
  return { ...one, ...Object.fromEntries(both) };
}

/** Adds the defaults of the fields that the user left out. @see MCP 2025-11-25, client/elicitation, "Requested Schema" */
function withDefaults({ requestedSchema }: ElicitRequestFormParams, content: ElicitResult["content"]): JsonObject {
  const properties = isObject(requestedSchema?.properties) ? requestedSchema.properties : {};
  const defaults = Object.entries(properties).flatMap(([name, schema]): [string, unknown][] =>
    isObject(schema) && schema.default !== undefined ? [[name, schema.default]] : [],
  );
  const given = Object.entries(content ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries([...defaults, ...given]);
}

/** @throws {TypeError} for an action that the protocol lacks, so that a mistake is not taken for an answer. */
function checkedAction(action: unknown): unknown {
  if (ACTIONS.includes(action)) return action;
  throw new TypeError(`The action of an elicitation is ${ACTIONS.join(", ")}, not ${JSON.stringify(action)}.`);
}
