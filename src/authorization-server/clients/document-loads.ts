/**
 * The documents of clients that are being requested. Requests for the same document share one load, which belongs to
 * none of them: when the one that began it is cancelled, the load continues for the others.
 *
 * Everyone can name a document that is answered slowly. So the loads that one network causes are bounded, and those
 * that one host is asked for, and others are served meanwhile.
 *
 * @module
 */
import { waitUntil } from "cloudflare:workers";
import { pause } from "../../core/basics/pause.ts";

/**
 * The maximum number of loads at a time that one network has caused, that one host is asked for, and of all.
 * @limit count Metadata documents that an isolate requests at the same time for one network. The user is asked to try
 * again.
 */
const NETWORK_MAX = 5;
/**
 * @limit count Metadata documents that an isolate requests at the same time from one host. The user is asked to try
 * again.
 */
const HOST_MAX = 20;
/**
 * @limit count Metadata documents that an isolate requests at the same time. The user is asked to try again.
 */
const LOADS_MAX = 200;

/** Who asks for a document. */
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

export class DocumentLoads<T> {
  readonly #waitMs: number;
  readonly #loads = new Map<string, Load<T>>();

  /**
   * @param waitMs Milliseconds that a request waits. A load that has not ended then never will: the platform has
   * stopped it.
   */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /** Returns the outcome of the load of a document, or why there is none. */
  async join(request: DocumentRequest, load: () => Promise<T>): Promise<T | string> {
    this.#removeStopped();
    const found = this.#loads.get(request.id) ?? this.#begin(request, load);
    if (!found) return "Too many documents of clients are being requested. Try again.";
    const settled = new AbortController();
    // The timer also shows the platform that a request which waits for the load of another one is not hung.
    const late = pause(this.#waitMs, settled.signal).then(() => "The document of the client did not arrive in time.");
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
