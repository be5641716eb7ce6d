import type { Transport } from "../../core/protocol/transport.ts";

import { TransportLink } from "./transport-link.ts";

/** Creates the links over transports of one target. */
export class PipeOpener {
  readonly #target: Transport | (() => Transport | Promise<Transport>);
  #pipe: TransportLink | undefined;

  constructor(target: Transport | (() => Transport | Promise<Transport>)) {
    this.#target = target;
  }

  /** Returns the present link, or a new one if it has closed: a transport is started once, however often the era is detected. */
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

/** A transport that can be opened again after it has closed. */
export interface ReopenableTransport extends Transport {
  /** Returns a new transport to the same server. It is not started yet. */
  reopen(): Transport;
}
