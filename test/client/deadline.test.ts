import { expect, test } from "vitest";
import { Deadline } from "../../src/client/basics/deadline.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const aborted = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener("abort", resolve));

test("a time limit is paused until its last hold is released, whatever restarts it meanwhile", async () => {
  const deadline = new Deadline({ what: "test", timeoutMs: 30, totalTimeoutMs: 0 });
  const [first, second] = [deadline.hold(), deadline.hold()];
  deadline.restart();
  first();
  await pause(100);
  expect(deadline.signal.aborted).toBe(false);
  second();
  await aborted(deadline.signal);
  expect(deadline.signal.reason).toMatchObject({ code: "timeout", source: "limit", mayHaveRun: true });
});

test("a deadline that was stopped never expires, even if a hold is released later", async () => {
  const deadline = new Deadline({ what: "test", timeoutMs: 30, totalTimeoutMs: 60 });
  const release = deadline.hold();
  deadline.stop();
  release();
  await pause(120);
  expect(deadline.signal.aborted).toBe(false);
});

test("the caller's reason is the reason of the signal", () => {
  const controller = new AbortController();
  const deadline = new Deadline({ what: "test", timeoutMs: 1_000, totalTimeoutMs: 0, signal: controller.signal });
  controller.abort("enough");
  expect(deadline.signal.reason).toBe("enough");
});
