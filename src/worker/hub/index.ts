/**
 * Notifications that reach every client of every isolate.
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
   * The number of shards, 1 to 32. Each is responsible for some list kinds and resource URIs. One shard publishes some
   * hundred notifications a second. A stream has a WebSocket to each shard that it needs. Streams that are open while
   * this number changes may miss notifications until their Worker is replaced.
   *
   * @default 1
   */
  readonly shards?: number;
  /**
   * The maximum number of objects over which the streams of one shard are spread, 1 to 512. A shard begins with one
   * object, and the number doubles when they are full. It is stored, and never falls. Publishing costs one request for
   * each object. When all are full, a further stream is refused with 429.
   *
   * @default 256
   */
  readonly objectsMax?: number;
  /**
   * The maximum number of streams that one object serves. The platform allows an object 32,768 WebSockets.
   *
   * @default 10,000
   */
  readonly streamsMax?: number;
  /**
   * The maximum number of characters that the subscriptions of all streams of one object may have, with 64 added for
   * each URI. A stream that exceeds it alone is refused with 429.
   *
   * @default 33,554,432
   */
  readonly charsMax?: number;
}

/** A stream may open one socket for each shard, so the number of shards is limited. */
const OPTIONS: OptionTable<HubOptions> = { shards: [1, 32], objectsMax: [1, 512], streamsMax: SIZE, charsMax: SIZE };

/**
 * Delivers `toolsChanged()`, `resourceUpdated(uri)` and the like, called in any isolate (a handler, another route, a
 * cron, a queue), to every client that listens: `subscriptions/listen` of modern clients, the GET stream of legacy
 * ones. Delivery is at least once, and one notification may stand for several. Needs the exported class `McpObject`.
 * Each endpoint has its own hub; a server at several endpoints publishes to each.
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
          const failed = (error: unknown) =>
            registry.report(error, { correlationId: crypto.randomUUID(), method: "(notifications)" }, onError);
          // The key avoids duplicate subscriptions when a server factory returns the same server again.
          registry.changes.subscribe((notifications) => {
            // While modules are loading, no object can be called, and no client of this isolate can be listening.
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
