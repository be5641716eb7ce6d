/** On Windows, a file that another program has open cannot be renamed for a moment. */
import { describe, expect, test } from "vitest";
import { renameWhenFree, renameWhenFreeSync } from "../../src/node/plain-file.ts";

/** A function that fails with a code the given number of times. */
function failing(code: string, times: number) {
  const calls: string[] = [];
  return {
    calls,
    rename: (from: string, to: string) => {
      calls.push(`${from} ${to}`);
      if (calls.length <= times) throw Object.assign(new Error(code), { code });
    },
  };
}

const WAYS = [
  ["renameWhenFree", async (...args: Parameters<typeof renameWhenFree>) => renameWhenFree(...args)],
  ["renameWhenFreeSync", async (...args: Parameters<typeof renameWhenFreeSync>) => renameWhenFreeSync(...args)],
] as const;

describe.each(WAYS)("%s", (_, renameWith) => {
  test.each(["EPERM", "EACCES", "EBUSY"])("repeats an attempt that failed with %s on Windows", async (code) => {
    const { calls, rename } = failing(code, 2);
    await renameWith("a", "b", { platform: "win32", rename });
    expect(calls).toEqual(["a b", "a b", "a b"]);
  });

  test("does not repeat other errors, and repeats none on other systems", async () => {
    const missing = failing("ENOENT", 1);
    await expect(renameWith("a", "b", { platform: "win32", rename: missing.rename })).rejects.toThrow("ENOENT");
    const refused = failing("EACCES", 1);
    await expect(renameWith("a", "b", { platform: "linux", rename: refused.rename })).rejects.toThrow("EACCES");
    expect([missing.calls, refused.calls]).toEqual([["a b"], ["a b"]]);
  });
});

test("a file that stays in use is reported in the end", async () => {
  const { calls, rename } = failing("EBUSY", Number.POSITIVE_INFINITY);
  await expect(renameWhenFree("a", "b", { platform: "win32", rename })).rejects.toThrow("EBUSY");
  expect(calls).toHaveLength(7);
});
