// @module-tag long
/** Refreshes of one token by several processes. `npm run long -- refreshes` repeats this a hundred times. */
import { expect, test } from "vitest";
import { runRefreshStorm } from "./refresh-storm.ts";

test("ten processes over two isolates refresh one token while objects and workerd are lost: one rotation, and no client is signed out", {
  timeout: 300_000,
}, async () => {
  const { refreshes, findings } = await runRefreshStorm(4);
  expect([refreshes, findings]).toEqual([40, []]);
});
