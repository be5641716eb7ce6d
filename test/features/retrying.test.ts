/** Steps that are retried. */
import { describe, expect, test } from "vitest";
import { KitError, retrying } from "../../src/core/index.ts";

/** Fails `times` times, then returns the number of tries and their keys. */
function failing(times: number) {
  const keys: string[] = [];
  const work = ({ key }: { readonly key: string }) => {
    keys.push(key);
    if (keys.length <= times) throw new Error(`try ${keys.length}`);
    return keys.length;
  };
  return { keys, work };
}

const context = { key: "call/step" };

describe("retrying()", () => {
  test("returns the result of the first try that does not throw, and gives all tries the same key", async () => {
    const { keys, work } = failing(2);
    expect(await retrying(work, { retries: 5, backoffMs: 1 })(context)).toBe(3);
    expect(keys).toEqual(["call/step", "call/step", "call/step"]);
  });

  test("passes each try its number, starting at 1", async () => {
    const attempts: number[] = [];
    const work = ({ attempt }: { readonly attempt: number }) => {
      attempts.push(attempt);
      if (attempt < 3) throw new Error("not yet");
      return attempt;
    };
    expect(await retrying(work, { retries: 5, backoffMs: 1 })(context)).toBe(3);
    expect(attempts).toEqual([1, 2, 3]);
  });

  test("throws the error of the last try when none is left", async () => {
    const { keys, work } = failing(9);
    await expect(retrying(work, { retries: 2, backoffMs: 1 })(context)).rejects.toThrow("try 3");
    expect(keys).toHaveLength(3);
  });

  test("does not retry an error that is not transient", async () => {
    const { keys, work } = failing(9);
    const isWorthIt = (error: unknown) => !String(error).includes("try 2");
    await expect(retrying(work, { retries: 5, backoffMs: 1, isWorthIt })(context)).rejects.toThrow("try 2");
    expect(keys).toHaveLength(2);
  });

  test("stops waiting when it is cancelled, and one more try reports the outcome", async () => {
    const { keys, work } = failing(9);
    const abort = new AbortController();
    const tried = retrying(work, { retries: 5, backoffMs: 600_000, backoffMaxMs: 600_000, signal: abort.signal })(
      context,
    );
    abort.abort();
    await expect(tried).rejects.toThrow(/try/);
    expect(keys.length).toBeLessThanOrEqual(2);
  });

  test("refuses invalid numbers when it is created", () => {
    expect(() => retrying(() => 1, { retries: -1 })).toThrow(KitError);
    expect(() => retrying(() => 1, { retries: 1, backoffMs: Number.NaN })).toThrow("backoffMs");
  });
});
