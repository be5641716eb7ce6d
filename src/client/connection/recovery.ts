/**
 * Decides which requests are sent again after a failure. Loaded on demand.
 *
 * @module
 */

import { pause } from "../../core/basics/pause.ts";
import * as ErrorCode from "../../core/protocol/error-codes.ts";
import { McpError } from "../../core/protocol/errors.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../core/protocol/lifecycle.ts";
import { hasEffects, type RequestRow } from "../../core/protocol/methods.ts";
import type { Era } from "../../core/protocol/spoken-versions.ts";
import { ClientError } from "../basics/errors.ts";
import type { ClientEvent } from "../basics/events.ts";
import { declaresKeys, IDEMPOTENCY_KEY } from "../requests/idempotency-keys.ts";
import type { RequestInProgress } from "../requests/request-parts.ts";
import type { ServerFacts, Tool } from "../requests/results.ts";
import { backoffMs } from "../transports/backoff.ts";
import type { Link } from "../transports/link.ts";
import type { AssumedServer } from "./assumed-server.ts";

/** The maximum number of times that a request is sent again after its connection broke. */
const REPEATS_MAX = 3;

/** Methods of extensions that only read: their lists, and the methods of skills. */
const READS = /(\/list|^skills\/get|^resources\/directory\/read)$/;

/**
 * Whether a request may be sent again although the server may have run it. For a tool call, this depends on the hints of the tool, or
 * on an idempotency key that the server supports.
 *
 * @param tool The tool that the request calls, if it was listed.
 * @param supportsKeys Whether the server has declared support for idempotency keys.
 */
function isRepeatable(
  { request: { method }, row, params }: FailedRequest,
  tool: Pick<Tool, "annotations"> | undefined,
  supportsKeys: boolean,
): boolean {
  if (row ? !hasEffects(method) : READS.test(method)) return true;
  if (supportsKeys && readMeta(params)[IDEMPOTENCY_KEY] !== undefined) return true;
  const { readOnlyHint, idempotentHint } = tool?.annotations ?? {};
  return readOnlyHint === true || idempotentHint === true;
}

/** Whether a request failed because the connection broke, or because the server was temporarily unavailable. */
export function isInterruption(error: unknown): error is ClientError {
  if (!ClientError.is(error)) return false;
  if (error.code === "http-status") return [502, 503, 504].includes(error.response?.status ?? 0);
  return error.code === "unreachable" || error.code === "stream-lost";
}

/** Whether the server refused a call because of wrong `Mcp-Param-*` headers. */
function isHeaderMismatch(error: unknown): boolean {
  return McpError.is(error) && error.code === ErrorCode.HeaderMismatch;
}

/** Whether the error shows that the server has not run the request. */
function wasRefused(error: unknown): boolean {
  if (ClientError.is(error)) return !error.mayHaveRun;
  return McpError.is(error) && error.code === ErrorCode.UnsupportedProtocolVersion;
}

/** Codes with which servers refuse requests of the other era. The official SDKs of legacy versions use -32000. */
const OTHER_ERA: readonly number[] = [-32_000, ErrorCode.UnsupportedProtocolVersion];
/** Matches the message with which other servers refuse such requests. Their code is the code of all invalid requests. */
const OTHER_ERA_MESSAGE = /version|session|initiali/i;

/** Whether an error suggests that the server was replaced by a server of the other era while this client was connected. */
function suggestsOtherEra(error: unknown): boolean {
  if (McpError.is(error)) {
    const { code, message } = error;
    return code === ErrorCode.InvalidRequest ? OTHER_ERA_MESSAGE.test(message) : OTHER_ERA.includes(code);
  }
  const status = ClientError.is(error) && error.code === "http-status" ? error.response?.status : undefined;
  return status === 400 || status === 404 || status === 405;
}

/** Whether an error can mean that the server is not of the assumed era. */
export function mayBeOtherEra(error: unknown): boolean {
  return McpError.is(error) || (ClientError.is(error) && error.code === "http-status" && !error.mayHaveRun);
}

/** A request that failed. */
export interface FailedRequest {
  readonly request: RequestInProgress;
  /** The row of its method. Undefined for a method that the protocol does not define. */
  readonly row: RequestRow | undefined;
  /** The params of the round. */
  readonly params: JsonObject | undefined;
  /** The link on which the request was sent. */
  readonly link: Link;
  /** The assumed facts about the server, if no response had confirmed them. */
  readonly assumed: AssumedServer | undefined;
  /** The number of times that the round was already sent again. */
  readonly repeats: number;
}

/** The parts of the connection that the recovery uses. */
export interface RecoveryParts {
  /** Whether a channel that has closed can be opened again. */
  readonly canReconnect: boolean;
  facts(): ServerFacts;
  /** Returns the current link. */
  link(): Link;
  report(event: ClientEvent): void;
  /** Opens a new session or channel in place of a lost one. */
  reopen(link: Link, lost: Error): Promise<void>;
  /** Detects the era of the server again. Returns whether it has changed. */
  detect(): Promise<boolean>;
}

/** The minimum time between two detections of the era, in milliseconds. */
const DETECTION_MS = 30_000;

/** Removes the causes of failures, and decides whether failed requests are sent again. */
export class Recovery {
  readonly #parts: RecoveryParts;
  /** The time of the last detection of the era. */
  #detectedAtMs = 0;
  /** The running detection. */
  #detection: Promise<void> | undefined;
  /** The era before the running detection, which temporarily changes the rules of a pipe. */
  #eraBefore: Era | undefined;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /** Removes the cause of a failure, if possible. Returns whether to send the request again. */
  async recover(error: unknown, failed: FailedRequest): Promise<boolean> {
    const { request, link, assumed, repeats } = failed;
    const { method, parts, deadline } = request;
    // The legacy protocol does not define this code, so a legacy server uses it for something else.
    if (isHeaderMismatch(error) && link.rules?.era === "modern" && parts.refresh && repeats === 0) {
      await parts.refresh();
      return true;
    }
    const supportsKeys = declaresKeys(this.#parts.facts().capabilities);
    const isSafe = wasRefused(error) || isRepeatable(failed, parts.tool?.(), supportsKeys);
    if (assumed) {
      if (!mayBeOtherEra(error)) return false;
      const isOther = assumed.detectAgain();
      if (isSafe) return isOther;
      // The error of a request that may have run is thrown, even if the detection fails.
      await isOther.catch(() => undefined);
      return false;
    }
    if (suggestsOtherEra(error) && (await this.#isOtherEra(link))) return true;
    if (!ClientError.is(error)) return false;
    if (error.code === "session-lost") {
      await this.#parts.reopen(link, error);
      if (!isSafe || repeats > 0) return false;
      this.#parts.report({ type: "request-repeated", method, error });
      return true;
    }
    if (!isSafe || repeats >= REPEATS_MAX || !this.#mayReconnect(error)) return false;
    await pause(backoffMs(repeats + 1, undefined), deadline.signal);
    deadline.signal.throwIfAborted();
    this.#parts.report({ type: "request-repeated", method, error });
    return true;
  }

  /**
   * Whether the server was replaced by a server of the other era, which has not run the request. Called if an error suggests that.
   * Requests that fail while the era is being detected wait for the detection.
   */
  async #isOtherEra(link: Link): Promise<boolean> {
    const isCurrent = link === this.#parts.link();
    const era = this.#detection && isCurrent ? this.#eraBefore : link.rules?.era;
    if (!isCurrent && this.#parts.link().rules?.era !== era) return true;
    if (!this.#detection) {
      // Ordinary errors can look the same, so they must not start a detection each time.
      if (Date.now() - this.#detectedAtMs < DETECTION_MS) return false;
      this.#detectedAtMs = Date.now();
      this.#eraBefore = era;
      this.#detection = this.#detect();
    }
    await this.#detection;
    return this.#parts.link().rules?.era !== era;
  }

  async #detect(): Promise<void> {
    const old = this.#parts.link();
    await this.#parts.detect().catch(() => undefined);
    if (this.#parts.link().rules?.era !== this.#eraBefore) old.retire();
    this.#detection = undefined;
  }

  /** Whether the connection of a failed request can be opened again. */
  #mayReconnect(error: ClientError): boolean {
    return this.#parts.canReconnect && (error.code === "closed" || isInterruption(error));
  }
}
