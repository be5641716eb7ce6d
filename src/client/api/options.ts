/**
 * The options of a client and of one request.
 *
 * @module
 */

import type { ClientCapabilities } from "../../core/protocol/client-capabilities.ts";
import type { Implementation } from "../../core/protocol/client-facts.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import {
  isWithin,
  type Numbers,
  type OptionTable,
  type Range,
  SIZE,
  TIMER,
  TIMER_OR_ZERO,
} from "../../core/protocol/option-ranges.ts";
import type { EventHook } from "../basics/events.ts";
import { LISTING_LIMITS } from "../requests/listing.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { ServerFacts } from "../requests/results.ts";
import type { ClientAuth } from "../transports/auth.ts";
import type { FetchFunction, HeadersOption } from "../transports/fetch-options.ts";
import type { ClientExtension } from "./extensions.ts";
import type { QuestionContext, ServerHandlers } from "./questions.ts";

/** The options of `connect`. Name, version and the other members of `Implementation` introduce the client. */
export interface ClientOptions extends Implementation, ServerHandlers {
  /**
   * The protocol versions that the client may use, for example `["2026-07-28"]`, or the four legacy ones.
   *
   * @default every version that mcp-edge knows
   */
  readonly protocolVersions?: readonly string[];
  /**
   * The facts about the server from an earlier connection (`client.server`). They save the probe of the era. If they
   * prove wrong, the era is detected again.
   */
  readonly serverFacts?: ServerFacts | undefined;
  /** Headers of every HTTP request, for example `Authorization`. Headers of the protocol cannot be replaced. */
  readonly headers?: HeadersOption;
  /**
   * Ends the attempt to connect. `connect` then rejects with the reason of the signal. A client that is connected stays
   * so.
   */
  readonly signal?: AbortSignal | undefined;
  /** Signs in and authorizes every HTTP request: `oauth()` of `mcp-edge/client/oauth`. */
  readonly auth?: ClientAuth | undefined;
  /**
   * The function for HTTP requests: for a proxy, for recording, or for another HTTP stack.
   * @default the global `fetch`
   */
  readonly fetch?: FetchFunction;
  /**
   * Capabilities to declare in addition to those that follow from the handlers, such as `experimental` or `extensions`.
   */
  readonly capabilities?: ClientCapabilities;
  /** Receives notifications for which the client has no option of its own. */
  readonly onNotification?: (method: string, params: JsonObject) => void;
  /**
   * Answers requests of the server for which the client has no option of its own. The return value is the result; an
   * `McpError` that it throws is sent as it is.
   */
  readonly onRequest?: (
    method: string,
    params: JsonObject,
    context: QuestionContext,
  ) => JsonObject | Promise<JsonObject>;
  /**
   * Receives warnings, failures of handlers, and everything that the client does by itself to recover. @default
   * warnings and failures go to `console.warn`
   */
  readonly onEvent?: EventHook;
  /**
   * Extensions of the client, such as those of `mcp-edge/client`. The first is the outermost: it sees a request
   * first and its result last.
   */
  readonly use?: readonly ClientExtension[];
  /**
   * The time, in milliseconds, that a request may take without progress. The time in which the client answers a
   * question of the server does not count. 0 means no limit.
   *
   * @default 60,000 (1 minute)
   */
  readonly timeoutMs?: number;
  /**
   * The time, in milliseconds, that a request may take in total, with all progress and questions. Stops a server that
   * reports progress forever. 0 means no limit.
   *
   * @default 3,600,000 (1 hour)
   */
  readonly totalTimeoutMs?: number;
  /**
   * Whether progress starts `timeoutMs` again. Requests that run a handler then carry a progress token, even without
   * `onProgress`. @default true
   */
  readonly resetTimeoutOnProgress?: boolean;
  /**
   * The time, in milliseconds, that a server has to answer the probe of the era. A server that stays silent is taken
   * for a legacy one. @default 10,000
   */
  readonly probeTimeoutMs?: number;
  /** The largest message that is accepted from the server, in bytes over HTTP. @default 33,554,432 (32 MiB) */
  readonly messageBytesMax?: number;
  /**
   * The maximum number of pages that the iteration of a list reads. Together they may be as large as one message.
   * @default 1,000
   */
  readonly pagesMax?: number;
  /** How often a modern server may answer one request with questions. @default 16 */
  readonly roundsMax?: number;
  /**
   * How often in a row the client tries to resume a stream without receiving anything, before it gives up. 0 means that
   * streams are not resumed. @default 8
   */
  readonly reconnectsMax?: number;
}

const COUNTED: Range = [0, 1_000_000];

const CLIENT_OPTIONS: OptionTable<ClientOptions> = {
  name: null,
  version: null,
  title: null,
  description: null,
  websiteUrl: null,
  icons: null,
  protocolVersions: null,
  serverFacts: null,
  headers: null,
  signal: null,
  auth: null,
  fetch: null,
  capabilities: null,
  onNotification: null,
  onRequest: null,
  onEvent: null,
  use: null,
  timeoutMs: TIMER_OR_ZERO,
  totalTimeoutMs: TIMER_OR_ZERO,
  resetTimeoutOnProgress: null,
  probeTimeoutMs: TIMER,
  messageBytesMax: SIZE,
  pagesMax: SIZE,
  roundsMax: COUNTED,
  reconnectsMax: COUNTED,
  onElicit: null,
  onElicitUrl: null,
  onElicitationComplete: null,
  onSample: null,
  samplesWithTools: null,
  roots: null,
  onToolsChanged: null,
  onPromptsChanged: null,
  onResourcesChanged: null,
  onResourceUpdated: null,
  onLog: null,
};

/** `meta` and the others are checked by type only. A progress token is a number that is not an amount. */
const REQUEST_OPTIONS: Readonly<Record<keyof RequestOptions, Range | null>> = {
  signal: null,
  timeoutMs: TIMER_OR_ZERO,
  totalTimeoutMs: TIMER_OR_ZERO,
  resetTimeoutOnProgress: null,
  onProgress: null,
  progressToken: null,
  fresh: null,
  idempotencyKey: null,
  onResumeToken: null,
  meta: null,
};

/** The numbers of a client, with their defaults. */
export type Amounts = { readonly [K in Numbers<ClientOptions>]: number };

const DEFAULTS: Amounts = {
  timeoutMs: 60_000,
  totalTimeoutMs: 3_600_000,
  probeTimeoutMs: 10_000,
  ...LISTING_LIMITS,
  roundsMax: 16,
  reconnectsMax: 8,
};

/** Returns the numbers of a client. */
export function resolveAmounts(options: ClientOptions): Amounts {
  const given = Object.entries(options).filter(([name, value]) => name in DEFAULTS && value !== undefined);
  return { ...DEFAULTS, ...Object.fromEntries(given) };
}

/** @throws {KitError} `options-invalid` naming the option. */
export async function checkClientOptions(options: ClientOptions): Promise<void> {
  await check("connect(): ", options, CLIENT_OPTIONS);
  if (typeof options.name !== "string" || typeof options.version !== "string") {
    throw (await import("../on-demand.ts")).unnamed();
  }
}

/**
 * Checks the options of a request.
 *
 * @returns Undefined, or a promise that rejects with `options-invalid` naming the option.
 */
export function checkRequestOptions(options: RequestOptions): Promise<void> | undefined {
  return check("request options: ", options, REQUEST_OPTIONS);
}

/** Only a mistake needs the code that describes it, so that is loaded on demand. */
function check(
  where: string,
  options: object,
  table: Readonly<Record<string, Range | null>>,
): Promise<void> | undefined {
  const isRight = ([name, value]: [string, unknown]): boolean => {
    const range = Object.hasOwn(table, name) ? table[name] : undefined;
    return range === null || (range !== undefined && (value === undefined || isWithin(value, range)));
  };
  if (typeof options === "object" && options && Object.entries(options).every(isRight)) return undefined;
  return import("../on-demand.ts").then(({ checkOptions }) => checkOptions(where, options, table));
}
