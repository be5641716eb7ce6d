/** Stores each basket in its own Durable Object, which exists once, handles one call at a time, and survives crashes. */
import { DurableObject } from "cloudflare:workers";
import { type Address, Basket, type Contents } from "./basket.ts";

/** How long a basket without orders is kept after its last change, in milliseconds. */
const KEPT_MS = 30 * 24 * 60 * 60_000;

export class BasketObject extends DurableObject<Env> {
  readonly #basket = new Basket({
    load: () => this.ctx.storage.kv.get<Contents>("basket"),
    save: (contents) => {
      this.ctx.storage.kv.put("basket", contents);
      // Not awaited, because the object does not send its response before everything is stored.
      void this.ctx.storage.setAlarm(Date.now() + KEPT_MS);
    },
  });

  override async alarm(): Promise<void> {
    const contents = this.#basket.view();
    if ("orders" in contents && contents.orders.length === 0) await this.ctx.storage.deleteAll();
  }

  // Only these methods can be called over RPC.
  create() {
    return this.#basket.create();
  }
  view() {
    return this.#basket.view();
  }
  setQuantity(product: string, quantity: number) {
    return this.#basket.setQuantity(product, quantity);
  }
  beginOrder(agreedCents: number, address: Address) {
    return this.#basket.beginOrder(agreedCents, address);
  }
  finishOrder(number: string, receipt: string) {
    return this.#basket.finishOrder(number, receipt);
  }
  cancelOrder(number: string) {
    return this.#basket.cancelOrder(number);
  }
}
