/**
 * Sealing keys from the environment: the bindings of a Worker, or the `env` that a Node server was given.
 *
 * @module
 */
import { KitError } from "../protocol/errors.ts";
import { KEYS_VARIABLE, KeyRing } from "./key-ring.ts";

/** The key ring for one purpose. It is derived once per list of keys, because that is more expensive than a call. */
export class EnvKeys {
  readonly #purpose: string;
  readonly #needs: string;
  #last: { readonly list: string; readonly ring: Promise<KeyRing> } | undefined;

  /** @param needs The beginning of the error text, such as "Sessions need". */
  constructor(purpose: string, needs: string) {
    this.#purpose = purpose;
    this.#needs = needs;
  }

  /** Returns the key ring. @throws {KitError} `keys-missing` or `keys-invalid`. */
  async ring(env: unknown): Promise<KeyRing> {
    const list = (env as Record<string, unknown> | undefined)?.[KEYS_VARIABLE];
    if (typeof list !== "string" || list.trim() === "") {
      throw new KitError(
        "keys-missing",
        `${this.#needs} sealing keys, and there are none. Write edge(server, { keys: keys() }), with keys from "mcp-edge/worker/keys"; or set the secret ${KEYS_VARIABLE}, which npx mcp-edge keys makes.`,
      );
    }
    if (this.#last?.list !== list) this.#last = { list, ring: KeyRing.parse(list, this.#purpose) };
    return this.#last.ring;
  }
}
