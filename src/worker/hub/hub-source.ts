/**
 * The Worker's side of the hub: one WebSocket for each stream that wants notices.
 *
 * @module
 */
import {
  compileFilter,
  type Notice,
  type NoticeFilter,
  type NoticeListener,
  type NoticeSource,
  type NoticeTap,
} from "../../core/notices.ts";
import { Link } from "../link.ts";

/** Notices of every isolate. @param dial Asks the hub for a WebSocket. */
export function hubSource(dial: () => Promise<Response>): NoticeSource {
  return {
    open: async (filter, listener) => {
      const tap = new HubTap(filter, listener);
      await tap.open(dial);
      return tap;
    },
  };
}

class HubTap implements NoticeTap {
  readonly #listener: NoticeListener;
  #filter: NoticeFilter;
  #admits: (notice: Notice) => boolean;
  #link: Link | undefined;
  #number = 0;
  /** Who waits for a filter to hold, by its number. */
  readonly #waiting = new Map<number, () => void>();
  #finish: () => void = () => undefined;
  readonly ended: Promise<void>;

  constructor(filter: NoticeFilter, listener: NoticeListener) {
    this.#filter = filter;
    this.#admits = compileFilter(filter);
    this.#listener = listener;
    this.ended = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  async open(dial: () => Promise<Response>): Promise<void> {
    const link = await Link.open({
      dial,
      onMessage: (text) => this.#receive(text),
      onBack: () => void this.#back(),
      onEnd: () => this.#end(),
    });
    if (link instanceof Response) throw new Error(`The hub answered ${link.status} instead of a WebSocket.`);
    this.#link = link;
    await this.#say();
  }

  async update(filter: NoticeFilter): Promise<void> {
    this.#filter = filter;
    this.#admits = compileFilter(filter);
    await this.#say();
  }

  stop(): void {
    this.#link?.close();
    this.#end();
  }

  /** Says what is wanted; resolves when the hub has heard it. */
  #say(): Promise<void> {
    const number = ++this.#number;
    this.#link?.send(`${number}\n${JSON.stringify(this.#filter)}`);
    return new Promise((resolve) => this.#waiting.set(number, resolve));
  }

  /** What was told while the link was lost is not known: one notice for everything subscribed to stands for it. */
  async #back(): Promise<void> {
    await this.#say();
    for (const kind of this.#filter.lists) this.#listener({ kind });
    for (const uri of this.#filter.uris) this.#listener({ kind: "resource", uri });
  }

  #receive(text: string): void {
    if (text.startsWith("a")) {
      this.#heard(Number(text.slice(1)));
      return;
    }
    const notices = JSON.parse(text.slice(1)) as Notice[];
    for (const notice of notices.filter((each) => this.#admits(each))) this.#listener(notice);
  }

  /** A later filter stands for the earlier ones. */
  #heard(upTo: number): void {
    for (const [number, resolve] of this.#waiting) {
      if (number > upTo) continue;
      this.#waiting.delete(number);
      resolve();
    }
  }

  #end(): void {
    this.#heard(this.#number);
    this.#finish();
  }
}
