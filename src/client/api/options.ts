/**
 * The options of a client and of one request.
 *
 * @module
 */

import type { ClientCapabilities } from "../../core/protocol/client-capabilities.ts";
import type { Implementation } from "../../core/protocol/client-facts.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Numbers } from "../../core/protocol/option-ranges.ts";
import type { EventHook } from "../basics/events.ts";
import { LISTING_LIMITS } from "../requests/listing.ts";
import type { ServerFacts } from "../requests/results.ts";
import type { ClientAuth } from "../transports/auth.ts";
import type { FetchFunction, HeadersOption } from "../transports/fetch-options.ts";
import type { ClientExtension } from "./extensions.ts";
import type { QuestionContext, ServerHandlers } from "./questions.ts";

/** The options of `connect()`. Name, version and the other members of `Implementation` identify the client to the server. */
export interface ClientOptions extends Implementation, ServerHandlers {
  /**
   * The protocol versions that the client may use, for example `["2026-07-28"]`.
   *
   * @default all versions that mcp-edge supports
   */
  readonly protocolVersions?: readonly string[];
  /**
   * The facts about the server from an earlier connection (`client.server`). With them, the client does not send the request that
   * detects the era. If they prove wrong, the era is detected again.
   */
  readonly serverFacts?: ServerFacts | undefined;
  /** Headers to add to every HTTP request, for example `Authorization`. Headers of the protocol cannot be replaced. */
  readonly headers?: HeadersOption;
  /**
   * Aborts the attempt to connect. `connect()` then rejects with the reason of the signal. The signal has no effect on a client that
   * is connected.
   */
  readonly signal?: AbortSignal | undefined;
  /** Authorizes every HTTP request, for example `oauth()` of `mcp-edge/client/oauth`. */
  readonly auth?: ClientAuth | undefined;
  /**
   * The function that sends HTTP requests, for example through a proxy.
   *
   * @default the global `fetch`
   */
  readonly fetch?: FetchFunction;
  /**
   * Capabilities to declare in addition to the capabilities of the handlers, such as `experimental` or `extensions`.
   */
  readonly capabilities?: ClientCapabilities;
  /** Receives notifications for which there is no other option. */
  readonly onNotification?: (method: string, params: JsonObject) => void;
  /**
   * Answers requests of the server for which there is no other option. The return value is the result. An `McpError` that the
   * function throws is sent unchanged.
   */
  readonly onRequest?: (
    method: string,
    params: JsonObject,
    context: QuestionContext,
  ) => JsonObject | Promise<JsonObject>;
  /**
   * Receives warnings, failures of handlers, and each step that the client takes to recover.
   *
   * @default warnings and failures are printed with `console.warn`
   */
  readonly onEvent?: EventHook;
  /**
   * Extensions of the client, such as `cache()`. The first extension is the outermost: it receives a request first and its result
   * last.
   */
  readonly use?: readonly ClientExtension[];
  /**
   * How long a request may take without progress, in milliseconds, not counting the time in which the client answers questions of the
   * server. 0 means no limit.
   *
   * @default 60,000 (1 minute)
   */
  readonly timeoutMs?: number;
  /**
   * How long a request may take in total, in milliseconds, including progress and questions. Limits a server that reports progress
   * forever. 0 means no limit.
   *
   * @default 3,600,000 (1 hour)
   */
  readonly totalTimeoutMs?: number;
  /**
   * Whether progress restarts `timeoutMs`. If true, requests that run a handler of the server carry a progress token even without
   * `onProgress`.
   *
   * @default true
   */
  readonly resetTimeoutOnProgress?: boolean;
  /**
   * How long a server may take to respond to `server/discover`, in milliseconds. A server that does not respond is treated as a legacy
   * server.
   *
   * @default 10,000
   */
  readonly probeTimeoutMs?: number;
  /** The maximum size of a message from the server over HTTP, in bytes. @default 33,554,432 (32 MiB) */
  readonly messageBytesMax?: number;
  /**
   * The maximum number of pages that an iteration over a list reads. All pages together may be as large as one message.
   *
   * @default 1,000
   */
  readonly pagesMax?: number;
  /** The maximum number of times that a modern server may respond to one request with questions. @default 16 */
  readonly roundsMax?: number;
  /**
   * The maximum number of consecutive attempts to resume a stream, or to open a connection again, without receiving an event. 0 means
   * that the client does not try.
   *
   * @default 8
   */
  readonly reconnectsMax?: number;
}

/** The numeric options of a client, with their defaults. */
export type ClientLimits = { readonly [K in Numbers<ClientOptions>]: number };

const DEFAULTS: ClientLimits = {
  timeoutMs: 60_000,
  totalTimeoutMs: 3_600_000,
  probeTimeoutMs: 10_000,
  ...LISTING_LIMITS,
  roundsMax: 16,
  reconnectsMax: 8,
};

/** Returns the numeric options of a client, with their defaults. */
export function resolveLimits(options: ClientOptions): ClientLimits {
  const given = Object.entries(options).filter(([name, value]) => name in DEFAULTS && value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(given) };
}
