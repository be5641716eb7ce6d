/**
 * Sealing keys from the environment: the bindings of a Worker, or what a Node server was given.
 *
 * @module
 */
import { KitError } from "./errors.ts";
import { KEYS_VARIABLE, KeyRing } from "./key-ring.ts";

/** The ring of one purpose, derived once per list of keys: deriving is dearer than a call. */
export class EnvKeys {
  readonly #purpose: string;
  readonly #without: string;
  #last: { readonly list: string; readonly ring: Promise<KeyRing> } | undefined;

  /** @param without What the author can do instead of setting keys, for the error text. */
  constructor(purpose: string, without: string) {
    this.#purpose = purpose;
    this.#without = without;
  }

  /** @throws {KitError} `keys-missing` or `keys-invalid`. */
  async ring(env: unknown): Promise<KeyRing> {
    const list = (env as Record<string, unknown> | undefined)?.[KEYS_VARIABLE];
    if (typeof list !== "string" || list.trim() === "") {
      throw new KitError(
        "keys-missing",
        `The secret ${KEYS_VARIABLE} is missing; npx mcp-edge keys makes one. ${this.#without}`,
      );
    }
    if (this.#last?.list !== list) this.#last = { list, ring: KeyRing.parse(list, this.#purpose) };
    return this.#last.ring;
  }
}
