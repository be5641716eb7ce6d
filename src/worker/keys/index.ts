/**
 * mcp-edge/worker/keys: sealing keys that nobody has to make, copy or rotate.
 *
 * @module
 */
import { KitError } from "../../core/errors.ts";
import type { KeysPart } from "../edge.ts";
import { within } from "../placement.ts";
import { KeySource } from "./key-source.ts";
import { KeysObject, type KeysRpc } from "./keys-object.ts";
import type { Rotation } from "./rotation.ts";

export interface KeysOptions {
  /** Name of the Durable Object binding. @default "MCP_KEY_STORE" */
  readonly binding?: string;
  /** Milliseconds a key seals before the next one does, at least a minute. @default 20 days */
  readonly rotateMs?: number;
  /**
   * Milliseconds a key is kept once it no longer seals. Session ids sealed with it are unknown afterwards, however often
   * they were renewed. @default 366 days
   */
  readonly keepMs?: number;
  /** Where the keys are kept. */
  readonly jurisdiction?: DurableObjectJurisdiction;
}

/** Not the bound of a limit: these are longer than a timer can be. */
function checkLength(name: string, ms: number, leastMs: number): void {
  if (Number.isFinite(ms) && ms >= leastMs) return;
  throw new KitError("options-invalid", `keys(): ${name} is ${ms}; it is a number of milliseconds from ${leastMs} on.`);
}

type KeysNamespace = DurableObjectNamespace<Rpc.DurableObjectBranded & KeysRpc>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NAME = "keys";

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
  const { binding = "MCP_KEY_STORE", rotateMs = 20 * DAY_MS, keepMs = 366 * DAY_MS, jurisdiction } = options;
  checkLength("rotateMs", rotateMs, MINUTE_MS);
  checkLength("keepMs", keepMs, 0);
  const rotation: Rotation = { rotateMs, keepMs, publishMs: Math.min(HOUR_MS, rotateMs / 4) };
  return {
    attach: () => {
      const source = new KeySource(async (env, wanted) => {
        const namespace = (env as Record<string, KeysNamespace | undefined> | undefined)?.[binding];
        if (!namespace) {
          const message =
            `Durable Object binding "${binding}" is missing. Add it to wrangler.toml, ` +
            "or set the secret MCP_KEYS (npx mcp-edge keys | npx wrangler secret put MCP_KEYS).";
          throw new KitError("binding-missing", message);
        }
        const place = within(namespace, jurisdiction);
        return place.get(place.idFromName(NAME)).keys(wanted);
      }, rotation);
      return {
        ring: (env, purpose, sealed) => source.ring(env, purpose, sealed),
        objects: { McpKeys: class McpKeys extends KeysObject {} },
      };
    },
  };
}
