/**
 * mcp-edge/worker/hub: notices that reach every client of every isolate.
 *
 * @module
 */
import { waitUntil, env as workerEnv } from "cloudflare:workers";
import { KitError } from "../../core/errors.ts";
import type { Notice } from "../../core/notices.ts";
import type { McpServer } from "../../core/server.ts";
import { listenMethods } from "../../core/subscriptions.ts";
import type { EdgeRuntime, NoticesPart } from "../edge.ts";
import { HubObject, type HubRpc } from "./hub-object.ts";
import { hubSource } from "./hub-source.ts";

export interface HubOptions {
  /** Name of the Durable Object binding. @default "MCP_HUB" */
  readonly binding?: string;
  /** Name of the object: servers that share a binding and a name share their notices. @default "hub" */
  readonly name?: string;
}

type HubNamespace = DurableObjectNamespace<Rpc.DurableObjectBranded & HubRpc>;

/**
 * Delivers `toolsChanged()`, `resourceUpdated(uri)` and the like, called in any isolate (a handler, another route, a
 * cron, a queue), to every client that listens: `subscriptions/listen` of modern clients, the GET stream of legacy ones.
 * At least once, and one notice may stand for several. Needs a binding to the class it returns.
 *
 * @example
 * ```ts
 * const app = edge(server, { sessions: durable(), notices: hub() });
 * export default app;
 * export const { McpSession, McpHub } = app;
 * ```
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
export function hub<Env>(options: HubOptions = {}): NoticesPart<Env, { McpHub: typeof HubObject }> {
  const { binding = "MCP_HUB", name = "hub" } = options;
  const stub = (env: unknown) => {
    const namespace = (env as Record<string, HubNamespace | undefined> | undefined)?.[binding];
    if (namespace) return namespace.get(namespace.idFromName(name));
    throw new KitError(
      "binding-missing",
      `Durable Object binding "${binding}" is missing. Add it to wrangler.toml, or leave out the option notices.`,
    );
  };
  return {
    attach: (runtime) => {
      return {
        notices: {
          source: (env) => hubSource(() => stub(env).fetch("https://hub/", { headers: { Upgrade: "websocket" } })),
          methods: listenMethods,
        },
        watch: (server) => {
          // One server at several endpoints publishes once.
          const key = `hub ${binding} ${name}`;
          server.notices.subscribe((notices) => publish(stub, notices, server, runtime), key);
        },
        objects: { McpHub: class McpHub extends HubObject {} },
      };
    },
  };
}

/** Hands notices to the hub. A failure changes nothing for whoever published. */
function publish<Env>(
  stub: (env: unknown) => DurableObjectStub<Rpc.DurableObjectBranded & HubRpc>,
  notices: readonly Notice[],
  server: McpServer<Env>,
  { onError }: EdgeRuntime<Env>,
): void {
  const deliver = async () => {
    try {
      await stub(workerEnv).publish(notices);
    } catch (error) {
      server.report(error, { correlationId: crypto.randomUUID(), method: "(notices)" }, onError);
    }
  };
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  try {
    waitUntil(begun.then(deliver));
    begin();
  } catch {
    // While modules load nobody can be called, and no client of this isolate can be waiting.
  }
}
