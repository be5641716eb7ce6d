/** Work for the same key runs one after the other. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Turns } from "../../../src/core/basics/turns.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("work that takes long keeps its turn, and the other work follows in order", async () => {
  const turns = new Turns();
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const first = turns.run("key", async () => {
    await held.promise;
    order.push("first");
  });
  const others = ["second", "third"].map((name) => turns.run("key", async () => void order.push(name)));
  await turns.run("another key", async () => void order.push("another key"));
  await vi.advanceTimersByTimeAsync(10 * 60_000);
  expect(order).toEqual(["another key"]);
  held.resolve();
  await Promise.all([first, ...others]);
  expect(order).toEqual(["another key", "first", "second", "third"]);
  // A heartbeat would set another timer each time; timers of the process itself have run by then.
  await vi.advanceTimersByTimeAsync(10 * 60_000);
  expect(vi.getTimerCount()).toBe(0);
});

test("work that fails ends its turn, and its error reaches its caller only", async () => {
  const turns = new Turns();
  const failed = turns.run("key", async () => {
    throw new Error("failed");
  });
  const next = turns.run("key", async () => "next");
  await expect(failed).rejects.toThrow("failed");
  expect(await next).toBe("next");
});
