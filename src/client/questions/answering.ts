/**
 * Answers the questions of a server with the handlers from the options. Loaded on demand, because many servers ask no questions.
 *
 * The number of questions that are answered at the same time is limited, for each call and for the connection.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/mrtr; MCP 2025-11-25, client/elicitation, client/sampling, client/roots
 */

import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { invalidParams, McpError } from "../../core/protocol/errors.ts";
import {
  isObject,
  type JSONRPCErrorObject,
  type JSONRPCRequest,
  type JsonObject,
  type RequestId,
} from "../../core/protocol/jsonrpc.ts";
import { wrap } from "../api/extensions.ts";
import type {
  CreateMessageRequestParams,
  ElicitAnswer,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  QuestionContext,
} from "../api/questions.ts";
import type { IncomingRequest } from "../api/wrapped-requests.ts";
import { ConcurrencyLimit } from "../basics/concurrency-limit.ts";
import { Deadline, untilAborted } from "../basics/deadline.ts";
import { ClientError, invalidAnswer, toText } from "../basics/errors.ts";
import { QUESTIONS_PER_CALL } from "../requests/rounds.ts";
import type { JSONRPCResponse, Link } from "../transports/link.ts";
import type { AnsweringParts } from "./answering-parts.ts";

/** The maximum number of questions of a connection that are answered at the same time. */
const CONNECTION_MAX = 64;
/** The maximum number of questions that wait for their answers. More are ignored, with one warning. */
const OPEN_MAX = 10_000;

const ACTIONS: readonly unknown[] = ["accept", "decline", "cancel"];

/** A question of a legacy server, which is a request. */
export interface LegacyQuestion {
  readonly link: Link;
  readonly request: JSONRPCRequest;
  /** The call during which the server asks, if it is known. */
  readonly call: object | undefined;
  /** Pauses the limits of the calls to which the question may belong, until the returned function is called. */
  hold(): () => void;
}

/** A question that is waiting or being answered. */
interface OpenQuestion {
  readonly id: RequestId;
  readonly abort: AbortController;
}

export class Answering {
  readonly #parts: AnsweringParts;
  readonly #handlers = new ConcurrencyLimit(CONNECTION_MAX);
  readonly #sending = new ConcurrencyLimit(CONNECTION_MAX);
  /** The limit on questions that do not belong to a call. */
  readonly #withoutCall = new ConcurrencyLimit(CONNECTION_MAX);
  /** The limits of the questions of each call. */
  readonly #calls = new WeakMap<object, ConcurrencyLimit>();
  readonly #open = new Set<OpenQuestion>();
  /** Whether the warning about too many questions was reported. */
  #isIgnoring = false;

  constructor(parts: AnsweringParts) {
    this.#parts = parts;
  }

  /**
   * Answers one question, through the extensions.
   *
   * @throws {McpError} -32601 if there is no handler for the question, -32602 if its params are invalid.
   * @throws {unknown} the error that the handler throws.
   */
  answer(method: string, params: JsonObject, context: QuestionContext): Promise<JsonObject> {
    return this.#handlers.run(async () => {
      context.signal.throwIfAborted();
      return wrap(this.#parts.extensions(), "onQuestion", (last) => this.#answer(last))({ method, params, context });
    });
  }

  /** Answers a question of a legacy server. Resolves when the response was sent or none is needed. Never rejects. */
  async answerRequest({ link, request, call, hold }: LegacyQuestion): Promise<void> {
    const { id, method, params = {} } = request;
    const { rules } = link;
    if (rules?.era === "modern") return this.#ignore(`${rules.version} does not allow the request ${method}`);
    if (this.#open.size >= OPEN_MAX) {
      if (!this.#isIgnoring) this.#ignore(`${OPEN_MAX} earlier questions are not answered yet`);
      this.#isIgnoring = true;
      return;
    }
    const question: OpenQuestion = { id, abort: new AbortController() };
    this.#open.add(question);
    const { signal } = question.abort;
    await this.#findLimit(call).run(async () => {
      // Not earlier: a waiting question waits for handlers, which pause the limits themselves, or for the server to read responses.
      const release = hold();
      // A question that the server has cancelled is not answered.
      const answer = signal.aborted ? undefined : await this.#settle(method, params, signal);
      release();
      if (answer && !signal.aborted) await this.#send(link, method, { jsonrpc: "2.0", id, ...answer }, signal);
    });
    this.#open.delete(question);
    if (this.#open.size === 0) this.#isIgnoring = false;
  }

  /**
   * Aborts the running handlers. Waiting questions are not answered.
   *
   * @param cancelled The params of the notification with which the server cancels one question. @default all questions
   */
  end(reason: unknown, cancelled?: JsonObject): void {
    const text = `The server cancelled its request${typeof cancelled?.reason === "string" ? `: ${cancelled.reason}` : "."}`;
    for (const { id, abort } of this.#open) {
      if (!cancelled) abort.abort(reason);
      else if (id === cancelled.requestId) abort.abort(new Error(text));
    }
  }

  /**
   * Answers the questions in an `input_required` result, and returns the members to add to the next request. Meanwhile the limit
   * without progress is paused.
   *
   * @throws {ClientError} `answer-invalid` if the result is invalid or not allowed here; `question-failed` if a handler throws.
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
    if (length > OPEN_MAX) throw invalidAnswer(method, `it has ${length} questions, of at most ${OPEN_MAX}`);
    const release = deadline.hold();
    try {
      const { signal } = deadline;
      const limit = new ConcurrencyLimit(QUESTIONS_PER_CALL);
      const answered = questions.map(([, question]) => limit.run(() => this.#answerOne(method, question, signal)));
      const values = await untilAborted(Promise.all(answered), signal);
      const inputResponses = Object.fromEntries(questions.map(([key], index) => [key, values[index]]));
      return inputRequests === undefined ? state : { inputResponses, ...state };
    } finally {
      release();
    }
  }

  #findLimit(call: object | undefined): ConcurrencyLimit {
    if (!call) return this.#withoutCall;
    const limit = this.#calls.get(call) ?? new ConcurrencyLimit(QUESTIONS_PER_CALL);
    this.#calls.set(call, limit);
    return limit;
  }

  #ignore(reason: string): void {
    this.#parts.report({ type: "warning", message: `A message of the server was ignored: ${reason}.` });
  }

  #send(link: Link, method: string, response: JSONRPCResponse, cancelled: AbortSignal): Promise<void> {
    const { timeoutMs, report } = this.#parts;
    return this.#sending.run(async () => {
      const deadline = new Deadline({ what: "Sending", timeoutMs, totalTimeoutMs: 0 });
      try {
        await link.send(response, deadline.signal);
      } catch (error) {
        // The server no longer needs a response to a cancelled question.
        if (!cancelled.aborted)
          report({ type: "warning", message: `The response to ${method} could not be sent: ${toText(error)}` });
      } finally {
        deadline.stop();
      }
    });
  }

  /** Answers a question of a legacy server, and returns the result or the error to send. Never rejects. */
  async #settle(
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
        // Its message may contain details of the user's machine, so it is not sent.
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
      // The modern protocol has no answer for a failed handler, so the request fails.
      throw new ClientError("question-failed", `${method} asked ${question.method}, which failed: ${toText(cause)}`, {
        cause,
        // The server has run its handler up to the question.
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
      return { action: checkAction(action) };
    }
    if (mode !== "form" || !onElicit) {
      throw invalidParams(`This client has not declared elicitation.${String(mode)}.`, { field: "mode" });
    }
    const form = params as unknown as ElicitRequestFormParams;
    const { action, content } = await onElicit(form, context);
    return action === "accept" ? { action, content: withDefaults(form, content) } : { action: checkAction(action) };
  }
}

function internalError(): JSONRPCErrorObject {
  return { code: ErrorCode.InternalError, message: "The client failed to answer." };
}

/** Adds the default values of the fields that the user has left empty. @see MCP 2025-11-25, client/elicitation, "Requested Schema" */
function withDefaults({ requestedSchema }: ElicitRequestFormParams, content: ElicitAnswer["content"]): JsonObject {
  const properties = isObject(requestedSchema?.properties) ? requestedSchema.properties : {};
  const defaults = Object.entries(properties).flatMap(([name, schema]): [string, unknown][] =>
    isObject(schema) && schema.default !== undefined ? [[name, schema.default]] : [],
  );
  const given = Object.entries(content ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries([...defaults, ...given]);
}

/** Returns the action of a handler. @throws {TypeError} if the protocol does not define the action. */
function checkAction(action: unknown): unknown {
  if (ACTIONS.includes(action)) return action;
  throw new TypeError(`The action of an elicitation must be ${ACTIONS.join(", ")}, not ${JSON.stringify(action)}.`);
}
