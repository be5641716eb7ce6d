/**
 * Notices that something changed: from anywhere in the program to whoever listens in this process.
 *
 * @module
 */

/** What changed: a list, or what a resource holds. */
export type Notice =
  | { readonly kind: "tools" | "prompts" | "resources" }
  | { readonly kind: "resource"; readonly uri: string };

export type NoticeListener = (notice: Notice) => void;

/** Hands each notice to every listener, in a later turn. Equal notices of one turn arrive as one. */
export class NoticeBus {
  readonly #listeners = new Set<NoticeListener>();
  readonly #waiting = new Map<string, Notice>();

  publish(notice: Notice): void {
    if (this.#listeners.size === 0) return;
    if (this.#waiting.size === 0) queueMicrotask(() => this.#deliver());
    this.#waiting.set(notice.kind === "resource" ? `resource ${notice.uri}` : notice.kind, notice);
  }

  /** Returns what ends the subscription. */
  subscribe(listener: NoticeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #deliver(): void {
    const notices = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const notice of notices) for (const listener of [...this.#listeners]) listener(notice);
  }
}
