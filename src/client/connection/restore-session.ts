import { McpError } from "../../core/protocol/errors.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { LoggingLevel } from "../../core/protocol/logging.ts";
import type { EventHook } from "../basics/events.ts";

export interface RestoreOptions {
  /** The subscriptions. The function removes subscriptions that the server refuses. */
  readonly uris: Set<string>;
  readonly level: LoggingLevel | undefined;
  /** Sends a request. */
  request(method: string, params: JsonObject): Promise<unknown>;
  report: EventHook;
}

/** Restores the subscriptions and the log level in a new session. Refusals of the server are reported. */
export async function restoreSession({ uris, level, request, report }: RestoreOptions): Promise<void> {
  const requests: (readonly [string, JsonObject])[] = [...uris].map((uri) => ["resources/subscribe", { uri }]);
  if (level) requests.push(["logging/setLevel", { level }]);
  for (const [method, params] of requests) {
    try {
      await request(method, params);
    } catch (error) {
      if (!McpError.is(error)) throw error;
      uris.delete(String(params.uri));
      const message = `The new session refused ${method} ${JSON.stringify(params)}: ${error.message}`;
      report({ type: "warning", message });
    }
  }
}
