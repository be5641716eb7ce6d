/**
 * The definitions of one kind, in the order they were made: looked up by key in calls, listed as ready JSON text.
 *
 * @module
 */
import { KitError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { VersionRules } from "../protocol/versions.ts";

/** One list entry of a version, encoded. */
export interface ListedEntry {
  readonly key: string;
  readonly text: string;
}

/** One definition of a catalog. */
export interface CatalogItem {
  /** Name or URI: unique in its catalog. */
  readonly key: string;
  /** The list entry, with only what the version has. */
  entry(rules: VersionRules): JsonObject;
}

export class Catalog<Item extends CatalogItem> {
  readonly #kind: string;
  readonly #items = new Map<string, Item>();
  readonly #listed = new Map<string, readonly ListedEntry[]>();

  /** @param kind For error texts: "Tool", "Prompt". */
  constructor(kind: string) {
    this.#kind = kind;
  }

  get size(): number {
    return this.#items.size;
  }

  /**
   * Returns the change that adds the item, so that several catalogs can agree before one changes.
   *
   * @param place Where it is defined, for the error text.
   * @param isReplacing Whether it may take the place, and the position, of one with its key.
   * @throws {KitError} `definition-duplicate` when the key is taken; the first definition stays.
   */
  plan(item: Item, place: string, isReplacing: boolean): () => void {
    if (!isReplacing && this.#items.has(item.key)) {
      throw new KitError(
        "definition-duplicate",
        `${this.#kind} "${item.key}" is already defined; ${place} defines it again. Names and URIs are unique within a server.`,
      );
    }
    return () => {
      this.#items.set(item.key, item);
      this.#listed.clear();
    };
  }

  /** Whether there was one. */
  remove(key: string): boolean {
    this.#listed.clear();
    return this.#items.delete(key);
  }

  find(key: string): Item | undefined {
    return this.#items.get(key);
  }

  /** In order of definition. */
  values(): IterableIterator<Item> {
    return this.#items.values();
  }

  /** The entries of a version, made on first use. */
  list(rules: VersionRules): readonly ListedEntry[] {
    let entries = this.#listed.get(rules.version);
    if (entries === undefined) {
      entries = [...this.#items.values()].map((item) => ({ key: item.key, text: JSON.stringify(item.entry(rules)) }));
      this.#listed.set(rules.version, entries);
    }
    return entries;
  }
}
