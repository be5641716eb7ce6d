/**
 * The definitions of one kind, in order of definition. Calls find them by key, and lists read their JSON text.
 *
 * @module
 */
import { KitError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { VersionRules } from "../protocol/versions.ts";

/** An encoded entry of a list, for one version. */
export interface ListedEntry {
  readonly key: string;
  readonly text: string;
}

/** One definition of a catalog. */
export interface CatalogItem {
  /** Name or URI: unique in its catalog. */
  readonly key: string;
  /** Returns the list entry, with only the members that the version defines. */
  entry(rules: VersionRules): JsonObject;
}

export class Catalog<Item extends CatalogItem> {
  readonly #kind: string;
  readonly #form: (key: string) => string;
  readonly #items = new Map<string, Item>();
  readonly #listed = new Map<string, readonly ListedEntry[]>();

  /**
   * @param kind The kind of definition for error messages, such as "Tool".
   * @param form Normalizes a key. Keys with the same form are equal.
   */
  constructor(kind: string, form: (key: string) => string = (key) => key) {
    this.#kind = kind;
    this.#form = form;
  }

  get size(): number {
    return this.#items.size;
  }

  /**
   * Checks the item and returns a function that adds it, so that several catalogs can check before any of them changes.
   *
   * @param where Where the definition is made, for error messages.
   * @param isReplacing Whether the item may replace one with the same key, at the same position.
   * @throws {KitError} `definition-duplicate` if the key is taken. The first definition stays.
   */
  plan(item: Item, where: string, isReplacing: boolean): () => void {
    const key = this.#form(item.key);
    if (!isReplacing && this.#items.has(key)) {
      throw new KitError(
        "definition-duplicate",
        `${this.#kind} "${item.key}" is already defined; ${where} defines it again.`,
      );
    }
    return () => {
      this.#items.set(key, item);
      this.#listed.clear();
    };
  }

  /** Removes an item. Returns whether there was one. */
  remove(key: string): boolean {
    this.#listed.clear();
    return this.#items.delete(this.#form(key));
  }

  find(key: string): Item | undefined {
    return this.#items.get(this.#form(key));
  }

  /** Returns the items in order of definition. */
  values(): IterableIterator<Item> {
    return this.#items.values();
  }

  /** Returns the entries for a version. They are encoded on first use. */
  list(rules: VersionRules): readonly ListedEntry[] {
    let entries = this.#listed.get(rules.version);
    if (entries === undefined) {
      entries = [...this.#items.values()].map((item) => ({ key: item.key, text: JSON.stringify(item.entry(rules)) }));
      this.#listed.set(rules.version, entries);
    }
    return entries;
  }
}
