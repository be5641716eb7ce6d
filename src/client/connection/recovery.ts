/**
 * Decides which requests are sent again after a failure. Loaded on demand.
 *
 * @module
 */

import { pause } from "../../core/basics/pause.ts";
import { McpError } from "../../core/protocol/errors.ts";
import { ErrorCode, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../core/protocol/lifecycle.ts";
import type { RequestRow } from "../../core/protocol/methods.ts";
import type { Era } from "../../core/protocol/spoken-versions.ts";
import { ClientError } from "../errors.ts";
import type { ClientEvent } from "../events.ts";
import { declaresKeys, IDEMPOTENCY_KEY } from "../requests/idempotency-keys.ts";
import type { ServerFacts, Tool } from "../requests/results.ts";
import type { Sending } from "../requests/sending.ts";
import { backoffMs } from "../transports/backoff.ts";
import type { Link } from "../transports/link.ts";
import type { RememberedServer } from "./remembered-server.ts";

/** How often a request is sent again after its connection broke. */
const REPEATS_MAX = 3;

/** Methods of extensions that only read: their lists, and the methods of skills. */
const READS = /(\/list|^skills\/get|^resources\/directory\/read)$/;

/**
 * Whether a request may be sent again although the server may have run it. A call may be if the tool says so in its hints,
 * or if a key lets the server recognise it.
 *
 * @param tool The tool that the request calls, if it calls one that was listed.
 * @param knowsKeys Whether the server has declared that it recognises keys.
 */
function isRepeatable(
  { request: { method }, row, params }: Failed,
  tool: Pick<Tool, "annotations"> | undefined,
  knowsKeys: boolean,
): boolean {
  if (row ? row.isRepeatable : READS.test(method)) return true;
  if (knowsKeys && readMeta(params)[IDEMPOTENCY_KEY] !== undefined) return true;
  const { readOnlyHint, idempotentHint } = tool?.annotations ?? {};
  return readOnlyHint === true || idempotentHint === true;
}

/** Whether a request failed because the connection broke, or because the server was not there for a moment. */
export function isInterruption(error: unknown): error is ClientError {
  if (!ClientError.is(error)) return false;
  if (error.code === "http-status") return [502, 503, 504].includes(error.response?.status ?? 0);
  return error.code === "unreachable" || error.code === "stream-lost";
}

/** Whether the server refused a call because its `Mcp-Param-*` headers are wrong. */
function isHeaderMismatch(error: unknown): boolean {
  return McpError.is(error) && error.code === ErrorCode.HeaderMismatch;
}

/** Whether a failure shows by itself that the server has not run the request. */
function wasRefused(error: unknown): boolean {
  if (ClientError.is(error)) return !error.mayHaveRun;
  return McpError.is(error) && error.code === ErrorCode.UnsupportedProtocolVersion;
}

/** Codes with which servers answer the requests of the other era. SDKs of the handshake versions use -32000. */
const OTHER_ERA: readonly number[] = [-32_000, ErrorCode.UnsupportedProtocolVersion];
/** What servers say that use the code of every invalid request. A limit that is reached has this code too. */
const SAYS_OTHER_ERA = /version|session|initiali/i;

/** Whether a failure suggests that the server was replaced by one of the other era while this client was connected. */
function suggestsOtherEra(error: unknown): boolean {
  if (McpError.is(error)) {
    const { code, message } = error;
    return code === ErrorCode.InvalidRequest ? SAYS_OTHER_ERA.test(message) : OTHER_ERA.includes(code);
  }
  const status = ClientError.is(error) && error.code === "http-status" ? error.response?.status : undefined;
  return status === 400 || status === 404 || status === 405;
}

/** Whether a failure can mean that the server is of another era than assumed. */
export function mayBeOtherEra(error: unknown): boolean {
  return McpError.is(error) || (ClientError.is(error) && error.code === "http-status" && !error.mayHaveRun);
}

/** A request that failed. */
export interface Failed {
  readonly request: Sending;
  /** What the protocol says about its method; undefined for a method that the protocol does not define. */
  readonly row: RequestRow | undefined;
  /** The params of the round. */
  readonly params: JsonObject | undefined;
  /** The link that it was sent on. */
  readonly link: Link;
  /** The assumption about the era, if no answer had confirmed it. */
  readonly remembered: RememberedServer | undefined;
  readonly repeats: number;
}

/** The parts of the connection that the recovery uses. */
export interface RecoveryParts {
  /** Whether a channel that has closed can be opened again. */
  readonly canReconnect: boolean;
  facts(): ServerFacts;
  /** The link that is in use. */
  link(): Link;
  report(event: ClientEvent): void;
  /** Opens a new session or channel in place of a lost one. */
  reopen(link: Link, lost: Error): Promise<void>;
  /** Detects the era of the server again. Returns whether it has changed. */
  detect(): Promise<boolean>;
}

/** How long, in milliseconds, the era is not detected again after it was. */
const DETECTION_MS = 30_000;

/** Removes the causes of failures. */
export class Recovery {
  readonly #parts: RecoveryParts;
  /** The time at which the era was detected again. */
  #detectedAtMs = 0;
  /** The detection that is going on. */
  #detection: Promise<void> | undefined;
  /** The era before that detection, which changes the rules of a pipe while it tries them. */
  #eraBefore: Era | undefined;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /** Removes the cause of a failure, if it can. Returns whether the request is to be sent again. */
  async cure(error: unknown, failed: Failed): Promise<boolean> {
    const { request, link, remembered, repeats } = failed;
    const { method, parts, deadline } = request;
    // A legacy server has no such code, so there it is the answer of a tool.
    if (isHeaderMismatch(error) && link.rules?.era === "modern" && parts.refresh && repeats === 0) {
      await parts.refresh();
      return true;
    }
    const knowsKeys = declaresKeys(this.#parts.facts().capabilities);
    const isSafe = wasRefused(error) || isRepeatable(failed, parts.tool?.(), knowsKeys);
    if (remembered) {
      if (!mayBeOtherEra(error)) return false;
      const isOther = remembered.disprove();
      if (isSafe) return isOther;
      // What the server answered to a call that ran matters more than a failure to detect the era.
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
    if (!isSafe || repeats >= REPEATS_MAX || !this.#comesBack(error)) return false;
    await pause(backoffMs(repeats + 1, undefined), deadline.signal);
    deadline.signal.throwIfAborted();
    this.#parts.report({ type: "request-repeated", method, error });
    return true;
  }

  /**
   * Whether the server was replaced by one of the other era, so that it has not run the request. Called if the answer on a link looks
   * like that of such a server. Requests that fail while the era is being detected wait for it.
   */
  async #isOtherEra(link: Link): Promise<boolean> {
    const isCurrent = link === this.#parts.link();
    const era = this.#detection && isCurrent ? this.#eraBefore : link.rules?.era;
    if (!isCurrent && this.#parts.link().rules?.era !== era) return true;
    if (!this.#detection) {
      // An ordinary error must not cost a detection each time.
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

  /** Whether the connection of a request that failed comes back. */
  #comesBack(error: ClientError): boolean {
    return this.#parts.canReconnect && (error.code === "closed" || isInterruption(error));
  }
}
