/**
 * mcp-edge/worker/keys: sealing keys that nobody has to make, copy or rotate.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { answered, namespaceOf } from "../bindings.ts";
import type { KeysPart } from "../edge.ts";
import { KeySource } from "./key-source.ts";
import { KeysObject, type KeysRpc } from "./keys-object.ts";
import type { Rotation } from "./rotation.ts";

export interface KeysOptions {
  /** Name of the Durable Object binding. @default "MCP_KEY_STORE" */
  readonly binding?: string;
  /** Milliseconds a key seals before the next one does, from 1 minute to 10 years. @default 20 days */
  readonly rotateMs?: number;
  /**
   * Milliseconds a key is kept once it no longer seals. Session ids sealed with it are unknown afterwards, however often
   * they were renewed. From 1 second to 10 years. @default 366 days
   */
  readonly keepMs?: number;
  /** Where the keys are kept. */
  readonly jurisdiction?: DurableObjectJurisdiction;
}

type KeysNamespace = DurableObjectNamespace<Rpc.DurableObjectBranded & KeysRpc>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NAME = "keys";

const OPTIONS: OptionTable<KeysOptions> = {
  binding: null,
  rotateMs: [MINUTE_MS, 3_650 * DAY_MS],
  keepMs: [1_000, 3_650 * DAY_MS],
  jurisdiction: null,
};

/**
 * Keeps the keys that seal session ids and `requestState` in a Durable Object, which makes them when they are first
 * needed and replaces them from time to time. An isolate asks for them once, and again in the background; a request to a
 * warm one asks nothing. Where the secret `MCP_KEYS` is set, its keys are used and the object is never asked. Needs a
 * binding to the class it returns.
 *
 * @example
 * ```ts
 * const app = edge(server, { sessions: durable(), keys: keys() });
 * export default app;
 * export const { McpSession, McpKeys } = app;
 * ```
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function keys(options: KeysOptions = {}): KeysPart<{ McpKeys: typeof KeysObject }> {
  checkOptions("keys(): ", options, OPTIONS);
  const { binding = "MCP_KEY_STORE", rotateMs = 20 * DAY_MS, keepMs = 366 * DAY_MS, jurisdiction } = options;
  const rotation: Rotation = { rotateMs, keepMs, publishMs: Math.min(HOUR_MS, rotateMs / 4) };
  return {
    attach: () => {
      const source = new KeySource(async (env, wanted) => {
        const place: KeysNamespace = namespaceOf(env, binding, "keys", jurisdiction);
        return answered("keys", binding, place.get(place.idFromName(NAME)).keys(wanted));
      }, rotation);
      return {
        ring: (env, purpose, sealed) => source.ring(env, purpose, sealed),
        objects: { McpKeys: class McpKeys extends KeysObject {} },
      };
    },
  };
}
