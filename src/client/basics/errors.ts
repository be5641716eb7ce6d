/**
 * The errors of the client. An error that the server sent is an `McpError`; every other failure is a {@link ClientError},
 * which says what failed and whether the server may have run the request.
 *
 * @module
 */

const BRAND = Symbol.for("mcp-edge.error");

/** Where a failure came from: the server's response, the connection, a limit of this client, or the way the client was used. */
export type ClientErrorSource = "server" | "transport" | "limit" | "use";

const SOURCES = {
  "answer-invalid": "server",
  "version-unsupported": "server",
  unreachable: "transport",
  "http-status": "transport",
  "stream-lost": "transport",
  "session-lost": "transport",
  closed: "transport",
  "sign-in-failed": "transport",
  timeout: "limit",
  "total-timeout": "limit",
  "message-too-large": "limit",
  "rounds-max": "limit",
  "question-failed": "use",
  "capability-missing": "use",
  "method-missing": "use",
  "tool-invalid": "use",
} as const satisfies Record<string, ClientErrorSource>;

/**
 * The kind of a {@link ClientError}:
 *
 * - `answer-invalid`: the response is not what the protocol defines.
 * - `version-unsupported`: client and server have no protocol version in common.
 * - `unreachable`: the server sent no HTTP response, or its process could not be started.
 * - `http-status`: the server answered with an HTTP status such as 401, without a JSON-RPC error. See `response`.
 * - `stream-lost`: the connection broke before the response was complete, and could not be resumed.
 * - `session-lost`: the server no longer knows the session.
 * - `sign-in-failed`: the request could not be authorized. The error is an `OAuthError` of `mcp-edge/client/oauth`.
 * - `closed`: the client or its transport is closed.
 * - `timeout`, `total-timeout`: no response within `timeoutMs` or `totalTimeoutMs`.
 * - `message-too-large`: a message exceeds `messageBytesMax`.
 * - `rounds-max`: the server asked more than `roundsMax` times within one request.
 * - `question-failed`: a handler threw while it answered a question that the server asked during this request. See `cause`.
 * - `capability-missing`: the server has not declared the capability that the request needs. Nothing was sent.
 * - `method-missing`: the protocol version of the connection lacks the method. Nothing was sent.
 * - `tool-invalid`: the definition of the tool is invalid, so it must not be called. Nothing was sent.
 */
export type ClientErrorCode = keyof typeof SOURCES;

/** An HTTP response with which the server refused a request. */
export interface RefusedResponse {
  /** The status, such as 401. */
  readonly status: number;
  /** The headers, such as `WWW-Authenticate`. */
  readonly headers: Headers;
  /** The beginning of the body. */
  readonly body: string;
}

/** Details of a {@link ClientError}. */
export interface ClientErrorFacts {
  /** Whether the server may have run the request. @default false */
  readonly mayHaveRun?: boolean;
  /** The HTTP response, for `http-status` and `session-lost`. */
  readonly response?: RefusedResponse | undefined;
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/** Thrown when a request fails for another reason than a JSON-RPC error of the server. */
export class ClientError extends Error {
  /** The class of the error. */
  override readonly name: string = "ClientError";
  /** Marks the error, so that another copy of the package recognises it. */
  readonly [BRAND] = "ClientError";
  /** The kind of failure, for programs. */
  readonly code: ClientErrorCode;
  /** Where the failure came from. Determined by `code`. */
  readonly source: ClientErrorSource;
  /**
   * Whether the server may have received and run the request. False: it has not, so repeating the request is safe. True:
   * it may have, completely or in part.
   */
  readonly mayHaveRun: boolean;
  /** The HTTP response with which the server refused the request, if there is one. */
  readonly response: RefusedResponse | undefined;

  /** Creates an error, for a `ClientAuth` or a test of your own. */
  constructor(code: ClientErrorCode, message: string, facts: ClientErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = code;
    this.source = SOURCES[code];
    this.mayHaveRun = facts.mayHaveRun ?? false;
    this.response = facts.response;
  }

  /** Whether a value is such an error, including one from another copy of the package. */
  static is(value: unknown): value is ClientError {
    return value instanceof ClientError || (value as { [BRAND]?: unknown } | undefined)?.[BRAND] === "ClientError";
  }
}

/** Returns the error with `mayHaveRun`, because an earlier attempt may have run. */
export function markMayHaveRun(error: unknown): unknown {
  if (!ClientError.is(error) || error.mayHaveRun) return error;
  // A copy, because several requests may fail with the same error. It keeps its class.
  const copy = Object.create(Object.getPrototypeOf(error), Object.getOwnPropertyDescriptors(error));
  return Object.defineProperty(copy, "mayHaveRun", { value: true, enumerable: true });
}

/** Returns the error for a response that is not what the protocol defines. */
export function invalidAnswer(method: string, problem: string, response?: RefusedResponse): ClientError {
  return new ClientError("answer-invalid", `The response to ${method} is invalid: ${problem}.`, {
    mayHaveRun: true,
    response,
  });
}

/** Returns the message of an error and of its cause: Node's `fetch` rejects with "fetch failed", and the cause has the reason. */
export function toText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
