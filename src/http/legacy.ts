/**
 * Serves the messages of one legacy POST: in the Worker for clients without a session, and in the object of the session
 * otherwise.
 *
 * @module
 */

import { type Asker, unavailableAsker } from "../core/ask/asker.ts";
import type { Registry } from "../core/define/registry.ts";
import type { RequestFacts } from "../core/define/server-options.ts";
import type { ClientFacts, Principal } from "../core/protocol/client-facts.ts";
import * as ErrorCode from "../core/protocol/error-codes.ts";
import type { ErrorReporter } from "../core/protocol/error-reports.ts";
import { CancelledError } from "../core/protocol/errors.ts";
import {
  encodeError,
  type JSONRPCErrorResponse,
  type JSONRPCNotification,
  type JSONRPCResultResponse,
  type ParsedMessage,
  type RequestId,
} from "../core/protocol/jsonrpc.ts";
import type { LoggingLevel } from "../core/protocol/logging.ts";
import type { RequestContext } from "../core/run/request-context.ts";
import { dispatch, takeCustomNotification } from "../core/serve/dispatch.ts";
import type { AcceptedForm } from "./headers.ts";
import { type Emit, type Outcome, respond } from "./respond.ts";
import type { HttpLimits } from "./response-times.ts";
import type { SessionPost } from "./sessions.ts";

/** The context of a legacy POST, without its messages. */
export interface LegacyContext {
  readonly registry: Registry;
  readonly client: ClientFacts;
  readonly principal: Principal | undefined;
  readonly env: unknown;
  readonly http: RequestFacts | undefined;
  readonly session?: RequestContext["session"];
  /** Keeps the background work of hooks running. */
  readonly execution: RequestContext["execution"];
  readonly endpoint: string;
  readonly limits: HttpLimits;
  readonly onError: ErrorReporter;
  /** The hooks of the endpoint, if it has any. */
  readonly endpointHooks?: RequestContext["endpointHooks"];
  readonly form: SessionPost["form"];
  /** The log level set by `logging/setLevel`. Absent without a session. */
  readonly logging?: {
    readonly level: LoggingLevel | undefined;
    readonly set: (level: LoggingLevel) => void | Promise<void>;
  };
  /** The questions to the client. Absent without a session, because the client cannot be asked then. */
  readonly questions?: {
    asker(emit: RequestContext["emit"]): Asker;
    settle(response: JSONRPCResultResponse | JSONRPCErrorResponse): unknown;
  };
  readonly once?: RequestContext["once"];
  /** Stores the URL elicitations of an error. Absent if the client cannot be notified when they are complete. */
  readonly awaitElicitations?: RequestContext["awaitElicitations"];
  readonly replay?: RequestContext["replay"];
  /**
   * The journal of a call that survives a restart of its object, the function that adds to it, and the timer of the
   * call.
   */
  readonly recording?: Pick<RequestContext, "journal" | "record" | "startTimer" | "progressAfter"> | undefined;
  /** Methods that are served in addition to the methods of the protocol. */
  readonly methods?: RequestContext["methods"];
  /** Closes the connection of the call's stream, which the client can resume. Absent if it cannot be resumed. */
  readonly disconnect?: RequestContext["disconnect"];
  /** Called with the promise of each custom notification handler that a message of this POST started. */
  readonly onHandling?: (handled: Promise<void>) => void;
  /** Called with each notification. */
  readonly onNotification?: (message: JSONRPCNotification) => void;
  /** Called for each request in order, before it runs. Returns the object that can cancel it. */
  readonly cancellationOf?: (id: RequestId) => Cancellation;
}

/** Cancels a request. The signal is created on first use. */
export class Cancellation {
  #controller: AbortController | undefined;
  /** Why the request was ended. */
  reason: unknown;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.reason !== undefined) this.#controller.abort(this.reason);
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.reason ??= reason;
    this.#controller?.abort(reason);
  }

  /** Called when the request has ended. */
  free(): void {}
}

/**
 * Processes a POST without requests. Returns false, and does not process anything, if one of the messages is a request
 * or invalid.
 */
export function takeAll(messages: readonly ParsedMessage[], context: LegacyContext): boolean {
  if (messages.some(({ kind }) => kind === "request" || kind === "invalid")) return false;
  for (const parsed of messages) take(parsed, context);
  return true;
}

/** Serves the messages of one POST. Each request is dispatched separately. */
export function runLegacy(
  messages: readonly ParsedMessage[],
  isBatch: boolean,
  context: LegacyContext,
): (emit: Emit) => Promise<Outcome> {
  return async (emit) => {
    let text: string | undefined;
    if (isBatch) {
      const answers = await Promise.all(messages.map((parsed) => serveOne(parsed, context, emit)));
      const texts = answers.filter((each) => each !== undefined);
      if (texts.length > 0) text = `[${texts.join(",")}]`;
    } else text = await serveOne(messages[0] as ParsedMessage, context, emit);
    return { text, status: text === undefined ? 202 : 200 };
  };
}

/** Returns the response to one POST, in the Worker that received it: 202 if none of its messages is a request. */
export function serveLegacy(
  messages: readonly ParsedMessage[],
  isBatch: boolean,
  context: LegacyContext & { readonly form: AcceptedForm },
): Response | Promise<Response> {
  if (takeAll(messages, context)) return new Response(null, { status: 202 });
  const { form, limits } = context;
  // A disconnect is not a cancellation in the legacy era (MCP 2025-11-25, basic/transports, "Sending Messages").
  const run = runLegacy(messages, isBatch, context);
  return respond(run, { form, limits });
}

/** Processes a notification or a response. */
function take(parsed: ParsedMessage, context: LegacyContext): void {
  if (parsed.kind === "notification") {
    const handled = takeCustomNotification(context.registry, parsed.message, context);
    if (handled) context.onHandling?.(handled);
    context.onNotification?.(parsed.message);
  }
  if (parsed.kind === "response") context.questions?.settle(parsed.message);
}

/** Returns the asker of this POST. If the client cannot be asked, the errors of the asker say why. */
function createAsker({ questions, form }: LegacyContext, emit: RequestContext["emit"]): Asker {
  if (!questions) {
    return unavailableAsker("the endpoint has no sessions");
  }
  if (form === "json") {
    return unavailableAsker("the response must be JSON (option jsonOnly, or Accept)");
  }
  return questions.asker(emit);
}

async function serveOne(
  parsed: ParsedMessage,
  context: LegacyContext,
  emit: RequestContext["emit"],
): Promise<string | undefined> {
  take(parsed, context);
  if (parsed.kind === "invalid") {
    if (parsed.isNotification) return undefined;
    return encodeError(parsed.id, { code: ErrorCode.InvalidRequest, message: `Invalid request: ${parsed.problem}.` });
  }
  if (parsed.kind !== "request") return undefined;
  const cancellation = context.cancellationOf?.(parsed.message.id) ?? new Cancellation();
  if (CancelledError.is(cancellation.reason)) {
    cancellation.free();
    return undefined;
  }
  const { logging, recording } = context;
  const call: RequestContext = {
    ...context,
    ...recording,
    emit,
    logLevel: logging?.level,
    setLogLevel: logging?.set,
    asker: createAsker(context, emit),
    ending: cancellation,
    request: parsed.message,
  };
  const { text } = await dispatch(call);
  cancellation.free();
  // A call that runs while its session is deleted still gets a response. A call that its client cancelled does not.
  return CancelledError.is(cancellation.reason) ? undefined : text;
}
