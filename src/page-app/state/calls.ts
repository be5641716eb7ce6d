/**
 * The requests of the user, each with its progress, its log messages and its result.
 *
 * @module
 */
import { type Signal, signal } from "@preact/signals";
import type { LogMessage, Progress } from "../../client/index.ts";
import { McpError } from "../../client/index.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";

/** How a call ended. */
export type Outcome =
  | { readonly kind: "result"; readonly result: JsonObject }
  | { readonly kind: "error"; readonly message: string; readonly code?: number | string; readonly data?: unknown }
  | { readonly kind: "cancelled" };

/** One request of the user. */
export interface Call {
  readonly id: number;
  /** The key of the called definition, such as `tool:add`. */
  readonly key: string;
  readonly args: JsonObject;
  readonly startedAtMs: number;
  readonly endedAtMs: Signal<number | undefined>;
  readonly progress: Signal<Progress | undefined>;
  readonly logs: Signal<readonly LogMessage[]>;
  readonly outcome: Signal<Outcome | undefined>;
  cancel(): void;
}

/** The context of a request. */
export interface CallContext {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/** The maximum number of calls. The oldest are dropped. */
const CALLS_KEPT = 50;
/** The maximum number of log messages of a call. */
const LOGS_KEPT = 500;

/** The calls, newest first. */
export const calls = signal<readonly Call[]>([]);

let lastId = 0;

/** Makes a call. Its result or error is in `outcome`. */
export function call(key: string, args: JsonObject, make: (context: CallContext) => Promise<JsonObject>): Call {
  const controller = new AbortController();
  lastId += 1;
  const made: Call = {
    id: lastId,
    key,
    args,
    startedAtMs: Date.now(),
    endedAtMs: signal(undefined),
    progress: signal(undefined),
    logs: signal([]),
    outcome: signal(undefined),
    cancel: () => controller.abort(new DOMException("Cancelled by the user", "AbortError")),
  };
  const end = (outcome: Outcome) => {
    made.endedAtMs.value = Date.now();
    made.outcome.value = outcome;
  };
  calls.value = [made, ...calls.value].slice(0, CALLS_KEPT);
  make({
    signal: controller.signal,
    onProgress: (progress) => {
      made.progress.value = progress;
    },
  }).then(
    (result) => end({ kind: "result", result }),
    (error: unknown) => end(controller.signal.aborted ? { kind: "cancelled" } : toError(error)),
  );
  return made;
}

/** Adds a log message to every running call, because the protocol does not identify the call to which it belongs. */
export function addLog(message: LogMessage): void {
  for (const { outcome, logs } of calls.value) {
    if (outcome.value === undefined) logs.value = [...logs.value, message].slice(-LOGS_KEPT);
  }
}

/** Returns the message of an error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Describes an error of the client or of the server. */
function toError(error: unknown): Outcome & { readonly kind: "error" } {
  const message = messageOf(error);
  if (McpError.is(error)) return { kind: "error", message, code: error.code, data: error.data };
  const { code } = error as { code?: unknown };
  return { kind: "error", message, ...(typeof code === "string" && { code }) };
}
