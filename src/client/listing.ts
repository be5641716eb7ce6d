/** A page of a list, whatever it lists. */
export interface ListedPage<T> {
  /** The items of the page. */
  readonly items: readonly T[];
  /** The cursor of the next page; undefined on the last one. */
  readonly nextCursor: string | undefined;
}

/**
 * The items of a list, read page by page while they are consumed: `for await (const tool of client.tools())`. It ends
 * with a warning when the server returns a cursor twice, or after `pagesMax` pages.
 */
export class Listing<T> implements AsyncIterable<T> {
  readonly #read: (cursor: string | undefined) => Promise<ListedPage<T>>;
  readonly #pagesMax: number;
  readonly #warn: (message: string) => void;

  /** Use the methods of the client, such as `tools()`. */
  constructor(
    read: (cursor: string | undefined) => Promise<ListedPage<T>>,
    pagesMax: number,
    warn: (message: string) => void,
  ) {
    this.#read = read;
    this.#pagesMax = pagesMax;
    this.#warn = warn;
  }

  /** Reads the list from its first page on. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    const seen = new Set<string>();
    let cursor: string | undefined;
    for (let page = 1; ; page += 1) {
      const { items, nextCursor } = await this.#read(cursor);
      yield* items;
      if (nextCursor === undefined) return;
      if (seen.has(nextCursor)) return this.#warn("A list was not read further: the server returned a cursor twice.");
      if (page >= this.#pagesMax) {
        return this.#warn(`A list was not read further: it has more than ${this.#pagesMax} pages (pagesMax).`);
      }
      seen.add(nextCursor);
      cursor = nextCursor;
    }
  }

  /** Reads the whole list. */
  async all(): Promise<T[]> {
    const items: T[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}
