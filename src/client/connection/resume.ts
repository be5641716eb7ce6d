/**
 * Waits for the answer to a request that another connection has sent. Loaded on demand.
 *
 * A token is the JSON text of a list, in base64: the URL of the server, the protocol version, the session, the id and the method of the
 * request, and the id of the last event that was received.
 *
 * @module
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { KitError } from "../../core/protocol/errors.ts";
import { isRequestId, type JsonObject, type RequestId } from "../../core/protocol/jsonrpc.ts";
import { SPOKEN_VERSIONS, type SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import type { Amounts } from "../api/options.ts";
import { Deadline } from "../basics/deadline.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { HttpLink } from "../transports/http-link.ts";
import type { Link } from "../transports/link.ts";
import type { ConnectTarget } from "./open-link.ts";
import type { RequestSender } from "./request-sender.ts";

export interface ResumeParts {
  readonly target: ConnectTarget;
  readonly sender: RequestSender;
  readonly amounts: Amounts;
  open(): Promise<Link>;
}

interface Interrupted {
  readonly rules: SpokenVersion;
  readonly sessionId: string | undefined;
  readonly id: RequestId;
  readonly method: string;
  readonly lastEventId: string;
}

/**
 * @throws {KitError} `options-invalid` if the token is not one of this server.
 * @throws {ClientError} `stream-lost` if the server no longer has the events; `session-lost` if it no longer knows the session.
 */
export async function resumeRequest(
  token: string,
  options: RequestOptions,
  { target, sender, amounts, open }: ResumeParts,
): Promise<JsonObject> {
  const { rules, sessionId, id, method, lastEventId } = readToken(token, target);
  // Only a client of a URL has made a token.
  const link = (await open()) as HttpLink;
  await sender.start(link);
  link.rules = rules;
  link.sessionId = sessionId;
  const { signal, onProgress, resetTimeoutOnProgress } = options;
  const { timeoutMs = amounts.timeoutMs, totalTimeoutMs = amounts.totalTimeoutMs } = options;
  const deadline = new Deadline({ what: method, timeoutMs, totalTimeoutMs, signal });
  try {
    const resume = { id, lastEventId };
    // The request itself has chosen its id as the token of its progress.
    return await sender.ask(method, undefined, {
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

/** @throws {KitError} `options-invalid`. The text does not contain the token, with which anyone could read the answer. */
function readToken(token: string, target: ConnectTarget): Interrupted {
  const [url, version, sessionId, id, method, lastEventId] = parse(token);
  const rules = SPOKEN_VERSIONS.find((each) => each.version === version && each.era === "legacy");
  const isToken =
    rules &&
    typeof url === "string" &&
    isRequestId(id) &&
    isHeaderValue(method) &&
    isHeaderValue(lastEventId) &&
    (sessionId === null || isHeaderValue(sessionId));
  if (!isToken) throw new KitError("options-invalid", "resume(): this is not a token that onResumeToken has received.");
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
