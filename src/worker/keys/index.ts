/**
 * mcp-edge/worker/keys: sealing keys that nobody has to make, copy or rotate.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { RoleObjects } from "../bindings.ts";
import { OBJECTS, type WithMcpObject } from "../object.ts";
import type { KeysPart } from "../parts.ts";
import { KEYS_NAME } from "../roles.ts";
import { KeySource } from "./key-source.ts";
import { KeysObject, type KeysRpc } from "./keys-object.ts";
import type { Rotation } from "./rotation.ts";

export interface KeysOptions {
  /** Milliseconds a key seals before the next one does, from 1 minute to 10 years. @default 20 days */
  readonly rotateMs?: number;
  /**
   * Milliseconds a key is kept once it no longer seals. Session ids sealed with it are unknown afterwards, however often
   * they were renewed. From 1 second to 10 years. @default 366 days
   */
  readonly keepMs?: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const OPTIONS: OptionTable<KeysOptions> = {
  rotateMs: [MINUTE_MS, 3_650 * DAY_MS],
  keepMs: [1_000, 3_650 * DAY_MS],
};

/**
 * Keeps the keys that seal session ids and `requestState` in a Durable Object, which makes them when they are first
 * needed and replaces them from time to time. An isolate asks for them once, and again in the background; a request to a
 * warm one asks nothing. Where the secret `MCP_KEYS` is set, its keys are used and the object is never asked. Needs the
 * exported class {@link EdgeApp}`.McpObject`.
 *
 * @example
 * ```ts
 * const app = edge(server, { sessions: sessions(), keys: keys() });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function keys<Env>(options: KeysOptions = {}): KeysPart<Env, WithMcpObject<Env>> {
  checkOptions("keys(): ", options, OPTIONS);
  const { rotateMs = 20 * DAY_MS, keepMs = 366 * DAY_MS } = options;
  const rotation: Rotation = { rotateMs, keepMs, publishMs: Math.min(HOUR_MS, rotateMs / 4) };
  return {
    objects: OBJECTS,
    attach: (place) => {
      const objects = new RoleObjects<KeysRpc>("keys", place);
      const source = new KeySource(
        async (env, wanted) => objects.call(objects.named(env, KEYS_NAME), "keys", wanted),
        rotation,
      );
      return {
        ring: (env, purpose, sealed) => source.ring(env, purpose, sealed),
        role: { name: "keys", create: (ctx) => new KeysObject(ctx) },
      };
    },
  };
}
