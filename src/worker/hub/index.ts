/**
 * mcp-edge/worker/hub: notices that reach every client of every isolate.
 *
 * @module
 */
import { waitUntil, env as workerEnv } from "cloudflare:workers";
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import type { Limits } from "../../core/protocol/limits.ts";
import type { Claim, Notice } from "../../core/protocol/notices.ts";
import { listenMethods } from "../../core/serve/subscriptions.ts";
import { answered, claim, namespaceOf } from "../bindings.ts";
import type { NoticesPart } from "../edge.ts";
import { twice } from "../retry-reset.ts";
import { hashPrincipal } from "../sessions/session-id.ts";
import { CLAIM_HEADER, type HubClaim } from "./hub-messages.ts";
import { HUB_URL, HubObject, type HubRpc } from "./hub-object.ts";
import { hubSource } from "./hub-source.ts";
import { subjectOf } from "./shards.ts";

export interface HubOptions {
  /** Name of the Durable Object binding. @default "MCP_HUB" */
  readonly binding?: string;
  /**
   * Name of the object: servers that share a binding and a name share their notices, those of `server.log()` as well.
   * Without a name no other server of this Worker may use the binding, unless its hub has one. @default "hub"
   */
  readonly name?: string;
  /**
   * Objects that share the work, 1 to 32, each telling of its own subjects: a list kind, or the URI of a resource. One
   * object takes some hundred notices a second and 32,768 streams; a stream has a WebSocket to each shard that tells of
   * something it wants. With more than 1 they are called `hub-0`, `hub-1` and so on. Streams that are open while this
   * number changes may miss notices until their Worker is replaced. @default 1
   */
  readonly shards?: number;
}

/** Each stream dials up to as many sockets as there are shards. */
const OPTIONS: OptionTable<HubOptions> = { binding: null, name: null, shards: [1, 32] };

/** What to write where two servers would share their notices, and nobody has said that they are to. */
const SHARING =
  'Name the hub of both: hub({ name: "..." }) with different names to keep their notices apart, or with the same name to share them.';

type HubNamespace = DurableObjectNamespace<Rpc.DurableObjectBranded & HubRpc>;

/**
 * Delivers `toolsChanged()`, `resourceUpdated(uri)` and the like, called in any isolate (a handler, another route, a
 * cron, a queue), to every client that listens: `subscriptions/listen` of modern clients, the GET stream of legacy ones.
 * At least once, and one notice may stand for several. Needs a binding to the class it returns.
 *
 * @throws {KitError} `options-invalid` when `shards` is not an integer from 1 to 32; from `edge()` when another server
 *   of the Worker uses the binding, and neither hub has a name.
 * @example
 * ```ts
 * const app = edge(server, { sessions: durable(), notices: hub(), keys: keys() });
 * export default app;
 * export const { McpSession, McpHub, McpKeys } = app;
 * ```
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
export function hub<Env>(options: HubOptions = {}): NoticesPart<Env, { McpHub: typeof HubObject }> {
  checkOptions("hub(): ", options, OPTIONS);
  const { binding = "MCP_HUB", name = "hub", shards = 1 } = options;
  const stub = (env: unknown, shard: number) => {
    const namespace: HubNamespace = namespaceOf(env, binding, "notices");
    return namespace.get(namespace.idFromName(shards === 1 ? name : `${name}-${shard}`));
  };
  const dial = async (env: unknown, shard: number, { principal, size }: Claim, limits: Limits) => {
    const { listensPerPrincipalMax: ownerMax, hubStreamsMax: streamsMax, hubCharsMax: charsMax } = limits;
    const owner = principal && (await hashPrincipal(principal));
    const claim: HubClaim = { ...(owner ? { owner } : {}), ownerMax, size, streamsMax, charsMax };
    const headers = { Upgrade: "websocket", [CLAIM_HEADER]: JSON.stringify(claim) };
    return twice(() => answered("notices", binding, stub(env, shard).fetch(HUB_URL, { headers })));
  };
  const publish = async (shard: number, notices: readonly Notice[]) => {
    const texts = notices.map((notice) => JSON.stringify(notice));
    const failed = await twice(() => answered("notices", binding, stub(workerEnv, shard).publish(texts)));
    if (failed) throw new Error(`Streams that missed a notice: ${failed}`);
  };
  return {
    attach: ({ onError, isPerRequest, limits }) => {
      const endpoint = {};
      return {
        notices: {
          source: (env) => hubSource((shard, claim) => dial(env, shard, claim, limits), shards),
          methods: listenMethods,
        },
        watch: (server) => {
          // A function that gives each request a server has many, and they are one endpoint.
          if (options.name === undefined) claim(binding, SHARING, isPerRequest ? endpoint : server);
          const failed = (error: unknown) =>
            server.report(error, { correlationId: crypto.randomUUID(), method: "(notices)" }, onError);
          // One server at several endpoints publishes once.
          server.notices.subscribe((notices) => {
            const parts = Map.groupBy(notices, (notice) => subjectOf(notice) % shards);
            for (const [shard, part] of parts) afterwards(() => publish(shard, part), failed);
          }, `hub ${binding} ${name} ${shards}`);
        },
        objects: { McpHub: class McpHub extends HubObject {} },
      };
    },
  };
}

/** Does what nobody waits for. A failure changes nothing for whoever published. */
function afterwards(deliver: () => Promise<void>, failed: (error: unknown) => void): void {
  try {
    waitUntil(Promise.resolve());
  } catch {
    // While modules load nobody can be called, and no client of this isolate can be waiting.
    return;
  }
  waitUntil(deliver().catch(failed));
}
