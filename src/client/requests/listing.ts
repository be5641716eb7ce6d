/** A page of a list. */
export interface ListedPage<T> {
  /** The items of the page. */
  readonly items: readonly T[];
  /** The cursor of the next page; undefined on the last page. */
  readonly nextCursor: string | undefined;
}

/** The limits of a listing. */
export interface ListingLimits {
  /** The maximum number of pages. */
  readonly pagesMax: number;
  /** The maximum number of characters of all pages together, as JSON. */
  readonly messageBytesMax: number;
}

/** The default limits. */
export const LISTING_LIMITS: ListingLimits = { pagesMax: 1_000, messageBytesMax: 32 * 1024 * 1024 };

/**
 * The items of a list, read page by page while they are consumed: `for await (const tool of client.tools())`. The iteration ends
 * with a warning when the server returns the same cursor twice, after `pagesMax` pages, or when all pages together exceed
 * `messageBytesMax`.
 */
export class Listing<T> implements AsyncIterable<T> {
  readonly #read: (cursor: string | undefined) => Promise<ListedPage<T>>;
  readonly #limits: ListingLimits;
  readonly #warn: (message: string) => void;

  /** Created by methods of the client, such as `tools()`. @internal */
  constructor(
    read: (cursor: string | undefined) => Promise<ListedPage<T>>,
    limits: ListingLimits,
    warn: (message: string) => void,
  ) {
    this.#read = read;
    this.#limits = limits;
    this.#warn = warn;
  }

  /** Reads the list, beginning with its first page. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void> {
    const { pagesMax, messageBytesMax: sizeMax } = this.#limits;
    const seen = new Set<string>();
    let size = 0;
    let cursor: string | undefined;
    for (let page = 1; ; page += 1) {
      const { items, nextCursor } = await this.#read(cursor);
      yield* items;
      // Some servers send null on the last page.
      if (typeof nextCursor !== "string") return;
      if (seen.has(nextCursor)) return this.#warn("A list was cut off: the server returned a cursor twice.");
      size += JSON.stringify([items, nextCursor]).length;
      const limit =
        size > sizeMax ? `${sizeMax} bytes (messageBytesMax)` : page >= pagesMax && `${pagesMax} pages (pagesMax)`;
      if (limit) return this.#warn(`A list was cut off: it has more than ${limit}.`);
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
