/**
 * Serving the messages of one legacy POST, with or without a session: the Worker does it for stateless clients, the
 * session object for the others.
 *
 * @module
 */
import { type Asker, askNobody } from "../core/asker.ts";
import type { ClientFacts, Principal } from "../core/client-facts.ts";
import type { Call, ErrorReporter } from "../core/context.ts";
import { dispatch, takeCustomNotification } from "../core/dispatch.ts";
import { CancelledError } from "../core/errors.ts";
import {
  ErrorCode,
  encodeError,
  type JSONRPCErrorResponse,
  type JSONRPCNotification,
  type JSONRPCResultResponse,
  type ParsedMessage,
  type RequestId,
} from "../core/jsonrpc.ts";
import type { Limits } from "../core/limits.ts";
import type { LoggingLevel } from "../core/logging.ts";
import type { McpServer } from "../core/server.ts";
import type { AcceptedForm } from "./headers.ts";
import { respond } from "./respond.ts";

/** What serving needs to know beside the messages. */
export interface LegacyContext<Env> {
  readonly server: McpServer<Env>;
  readonly client: ClientFacts;
  readonly principal: Principal | undefined;
  readonly env: Env;
  readonly limits: Limits;
  readonly onError: ErrorReporter;
  readonly form: AcceptedForm;
  /** What the session keeps of `logging/setLevel`; absent without a session. */
  readonly logging?: {
    readonly level: LoggingLevel | undefined;
    readonly set: (level: LoggingLevel) => void | Promise<void>;
  };
  /** What the session has asked its client; absent without a session, which then cannot ask. */
  readonly questions?: {
    asker(emit: Call<Env>["emit"]): Asker;
    settle(response: JSONRPCResultResponse | JSONRPCErrorResponse): void;
  };
  /** Hears of notifications; requests are answered. */
  readonly onNotification?: (message: JSONRPCNotification) => void;
  /** Called with each request about to run; what it returns undoes it when the request has ended. */
  readonly register?: (id: RequestId, cancellation: AbortController) => () => void;
}

/** Answers the messages of one POST. 202 when none of them is a request. */
export function serveLegacy<Env>(
  messages: readonly ParsedMessage[],
  isBatch: boolean,
  context: LegacyContext<Env>,
): Promise<Response> {
  const { form, limits } = context;
  if (messages.every(({ kind }) => kind === "notification" || kind === "response")) {
    for (const parsed of messages) take(parsed, context);
    return Promise.resolve(new Response(null, { status: 202 }));
  }
  // A disconnect is not a cancellation in the legacy era (MCP 2025-11-25, basic/transports, "Sending Messages").
  return respond(
    async (emit) => {
      const answers = await Promise.all(messages.map((parsed) => serveOne(parsed, context, emit)));
      const texts = answers.filter((text) => text !== undefined);
      if (texts.length === 0) return { text: undefined, status: 202 };
      return { text: isBatch ? `[${texts.join(",")}]` : texts[0], status: 200 };
    },
    { form, limits, clientGone: undefined, cancelsWithClient: false },
  );
}

/** Takes what no answer is due to. */
function take<Env>(parsed: ParsedMessage, context: LegacyContext<Env>): void {
  if (parsed.kind === "notification") {
    takeCustomNotification(context.server, parsed.message, context.onError);
    context.onNotification?.(parsed.message);
  }
  if (parsed.kind === "response") context.questions?.settle(parsed.message);
}

/** How this POST can ask its client, or why not. */
function askerOf<Env>({ questions, form }: LegacyContext<Env>, emit: Call<Env>["emit"]): Asker {
  if (!questions) return askNobody("this server keeps no sessions, so no answer could find the question");
  if (form === "json") return askNobody("the client accepts JSON answers only, which have no place for a question");
  return questions.asker(emit);
}

async function serveOne<Env>(
  parsed: ParsedMessage,
  context: LegacyContext<Env>,
  emit: Call<Env>["emit"],
): Promise<string | undefined> {
  take(parsed, context);
  if (parsed.kind === "invalid") {
    if (parsed.isNotification) return undefined;
    return encodeError(parsed.id, { code: ErrorCode.InvalidRequest, message: `Invalid request: ${parsed.problem}.` });
  }
  if (parsed.kind !== "request") return undefined;
  const cancellation = new AbortController();
  const unregister = context.register?.(parsed.message.id, cancellation);
  const { server, client, principal, env, limits, onError } = context;
  const { signal } = cancellation;
  const { level: logLevel, set: setLogLevel } = context.logging ?? { level: undefined, set: undefined };
  const asker = askerOf(context, emit);
  const call: Call<Env> = { client, principal, env, limits, onError, emit, signal, logLevel, setLogLevel, asker };
  const answer = await dispatch(server, parsed.message, call);
  unregister?.();
  // A call that DELETE overtakes still gets its answer; one that its client cancelled does not.
  return CancelledError.is(signal.reason) ? undefined : answer.text;
}
