import type { Transport } from "../../core/protocol/transport.ts";

import { TransportLink } from "./transport-link.ts";

/** Creates the links to one target over its transports. */
export class PipeOpener {
  readonly #target: Transport | (() => Transport | Promise<Transport>);
  #pipe: TransportLink | undefined;

  constructor(target: Transport | (() => Transport | Promise<Transport>)) {
    this.#target = target;
  }

  /** Returns the current link, or a new one if it has closed. A transport is started only once, even if the era is detected again. */
  async open(): Promise<TransportLink> {
    if (!this.#pipe) this.#pipe = new TransportLink(await this.#create(false));
    else if (this.#pipe.isClosed) this.#pipe = new TransportLink(await this.#create(true));
    return this.#pipe;
  }

  #create(isAgain: boolean): Transport | Promise<Transport> {
    const target = this.#target;
    if (typeof target === "function") return target();
    const { reopen } = target as Partial<ReopenableTransport>;
    return isAgain && reopen ? reopen.call(target) : target;
  }
}

/** A transport that can be replaced by a new one after it has closed. */
export interface ReopenableTransport extends Transport {
  /** Returns a new transport to the same server, which is not started yet. */
  reopen(): Transport;
}
