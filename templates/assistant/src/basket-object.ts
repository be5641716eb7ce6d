/** Keeps each basket in a Durable Object of its own: it exists once, works on one call at a time, and survives crashes. */
import { DurableObject } from "cloudflare:workers";
import { type Address, Basket, type Contents } from "./basket.ts";

/** A basket that nobody has changed for 30 days and that led to no order is deleted. */
const KEPT_MS = 30 * 24 * 60 * 60_000;

export class BasketObject extends DurableObject<Env> {
  readonly #basket = new Basket({
    load: () => this.ctx.storage.kv.get<Contents>("basket"),
    save: (contents) => {
      this.ctx.storage.kv.put("basket", contents);
      // Not awaited: the object's answer is held back until everything is stored.
      void this.ctx.storage.setAlarm(Date.now() + KEPT_MS);
    },
  });

  override async alarm(): Promise<void> {
    const contents = this.#basket.view();
    if ("orders" in contents && contents.orders.length === 0) await this.ctx.storage.deleteAll();
  }

  // Only these methods can be called from outside.
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
