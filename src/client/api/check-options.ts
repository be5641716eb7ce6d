/**
 * Checks the options of a client and of one request.
 *
 * @module
 */

import {
  isWithin,
  type OptionTable,
  type Range,
  SIZE,
  TIMER,
  TIMER_OR_ZERO,
} from "../../core/protocol/option-ranges.ts";
import { findSpoken } from "../../core/protocol/spoken-versions.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { ClientOptions } from "./options.ts";

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

/** The options of a request, with the ranges of the numeric options. `progressToken` has no range. */
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
  onRequestId: null,
  meta: null,
};

/** Checks the options of a client. @throws {KitError} `options-invalid` naming the option. */
export async function checkClientOptions(options: ClientOptions): Promise<void> {
  await check("connect(): ", options, CLIENT_OPTIONS);
  if (typeof options.name !== "string" || typeof options.version !== "string") {
    throw (await import("../on-demand.ts")).nameMissing();
  }
  const { protocolVersions: versions } = options;
  if (versions && !(Array.isArray(versions) && versions.length > 0 && versions.every(findSpoken))) {
    throw (await import("../on-demand.ts")).versionsInvalid(versions);
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

/** Checks options. The code that describes a mistake is loaded on demand. */
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
