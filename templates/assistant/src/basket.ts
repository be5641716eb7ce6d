/**
 * A basket and its orders: the rules, apart from the place where the data is kept. basket-object.ts keeps a basket in a
 * Durable Object, basket-files.ts in a file.
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
  /** Names the order everywhere, also at the payment service. */
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

/** A rule was broken. Returned and not thrown, because exceptions lose their class on the way out of an object. */
export interface Problem {
  readonly problem: string;
}

/** Returns the value of a basket's answer. @throws {ToolError} if it is a problem; the model reads its text. */
export function need<T>(answer: T | Problem): T {
  if (typeof answer === "object" && answer !== null && "problem" in answer) throw new ToolError(answer.problem);
  return answer as T;
}

/** The place where one basket is kept. Each save replaces everything at once, so no crash can leave half of a change. */
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
  problem: "The basket is being ordered, and it is not known yet whether it was paid. Call checkout to finish.",
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

  /** Sets a quantity. It does not add one, so that a call that is repeated changes nothing. */
  setQuantity(product: string, quantity: number): Contents | Problem {
    const contents = this.#store.load();
    if (!contents) return NO_BASKET;
    if (findUnpaidOrder(contents)) return BEING_PAID;
    if (!findProduct(product)) return { problem: `There is no product "${product}", only ${productIds.join(", ")}.` };
    const others = contents.lines.filter((line) => line.product !== product);
    return this.#save({ ...contents, lines: quantity > 0 ? [...others, { product, quantity }] : others });
  }

  /**
   * Makes an order of the basket, which cannot be changed from then on. The order has its number before it is paid, so
   * whoever repeats the payment repeats it under the same number. If there is an unpaid order, it returns that one.
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

  /** Marks an order as paid and empties the basket. */
  finishOrder(number: string, receipt: string): Order | Problem {
    const contents = this.#store.load();
    const order = contents?.orders.find((each) => each.number === number);
    if (!contents || !order) return { problem: `There is no order ${number}.` };
    if (order.receipt) return order;
    const paid = { ...order, receipt };
    this.#save({ lines: [], orders: contents.orders.map((each) => (each === order ? paid : each)) });
    return paid;
  }

  /** Removes an order that was certainly not paid. The basket can be changed again. */
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

/** A basket that is called from elsewhere, such as another machine: every function returns a promise. */
export type RemoteBasket = {
  [Name in keyof Basket]: (...args: Parameters<Basket[Name]>) => Promise<ReturnType<Basket[Name]>>;
};

/** The bindings that the server uses. On stdio, stdio.ts provides them. */
export interface ShopEnv {
  readonly BASKETS: { getByName(id: string): RemoteBasket };
  /** The payment service; without it, orders are paid on delivery. */
  readonly PAYMENTS_URL?: string;
  readonly PAYMENTS_KEY?: string;
}
