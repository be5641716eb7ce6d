/**
 * The metadata documents that are being loaded. Requests that need the same document share one load, which continues even if
 * the request that started it is cancelled.
 *
 * Anyone can name a document whose host responds slowly. Therefore the number of loads is limited for each network and for each
 * host, so that other clients can still be loaded.
 *
 * @module
 */
import { waitUntil } from "cloudflare:workers";
import { pause } from "../../core/basics/pause.ts";

/**
 * The maximum number of concurrent loads for one network.
 * @limit count Metadata documents that an isolate loads at the same time for one network. Above it, the user is asked to try
 * again.
 */
const NETWORK_MAX = 5;
/**
 * The maximum number of concurrent loads from one host.
 * @limit count Metadata documents that an isolate loads at the same time from one host. Above it, the user is asked to try
 * again.
 */
const HOST_MAX = 20;
/**
 * The maximum number of concurrent loads.
 * @limit count Metadata documents that an isolate loads at the same time. Above it, the user is asked to try again.
 */
const LOADS_MAX = 200;

/** A request that needs a metadata document. */
export interface DocumentRequest {
  /** The URL of the document. */
  readonly id: string;
  /** The network of the request. */
  readonly network: string;
}

interface Load<T> {
  readonly outcome: Promise<T>;
  readonly host: string;
  readonly network: string;
  readonly untilMs: number;
}

/** Loads documents, and shares pending loads. */
export class DocumentLoads<T> {
  readonly #waitMs: number;
  readonly #loads = new Map<string, Load<T>>();

  /**
   * @param waitMs How long a request waits for a load, in milliseconds. A load that is still pending after this time was stopped
   * by the platform, and never ends.
   */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /** Returns the outcome of a pending or new load of a document, or the reason why there is none. */
  async join(request: DocumentRequest, load: () => Promise<T>): Promise<T | string> {
    this.#removeStopped();
    const found = this.#loads.get(request.id) ?? this.#begin(request, load);
    if (!found) return "Too many metadata documents are being requested at the moment. Try again.";
    const settled = new AbortController();
    // With a pending timer, the platform does not take a request that waits for the load of another request for a hung one.
    const late = pause(this.#waitMs, settled.signal).then(
      () => "The request for the metadata document of the client timed out.",
    );
    return Promise.race([found.outcome, late]).finally(() => settled.abort());
  }

  #begin({ id, network }: DocumentRequest, load: () => Promise<T>): Load<T> | undefined {
    const { host } = new URL(id);
    const all = [...this.#loads.values()];
    const isFull =
      all.length >= LOADS_MAX ||
      all.filter((each) => each.network === network).length >= NETWORK_MAX ||
      all.filter((each) => each.host === host).length >= HOST_MAX;
    if (isFull) return undefined;
    const outcome = load().finally(() => {
      if (this.#loads.get(id) === begun) this.#loads.delete(id);
    });
    const begun: Load<T> = { outcome, host, network, untilMs: Date.now() + this.#waitMs };
    this.#loads.set(id, begun);
    waitUntil(outcome.catch(() => undefined));
    return begun;
  }

  #removeStopped(): void {
    const nowMs = Date.now();
    for (const [id, { untilMs }] of this.#loads) if (nowMs >= untilMs) this.#loads.delete(id);
  }
}
