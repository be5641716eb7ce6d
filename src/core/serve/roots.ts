/**
 * `notifications/roots/list_changed`: telling the author that a client's roots are others now.
 *
 * @module
 * @see MCP 2025-11-25, client/roots, "Root List Changes"
 */

import type { McpServer } from "../define/server.ts";
import type { JSONRPCNotification } from "../protocol/jsonrpc.ts";
import { FIRST_ROUND } from "../run/run-handler.ts";
import type { Call } from "./context.ts";
import { placeOfNotification } from "./hooks.ts";
import { withContext } from "./with-context.ts";

/**
 * Runs `onRootsChanged` for one client: one handler at a time. Notifications that arrive meanwhile are one, for which it
 * runs once more.
 */
export class RootsTeller {
  /** Whether a handler is running. */
  isRunning = false;
  #next: (() => Promise<void>) | undefined;

  /** Takes a notification of the client. Failures of the handler go to `onError`; nobody waits for it. */
  take<Env>(server: McpServer<Env>, message: JSONRPCNotification, call: () => Call<Env>): void {
    const { rootsChanged } = server;
    if (!rootsChanged || message.method !== "notifications/roots/list_changed") return;
    const { method, params = {} } = message;
    // A handler's context belongs to a request; a notification has no id to tell it by.
    const request = { jsonrpc: "2.0", id: "", method, params } as const;
    this.#next = async () => {
      const [anyServer, anyCall] = [server as unknown as McpServer<never>, call() as unknown as Call<never>];
      try {
        const given = await anyServer.withContext(anyCall);
        await withContext(anyServer, request, given, FIRST_ROUND, (ctx) => rootsChanged(ctx as never));
      } catch (error) {
        server.report(error, placeOfNotification(message), anyCall.onError);
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
