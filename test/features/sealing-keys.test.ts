/** Sealing keys: how the list of keys is read, which values a ring knows, and the canonical form that is hashed. */
import { expect, test } from "vitest";
import { decodeBase64Url, encodeBase64Url } from "../../src/core/basics/bytes.ts";
import { canonical } from "../../src/core/seal/canonical.ts";
import { envRing, openKeyRing, readKeyList } from "../../src/core/seal/env-keys.ts";
import { KeyRing } from "../../src/core/seal/key-ring.ts";
import { newKeys } from "../../src/testing/keys.ts";

const PLAIN = Uint8Array.of(1, 2, 3);

test.each([
  ["there is no environment", undefined],
  ["the variable is missing", {}],
  ["the variable is not a string", { MCP_KEYS: 7 }],
  ["the variable is empty", { MCP_KEYS: "" }],
  ["the variable is only white space", { MCP_KEYS: " \n" }],
])("keys are missing if %s", async (_, env) => {
  expect(readKeyList(env)).toBeUndefined();
  await expect(envRing(env, "cursor")).rejects.toMatchObject({ code: "keys-missing" });
});

test("a ring is derived once for each purpose and list of keys", async () => {
  const [one, two] = [newKeys(), newKeys()];
  const ring = openKeyRing(one, "cursor");
  const others = [openKeyRing(one, "session"), openKeyRing(two, "cursor")];
  expect(openKeyRing(one, "cursor")).toBe(ring);
  expect(await envRing({ MCP_KEYS: one }, "cursor")).toBe(await ring);
  for (const other of others) expect(other).not.toBe(ring);
});

test("rings are forgotten when there are too many", () => {
  const list = newKeys();
  const ring = openKeyRing(list, "cursor");
  for (let count = 0; count < 100; count += 1) void openKeyRing(newKeys(), "cursor");
  expect(openKeyRing(list, "cursor")).not.toBe(ring);
});

test.each(["not base64!", `${"A".repeat(20)}=${"A".repeat(23)}`, "A".repeat(20)])(
  "a key that is not 32 bytes in base64 is refused with its position: %s",
  async (key) => {
    await expect(KeyRing.parse(`${newKeys()}, ${key}`, "cursor")).rejects.toMatchObject({
      code: "keys-invalid",
      message: expect.stringMatching(/^Key 2 of MCP_KEYS is not 32 bytes in base64\./),
    });
  },
);

test("a ring knows the values that one of its keys has sealed, and no others", async () => {
  const [old, list] = [newKeys(), newKeys()];
  const sealed = await (await KeyRing.parse(old, "cursor")).seal(PLAIN);
  const bytes = decodeBase64Url(sealed) ?? new Uint8Array();
  const ring = await KeyRing.parse(`${list}\n${old}`, "cursor");
  expect([ring.knows(sealed), await ring.open(sealed)]).toEqual([true, PLAIN]);
  const stranger = await KeyRing.parse(list, "cursor");
  expect([stranger.knows(sealed), await stranger.open(sealed)]).toEqual([false, undefined]);
  // Byte 0 is the layout, and bytes 1 to 3 are the key id: a change in any of them makes the value unknown.
  for (const at of [0, 1, 2, 3]) {
    const changed = bytes.with(at, (bytes[at] ?? 0) ^ 1);
    expect(ring.knows(encodeBase64Url(changed))).toBe(false);
  }
});

test("a value without ciphertext, or that is not base64url, is neither known nor opened", async () => {
  const ring = await KeyRing.ephemeral("cursor");
  const bytes = decodeBase64Url(await ring.seal(PLAIN)) ?? new Uint8Array();
  for (const length of [0, 4, 15, 16]) {
    const cut = encodeBase64Url(bytes.slice(0, length));
    expect([ring.knows(cut), await ring.open(cut)]).toEqual([false, undefined]);
  }
  expect(ring.knows("not base64!")).toBe(false);
  expect(await ring.open("not base64!")).toBeUndefined();
});

test("the canonical form ignores the order of members, and keeps that of elements and the kinds of values", () => {
  const text = (value: unknown) => JSON.stringify(canonical(value));
  expect(text({ a: 1, b: [{ c: 2, d: 3 }] })).toBe(text({ b: [{ d: 3, c: 2 }], a: 1 }));
  expect(text([1, 2])).not.toBe(text([2, 1]));
  expect(text([])).not.toBe(text({}));
  // This array has the same elements as the canonical form of the object.
  expect(text(["object", ["a", 1]])).not.toBe(text({ a: 1 }));
});
