/**
 * A basket and its orders: the logic, independent of where the data is stored. basket-object.ts stores a basket in a Durable Object,
 * basket-files.ts in a file.
 */
import { ToolError } from "mcp-edge";
import { findProduct, productIds } from "./catalogue.ts";

export interface Line {
  readonly product: string;
  readonly quantity: number;
}

export interface Address {
  readonly name: string;
  readonly street: string;
  readonly city: string;
}

export interface Order {
  /** Identifies the order everywhere, including at the payment service. */
  readonly number: string;
  readonly lines: readonly Line[];
  readonly cents: number;
  readonly address: Address;
  /** Undefined until the order is paid. */
  readonly receipt?: string;
}

export interface Contents {
  readonly lines: readonly Line[];
  readonly orders: readonly Order[];
}

/** Why a call was refused. It is returned, not thrown, because exceptions lose their class when they leave a Durable Object. */
export interface Problem {
  readonly problem: string;
}

/** Returns the result of a basket's method. @throws {ToolError} if it is a problem; the model reads the message. */
export function need<T>(result: T | Problem): T {
  if (typeof result === "object" && result !== null && "problem" in result) throw new ToolError(result.problem);
  return result as T;
}

/** Stores one basket. Each save replaces the contents atomically, so that a crash cannot leave an incomplete change. */
export interface Store {
  load(): Contents | undefined;
  save(contents: Contents): void;
}

export const computeTotal = (lines: readonly Line[]): number =>
  lines.reduce((cents, { product, quantity }) => cents + quantity * (findProduct(product)?.cents ?? 0), 0);

export const findUnpaidOrder = ({ orders }: Contents): Order | undefined => orders.find(({ receipt }) => !receipt);

const NO_BASKET: Problem = {
  problem: "There is no basket with this id. Call start_basket and use the id that it returns.",
};
const BEING_PAID: Problem = {
  problem: "The basket is being ordered, and it is not yet known whether it was paid. Call checkout to finish.",
};

export class Basket {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  create(): void {
    if (!this.#store.load()) this.#store.save({ lines: [], orders: [] });
  }

  view(): Contents | Problem {
    return this.#store.load() ?? NO_BASKET;
  }

  /** Sets the quantity of a product. Because it does not add to the quantity, repeating a call has no effect. */
  setQuantity(product: string, quantity: number): Contents | Problem {
    const contents = this.#store.load();
    if (!contents) return NO_BASKET;
    if (findUnpaidOrder(contents)) return BEING_PAID;
    if (!findProduct(product)) return { problem: `There is no product "${product}", only ${productIds.join(", ")}.` };
    const others = contents.lines.filter((line) => line.product !== product);
    return this.#save({ ...contents, lines: quantity > 0 ? [...others, { product, quantity }] : others });
  }

  /**
   * Creates an order from the basket, which can then no longer be changed. The order has a number before it is paid, so that a repeated
   * payment uses the same number. If there is an unpaid order, returns that order.
   */
  beginOrder(agreedCents: number, address: Address): Order | Problem {
    const contents = this.#store.load();
    if (!contents) return NO_BASKET;
    const unpaid = findUnpaidOrder(contents);
    if (unpaid) return unpaid;
    const { lines, orders } = contents;
    const cents = computeTotal(lines);
    if (cents !== agreedCents || lines.length === 0) {
      return { problem: "The basket has changed since the customer agreed to its price. Call checkout again." };
    }
    const order: Order = { number: crypto.randomUUID(), lines, cents, address };
    this.#save({ lines, orders: [...orders, order] });
    return order;
  }

  /** Marks an order as paid, and empties the basket. */
  finishOrder(number: string, receipt: string): Order | Problem {
    const contents = this.#store.load();
    const order = contents?.orders.find((each) => each.number === number);
    if (!contents || !order) return { problem: `There is no order ${number}.` };
    if (order.receipt) return order;
    const paid = { ...order, receipt };
    this.#save({ lines: [], orders: contents.orders.map((each) => (each === order ? paid : each)) });
    return paid;
  }

  /** Removes an order that was definitely not paid, so that the basket can be changed again. */
  cancelOrder(number: string): Contents | Problem {
    const contents = this.#store.load();
    if (!contents) return NO_BASKET;
    return this.#save({
      ...contents,
      orders: contents.orders.filter((each) => each.number !== number || each.receipt),
    });
  }

  #save(contents: Contents): Contents {
    this.#store.save(contents);
    return contents;
  }
}

/** A basket that is called over RPC. Every method returns a promise. */
export type RemoteBasket = {
  [Name in keyof Basket]: (...args: Parameters<Basket[Name]>) => Promise<ReturnType<Basket[Name]>>;
};

/** The bindings that the server uses. Over stdio, stdio.ts provides them. */
export interface ShopEnv {
  readonly BASKETS: { getByName(id: string): RemoteBasket };
  /** The URL of the payment service. Without it, orders are paid on delivery. */
  readonly PAYMENTS_URL?: string;
  readonly PAYMENTS_KEY?: string;
}
