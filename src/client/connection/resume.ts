/**
 * Waits for the response to a request that another connection has sent. Loaded on demand.
 *
 * A token is a JSON array in base64: the URL of the server, the protocol version, the session id, the id and the method of the request,
 * and the id of the last received event.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { KitError } from "../../core/protocol/errors.ts";
import { isRequestId, type JsonObject, type RequestId } from "../../core/protocol/jsonrpc.ts";
import { findSpoken, type SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import type { ClientLimits } from "../api/options.ts";
import { Deadline } from "../basics/deadline.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { HttpLink } from "../transports/http-link.ts";
import type { Link } from "../transports/link.ts";
import type { ConnectTarget } from "./open-link.ts";
import type { RequestSender } from "./request-sender.ts";

export interface ResumeParts {
  readonly target: ConnectTarget;
  readonly sender: RequestSender;
  readonly limits: ClientLimits;
  open(): Promise<Link>;
}

/** The contents of a token. */
interface InterruptedRequest {
  readonly rules: SpokenVersion;
  readonly sessionId: string | undefined;
  readonly id: RequestId;
  readonly method: string;
  readonly lastEventId: string;
}

/**
 * Resumes the stream of a request, and returns its result.
 *
 * @throws {KitError} `options-invalid` if the token is invalid or for another server.
 * @throws {ClientError} `stream-lost` if the server no longer has the events; `session-lost` if the session no longer exists.
 */
export async function resumeRequest(
  token: string,
  options: RequestOptions,
  { target, sender, limits, open }: ResumeParts,
): Promise<JsonObject> {
  const { rules, sessionId, id, method, lastEventId } = readToken(token, target);
  // The cast is safe because only clients of a URL create tokens.
  const link = (await open()) as HttpLink;
  await sender.start(link);
  link.rules = rules;
  link.sessionId = sessionId;
  const { signal, onProgress, resetTimeoutOnProgress } = options;
  const { timeoutMs = limits.timeoutMs, totalTimeoutMs = limits.totalTimeoutMs } = options;
  const deadline = new Deadline({ what: method, timeoutMs, totalTimeoutMs, signal });
  try {
    const resume = { id, lastEventId };
    // The progress token of the request was its id.
    return await sender.request(method, undefined, {
      link,
      deadline,
      resume,
      onProgress,
      resetTimeoutOnProgress,
      progressToken: id,
    });
  } finally {
    deadline.stop();
  }
}

/** Reads a token. @throws {KitError} `options-invalid`. The message does not contain the token, which is a secret. */
function readToken(token: string, target: ConnectTarget): InterruptedRequest {
  const [url, version, sessionId, id, method, lastEventId] = parse(token);
  const rules = findSpoken(version);
  const isToken =
    rules?.era === "legacy" &&
    typeof url === "string" &&
    isRequestId(id) &&
    isHeaderValue(method) &&
    isHeaderValue(lastEventId) &&
    (sessionId === null || isHeaderValue(sessionId));
  if (!isToken) throw new KitError("options-invalid", "resume(): this is not a token from onResumeToken.");
  if (url !== String(target)) {
    throw new KitError("options-invalid", `resume(): the token is for ${url}. Connect to this server.`);
  }
  return { rules, sessionId: sessionId ?? undefined, id, method, lastEventId };
}

function parse(token: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(atob(token));
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function isHeaderValue(value: unknown): value is string {
  return typeof value === "string" && /^[\x20-\x7e]{1,2048}$/.test(value);
}
