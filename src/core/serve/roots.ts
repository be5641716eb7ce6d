/**
 * `notifications/roots/list_changed`: calls the author's handler when the roots of a client have changed.
 *
 * @module
 * @see MCP 2025-11-25, client/roots, "Root List Changes"
 */

import type { Registry } from "../define/registry.ts";
import type { JSONRPCNotification } from "../protocol/jsonrpc.ts";
import { describeNotification } from "../protocol/request-description.ts";
import type { RequestContext } from "../run/request-context.ts";
import { FIRST_ROUND } from "../run/round.ts";
import { withContext } from "./with-context.ts";

/** Runs `onRootsChanged` for one client, one run at a time. If notifications arrive during a run, it runs once more. */
export class RootsListener {
  /** Whether a handler is running. */
  isRunning = false;
  #next: (() => Promise<void>) | undefined;

  /** Processes a notification of the client without waiting for the handler, whose failures go to `onError`. */
  take(
    registry: Registry,
    message: JSONRPCNotification,
    context: () => Omit<RequestContext, "registry" | "request">,
  ): void {
    const { rootsChanged } = registry;
    if (!rootsChanged || message.method !== "notifications/roots/list_changed") return;
    const { method, params = {} } = message;
    // A handler's context belongs to a request, but a notification has no id.
    const request = { jsonrpc: "2.0", id: "", method, params } as const;
    this.#next = async () => {
      const given = context();
      try {
        const withValue = await registry.withContext(given);
        await withContext({ ...withValue, registry, request }, FIRST_ROUND, rootsChanged);
      } catch (error) {
        registry.report(error, describeNotification(message), given.onError);
      }
    };
    if (!this.isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.isRunning = true;
    while (this.#next) {
      const next = this.#next;
      this.#next = undefined;
      await next();
    }
    this.isRunning = false;
  }
}
