/** Keeps each basket in a file, for the server on a desktop. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Basket, type Contents, type RemoteBasket, type ShopEnv, type Store } from "./basket.ts";

/** Returns the baskets of a folder. Their ids are UUIDs, which the tools check, so an id cannot name another path. */
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
      // Renaming replaces the file at once: after a crash it has either the old contents or the new ones.
      writeFileSync(`${file}.new`, JSON.stringify(contents));
      renameSync(`${file}.new`, file);
    },
  };
}

/** Gives a basket the functions with promises that an object at the edge has. */
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
