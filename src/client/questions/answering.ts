/**
 * Answers the questions of a server with the handlers of the author. Loaded on demand, because many servers ask nothing.
 *
 * A server may ask without end, so few questions are answered at the same time: of one call, and of the whole connection.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/mrtr; MCP 2025-11-25, client/elicitation, client/sampling, client/roots
 */
import { invalidParams, McpError } from "../../core/protocol/errors.ts";
import {
  ErrorCode,
  isObject,
  type JSONRPCErrorObject,
  type JSONRPCRequest,
  type JsonObject,
  type RequestId,
} from "../../core/protocol/jsonrpc.ts";
import { ClientError, invalidAnswer, toText } from "../errors.ts";
import { wrap } from "../extensions.ts";
import { Deadline, untilAborted } from "../requests/deadline.ts";
import { Lanes } from "../requests/lanes.ts";
import type { IncomingRequest } from "../requests/passing-on.ts";
import { QUESTIONS_PER_CALL } from "../requests/rounds.ts";
import type { Answer, Link } from "../transports/link.ts";
import type { AnsweringParts } from "./answering-parts.ts";
import type {
  CreateMessageRequestParams,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  QuestionContext,
} from "./questions.ts";

/** How many questions of all calls together are answered at the same time, or of those that belong to no call. */
const CONNECTION_MAX = 64;
/** How many questions are remembered until they are answered. */
const REMEMBERED_MAX = 10_000;

const ACTIONS: readonly unknown[] = ["accept", "decline", "cancel"];

/** A request of a legacy server. */
export interface Question {
  readonly link: Link;
  readonly request: JSONRPCRequest;
  /** The call during which the server asks, if it is known. */
  readonly call: object | undefined;
  /** Stops the limits of the calls that may have led to the question, until the returned function is called. */
  hold(): () => void;
}

/** A question that is being answered, or waits for it. */
interface OpenQuestion {
  readonly id: RequestId;
  readonly abort: AbortController;
}

export class Answering {
  readonly #parts: AnsweringParts;
  readonly #handlers = new Lanes(CONNECTION_MAX);
  readonly #sending = new Lanes(CONNECTION_MAX);
  /** Questions that belong to no call. */
  readonly #others = new Lanes(CONNECTION_MAX);
  readonly #calls = new WeakMap<object, Lanes>();
  readonly #open = new Set<OpenQuestion>();
  /** Whether the questions beyond the limit were reported. */
  #isIgnoring = false;

  constructor(parts: AnsweringParts) {
    this.#parts = parts;
  }

  /**
   * Answers one question, through the extensions.
   *
   * @throws {McpError} -32601 if there is no handler for it, -32602 if its params are invalid.
   * @throws {unknown} what the handler throws.
   */
  answer(method: string, params: JsonObject, context: QuestionContext): Promise<JsonObject> {
    return this.#handlers.run(async () => {
      context.signal.throwIfAborted();
      return wrap(this.#parts.extensions(), "onQuestion", (last) => this.#answer(last))({ method, params, context });
    });
  }

  /** Answers a request of a legacy server. Resolves when the answer was sent, or there is none. Never rejects. */
  async answerRequest({ link, request, call, hold }: Question): Promise<void> {
    const { id, method, params = {} } = request;
    const { rules } = link;
    if (rules?.era === "modern") return this.#ignore(`${rules.version} does not allow the request ${method}`);
    if (this.#open.size >= REMEMBERED_MAX) {
      if (!this.#isIgnoring) this.#ignore(`${REMEMBERED_MAX} earlier questions are not answered yet`);
      this.#isIgnoring = true;
      return;
    }
    const question: OpenQuestion = { id, abort: new AbortController() };
    this.#open.add(question);
    const { signal } = question.abort;
    await this.#lanesOf(call).run(async () => {
      // Not earlier: what waits here waits for handlers, which stop the limits, or for the server to read.
      const release = hold();
      // A question that the server withdrew is not answered.
      const answer = signal.aborted ? undefined : await this.#outcomeOf(method, params, signal);
      // The call waits for the server again.
      release();
      if (answer && !signal.aborted) await this.#send(link, method, { jsonrpc: "2.0", id, ...answer }, signal);
    });
    this.#open.delete(question);
    if (this.#open.size === 0) this.#isIgnoring = false;
  }

  /**
   * Aborts the handlers that are running. What waits is not answered.
   *
   * @param withdrawn The params of the notification with which the server withdraws one question. @default all questions
   */
  end(reason: unknown, withdrawn?: JsonObject): void {
    const text = `The server withdrew its request${typeof withdrawn?.reason === "string" ? `: ${withdrawn.reason}` : "."}`;
    for (const { id, abort } of this.#open) {
      if (!withdrawn) abort.abort(reason);
      else if (id === withdrawn.requestId) abort.abort(new Error(text));
    }
  }

  /**
   * Answers the questions of an `input_required` result and returns the members for the next request.
   *
   * The limit without progress stands still meanwhile.
   *
   * @throws {ClientError} `answer-invalid` if the server must not ask like this; `question-failed` if a handler throws.
   */
  async answerRound(method: string, result: JsonObject, deadline: Deadline): Promise<JsonObject> {
    const { inputRequests, requestState } = result;
    const state = typeof requestState === "string" ? { requestState } : {};
    if (inputRequests === undefined && requestState === undefined) {
      throw invalidAnswer(method, "it has neither inputRequests nor requestState");
    }
    if (inputRequests !== undefined && !isObject(inputRequests))
      throw invalidAnswer(method, "inputRequests is not an object");
    const questions = Object.entries(inputRequests ?? {});
    const { length } = questions;
    if (length > REMEMBERED_MAX)
      throw invalidAnswer(method, `it asks ${length} questions, and at most ${REMEMBERED_MAX} are answered`);
    const release = deadline.hold();
    try {
      const { signal } = deadline;
      const lanes = new Lanes(QUESTIONS_PER_CALL);
      const answered = questions.map(([, question]) => lanes.run(() => this.#answerOne(method, question, signal)));
      const values = await untilAborted(Promise.all(answered), signal);
      const inputResponses = Object.fromEntries(questions.map(([key], index) => [key, values[index]]));
      return inputRequests === undefined ? state : { inputResponses, ...state };
    } finally {
      release();
    }
  }

  #lanesOf(call: object | undefined): Lanes {
    if (!call) return this.#others;
    const lanes = this.#calls.get(call) ?? new Lanes(QUESTIONS_PER_CALL);
    this.#calls.set(call, lanes);
    return lanes;
  }

  #ignore(reason: string): void {
    this.#parts.report({ type: "warning", message: `A message of the server was ignored: ${reason}.` });
  }

  #send(link: Link, method: string, answer: Answer, over?: AbortSignal): Promise<void> {
    const { timeoutMs, report } = this.#parts;
    return this.#sending.run(async () => {
      const deadline = new Deadline({ what: "The message", timeoutMs, totalTimeoutMs: 0 });
      try {
        await link.send(answer, deadline.signal);
      } catch (error) {
        // Nobody waits for an answer after the client was closed.
        if (!over?.aborted)
          report({ type: "warning", message: `The answer to ${method} could not be sent: ${toText(error)}` });
      } finally {
        deadline.stop();
      }
    });
  }

  async #outcomeOf(
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<{ result: JsonObject } | { error: JSONRPCErrorObject }> {
    try {
      const result = await this.answer(method, params, { signal });
      return isObject(result) ? { result } : { error: internalError() };
    } catch (error) {
      if (!McpError.is(error)) {
        if (!signal.aborted) this.#parts.report({ type: "handler-failed", handler: method, error });
        // The text may contain details of the user's machine.
        return { error: internalError() };
      }
      const { code, message, data } = error;
      return { error: { code, message, ...(data === undefined ? {} : { data }) } };
    }
  }

  async #answerOne(method: string, question: unknown, signal: AbortSignal): Promise<JsonObject> {
    if (!isObject(question) || typeof question.method !== "string")
      throw invalidAnswer(method, "a question has no method");
    try {
      return await this.answer(question.method, isObject(question.params) ? question.params : {}, { signal });
    } catch (cause) {
      signal.throwIfAborted();
      // A modern answer cannot say that it failed, so the request ends here.
      throw new ClientError("question-failed", `${method} asked ${question.method}, which failed: ${toText(cause)}`, {
        cause,
        // The handler of the server has run up to its question.
        mayHaveRun: true,
      });
    }
  }

  async #answer({ method, params, context }: IncomingRequest): Promise<JsonObject> {
    const { onSample, onRequest, samplesWithTools } = this.#parts.options;
    const roots = this.#parts.roots();
    if (method === "elicitation/create") return this.#elicit(params, context);
    if (method === "sampling/createMessage" && onSample) {
      if (params.tools !== undefined && !samplesWithTools) {
        throw invalidParams("This client has not declared sampling.tools.", { field: "tools" });
      }
      return { ...(await onSample(params as unknown as CreateMessageRequestParams, context)) };
    }
    if (method === "roots/list" && roots) return { roots };
    if (method === "ping") return {};
    if (onRequest) return onRequest(method, params, context);
    throw new McpError(ErrorCode.MethodNotFound, `This client does not answer ${method}.`);
  }

  async #elicit(params: JsonObject, context: QuestionContext): Promise<JsonObject> {
    const { onElicit, onElicitUrl } = this.#parts.options;
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

function internalError(): JSONRPCErrorObject {
  return { code: ErrorCode.InternalError, message: "The client failed to answer." };
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
