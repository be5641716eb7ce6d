/**
 * Notifications that reach the clients of all isolates.
 *
 * @module
 */
import { waitUntil, env as workerEnv } from "cloudflare:workers";
import { keepLast } from "../../core/basics/keep-last.ts";
import type { ChangeNotification, Claim } from "../../core/protocol/change-notifications.ts";
import { checkOptions, type OptionTable, SIZE } from "../../core/protocol/check-options.ts";
import { listenMethods } from "../../core/serve/subscriptions.ts";
import { isInRequest, RoleObjects } from "../bindings.ts";
import { OBJECTS, type WithMcpObject } from "../object.ts";
import type { NotificationsPart, Part } from "../parts.ts";
import { retryOnReset } from "../retry-on-reset.ts";
import { hubName } from "../roles.ts";
import { hashPrincipal } from "../sessions/session-id.ts";
import { CLAIM_HEADER, type HubClaim } from "./hub-messages.ts";
import { HubObject, type HubRpc } from "./hub-object.ts";
import { hubSource } from "./hub-source.ts";
import { Placement } from "./placement.ts";
import { describeSubject } from "./shards.ts";

/** Options of {@link hub}. */
export interface HubOptions {
  /**
   * The number of shards, 1 to 32. Each shard is responsible for some list kinds and resource URIs, and can publish a few
   * hundred notifications per second. A stream has a WebSocket to each shard that it needs. Streams that are open while
   * this number changes may miss notifications until their Worker is replaced.
   *
   * @default 1
   */
  readonly shards?: number;
  /**
   * The maximum number of Durable Objects over which the streams of one shard are distributed, 1 to 512. A shard starts
   * with one object, and the number doubles when they are full. The number is stored and never decreases. Publishing costs
   * one request per object. When all objects are full, additional streams are refused with 429.
   *
   * @default 256
   */
  readonly objectsMax?: number;
  /**
   * The maximum number of streams per object. The platform allows 32,768 WebSockets per object.
   *
   * @default 10,000
   */
  readonly streamsMax?: number;
  /**
   * The maximum number of characters in the subscriptions of all streams of one object, plus 64 for each URI. A stream
   * that exceeds this limit on its own is refused with 429.
   *
   * @default 33,554,432
   */
  readonly charsMax?: number;
}

/** The ranges of the options. A stream may open one socket per shard, so the number of shards is limited. */
const OPTIONS: OptionTable<HubOptions> = { shards: [1, 32], objectsMax: [1, 512], streamsMax: SIZE, charsMax: SIZE };

/**
 * Delivers notifications such as `toolsChanged()` and `resourceUpdated(uri)` to all clients that listen, on
 * `subscriptions/listen` of modern clients and the GET stream of legacy clients. They can be sent from any isolate: a
 * handler, another route, a cron trigger, a queue consumer. Delivery is at least once, and one notification may stand for
 * several. Requires the exported class `McpObject`. Each endpoint has its own hub, and a server at several endpoints
 * publishes to all of them.
 *
 * @throws {KitError} `options-invalid` naming the option, its value and its range.
 * @example
 * ```ts
 * const app = edge(server, { use: [sessions(), hub(), keys()] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
export function hub<Env>(options: HubOptions = {}): Part<Env, WithMcpObject<Env>> {
  checkOptions("hub(): ", options, OPTIONS);
  const { shards = 1, objectsMax = 256, streamsMax = 10_000, charsMax = 2 ** 25 } = options;
  const part: NotificationsPart<Env> = {
    slot: "notifications",
    objects: OBJECTS,
    attach: ({ onError, limits, reference }) => {
      const objects = new RoleObjects<HubRpc>("hub", reference);
      const placements = Array.from({ length: shards }, () => new Placement(objectsMax));
      const connect = async (env: unknown, { principal, size }: Claim) => {
        const owner = principal && (await hashPrincipal(principal));
        const claim: HubClaim = { owner, ownerMax: limits.listensPerPrincipalMax, size, streamsMax, charsMax };
        const headers = { [CLAIM_HEADER]: JSON.stringify(claim) };
        return (shard: number) => {
          const getStub = (object: number) => objects.named(env, hubName(shard, object));
          return (placements[shard] as Placement).connector(claim, {
            dial: (object) => retryOnReset(() => objects.dial(getStub(object), headers)),
            grow: (seen) => retryOnReset(() => objects.call(getStub(0), "grow", shard, seen, objectsMax)),
          });
        };
      };
      const publish = (shard: number, object: number, notifications: readonly string[]) =>
        retryOnReset(() => objects.call(objects.named(workerEnv, hubName(shard, object)), "publish", notifications));
      const publishAll = async (shard: number, notifications: readonly ChangeNotification[]) => {
        const failed = await publish(
          shard,
          0,
          notifications.map((notification) => JSON.stringify(notification)),
        );
        if (failed) throw new Error(`Streams that missed a notification: ${failed}`);
      };
      return {
        notifications: {
          source: keepLast((env) => hubSource((claim) => connect(env, claim), shards)),
          methods: keepLast(listenMethods),
        },
        watch: (registry) => {
          const failed = (error: unknown) => registry.report(error, { method: "(notifications)" }, onError);
          // The key prevents duplicate subscriptions when a server function returns the same server again.
          registry.changes.subscribe((notifications) => {
            // While modules are loading, objects cannot be called, and clients of this isolate cannot be listening.
            if (!isInRequest()) return;
            const parts = Map.groupBy(notifications, (notification) => describeSubject(notification) % shards);
            for (const [shard, part] of parts) waitUntil(publishAll(shard, part).catch(failed));
          }, `hub ${reference.className}`);
        },
        role: { name: "hub", create: (ctx) => new HubObject(ctx, publish) },
      };
    },
  };
  return part;
}
