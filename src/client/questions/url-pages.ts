/**
 * The error -32042 of 2025-11-25, with which a server refuses a request until the user has visited pages.
 *
 * @module
 * @see MCP 2025-11-25, client/elicitation, "URL Elicitation Required Error"
 */

import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { McpError } from "../../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { ClientExtension, ExtensionContext } from "../api/extensions.ts";
import type { ElicitRequestURLParams } from "../api/questions.ts";
import type { Next, OutgoingRequest } from "../api/wrapped-requests.ts";
import { Deadline, untilAborted } from "../basics/deadline.ts";
import { ClientError, markMayHaveRun, toText } from "../basics/errors.ts";
import { tooManyRounds } from "../requests/refused-requests.ts";

/**
 * The error of a server that runs a request only after the user has visited pages. Send the request again after the visit, or
 * use {@link visitPages}.
 */
export interface UrlElicitationError extends McpError {
  /** The pages. */
  readonly data: {
    /** The pages. Show their addresses to the user, and do not fetch them. */
    readonly elicitations: readonly ElicitRequestURLParams[];
  };
}

/** Whether a request was rejected because the user has to visit pages first. */
export function isUrlElicitationRequired(error: unknown): error is UrlElicitationError {
  if (!McpError.is(error) || error.code !== ErrorCode.UrlElicitationRequired) return false;
  const { elicitations } = isObject(error.data) ? error.data : {};
  return Array.isArray(elicitations) && elicitations.length > 0 && elicitations.every(isPage);
}

function isPage(page: unknown): boolean {
  return isObject(page) && typeof page.url === "string" && typeof page.elicitationId === "string";
}

/** The options of {@link visitPages}. */
export interface VisitPagesOptions {
  /** The maximum number of times that a request is sent again after its pages were visited. @default 16 */
  readonly roundsMax?: number;
}

/**
 * Lets the user visit the pages that a server of 2025-11-25 requires with the error -32042, and then sends the request again. Each
 * page is passed to `onElicitUrl`. If the user agrees, the client waits until the server reports that the user has finished, or until
 * the handler calls `finish` of its context. If the user refuses a page, the request rejects with the error.
 *
 * ```ts
 * import { connect, visitPages } from "mcp-edge/client";
 *
 * const client = await connect("https://example.com/mcp", {
 *   name: "my-app",
 *   version: "1.0.0",
 *   use: [visitPages()],
 *   onElicitUrl: async ({ url, message }) => ({ action: (await confirmUrl(message, url)) ? "accept" : "decline" }),
 * });
 * ```
 */
export function visitPages({ roundsMax = 16 }: VisitPagesOptions = {}): ClientExtension {
  return (context) => {
    /** Functions that end the visit of a page, by the id of the elicitation. */
    const finishes = new Map<unknown, () => void>();
    return {
      onRequest: (request, next) => send(request, next, context, finishes, roundsMax),
      onNotification: (method, { elicitationId }) => {
        if (method === "notifications/elicitation/complete") finishes.get(elicitationId)?.();
      },
    };
  };
}

async function send(
  request: OutgoingRequest,
  next: Next<OutgoingRequest>,
  context: ExtensionContext,
  finishes: Map<unknown, () => void>,
  roundsMax: number,
): Promise<JsonObject> {
  const { method, options } = request;
  const { totalTimeoutMs = context.totalTimeoutMs } = options;
  const signal = options.signal ? AbortSignal.any([options.signal, context.signal]) : context.signal;
  for (let rounds = 0; ; rounds += 1) {
    try {
      return await next(request);
    } catch (error) {
      if (!isUrlElicitationRequired(error)) throw rounds > 0 ? markMayHaveRun(error) : error;
      if (rounds >= roundsMax) throw tooManyRounds(method, rounds);
      const deadline = new Deadline({ what: method, timeoutMs: 0, totalTimeoutMs, signal });
      const ending = new AbortController();
      const visiting = AbortSignal.any([deadline.signal, ending.signal]);
      const visits = error.data.elicitations.map((page) => visit(page, error, context, finishes, visiting));
      try {
        await untilAborted(Promise.all(visits), deadline.signal);
      } finally {
        deadline.stop();
        ending.abort();
      }
    }
  }
}

/** Asks the user to visit a page. Resolves when the user has finished. @throws {McpError} `required` if the user refuses. */
async function visit(
  { url, message, elicitationId }: ElicitRequestURLParams,
  required: McpError,
  { answer }: ExtensionContext,
  finishes: Map<unknown, () => void>,
  signal: AbortSignal,
): Promise<void> {
  const finished = new Promise<void>((resolve) => {
    finishes.set(elicitationId, resolve);
  });
  const finish = () => finishes.get(elicitationId)?.();
  signal.addEventListener("abort", () => finishes.delete(elicitationId));
  let answered: JsonObject;
  try {
    const page = { mode: "url", url, message, elicitationId };
    answered = await answer("elicitation/create", page, { signal, finish });
  } catch (cause) {
    // Without a handler, the caller needs the error, which has the URLs.
    if (McpError.is(cause)) throw required;
    const text = `A request needs a visit to ${url}, and onElicitUrl failed: ${toText(cause)}`;
    throw new ClientError("question-failed", text, { cause, mayHaveRun: true });
  }
  if (answered.action !== "accept") throw required;
  await finished;
}
