/** Stores each basket in a file, for the server on a desktop. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Basket, type Contents, type RemoteBasket, type ShopEnv, type Store } from "./basket.ts";

/** Returns the baskets in a folder. The tools check that ids are UUIDs, so an id cannot lead to another path. */
export function basketsIn(folder: string): ShopEnv["BASKETS"] {
  mkdirSync(folder, { recursive: true });
  return { getByName: (id) => remote(new Basket(fileStore(join(folder, `${id}.json`)))) };
}

function fileStore(file: string): Store {
  return {
    load: () => {
      try {
        return JSON.parse(readFileSync(file, "utf8")) as Contents;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    save: (contents) => {
      // Renaming is atomic: after a crash, the file has either the old contents or the new ones.
      writeFileSync(`${file}.new`, JSON.stringify(contents));
      renameSync(`${file}.new`, file);
    },
  };
}

/** Wraps a basket, so that it has the same asynchronous methods as a Durable Object. */
function remote(basket: Basket): RemoteBasket {
  return {
    create: async () => basket.create(),
    view: async () => basket.view(),
    setQuantity: async (product, quantity) => basket.setQuantity(product, quantity),
    beginOrder: async (agreedCents, address) => basket.beginOrder(agreedCents, address),
    finishOrder: async (number, receipt) => basket.finishOrder(number, receipt),
    cancelOrder: async (number) => basket.cancelOrder(number),
  };
}
