/**
 * Sealing keys that are created, distributed and rotated automatically.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { RoleObjects } from "../bindings.ts";
import { OBJECTS, type WithMcpObject } from "../object.ts";
import type { KeysPart, Part } from "../parts.ts";
import { KEYS_NAME } from "../roles.ts";
import { KeySource } from "./key-source.ts";
import { KeysObject, type KeysRpc } from "./keys-object.ts";
import type { Rotation } from "./rotation.ts";

/** Options of {@link keys}. */
export interface KeysOptions {
  /**
   * The time, in milliseconds, after which a new key replaces the one that seals, from 1 minute to 10 years.
   *
   * @default 20 days
   */
  readonly rotateMs?: number;
  /**
   * The time, in milliseconds, for which a key is kept after it was replaced, from 1 second to 10 years. Session ids
   * that were sealed with it are invalid afterwards, however often they were renewed.
   *
   * @default 366 days
   */
  readonly ttlMs?: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const OPTIONS: OptionTable<KeysOptions> = {
  rotateMs: [MINUTE_MS, 3_650 * DAY_MS],
  ttlMs: [1_000, 3_650 * DAY_MS],
};

/**
 * Keeps the keys that seal session ids and `requestState` in a Durable Object, which creates them when they are first
 * needed and replaces them regularly. An isolate reads them once and refreshes them in the background; a request to a
 * warm isolate reads nothing. If the secret `MCP_KEYS` is set, its keys are used and the object is not called. Needs
 * the exported class `McpObject`.
 *
 * @example
 * ```ts
 * const app = edge(server, { use: [sessions(), keys()] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function keys<Env>(options: KeysOptions = {}): Part<Env, WithMcpObject<Env>> {
  checkOptions("keys(): ", options, OPTIONS);
  const { rotateMs = 20 * DAY_MS, ttlMs = 366 * DAY_MS } = options;
  const rotation: Rotation = { rotateMs, ttlMs, publishMs: Math.min(HOUR_MS, rotateMs / 4) };
  const part: KeysPart<Env> = {
    slot: "keys",
    objects: OBJECTS,
    attach: (reference) => {
      const objects = new RoleObjects<KeysRpc>("keys", reference);
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
  return part;
}
