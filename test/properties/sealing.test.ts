import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { VERSIONS } from "../../src/core/protocol/versions.ts";
import { envRing } from "../../src/core/seal/env-keys.ts";
import { KeyRing } from "../../src/core/seal/key-ring.ts";
import { ANONYMOUS, decodeFacts, encodeFacts, fitInfo, hashPrincipal } from "../../src/worker/sessions/session-id.ts";

const secret = (fill: number) => Buffer.alloc(32, fill).toString("base64");
const bytes = fc.uint8Array({ maxLength: 200 }).map((each) => Uint8Array.from(each));
const text = fc.string({ unit: "binary", maxLength: 40 });
const flip = (sealed: string, bit: number) => {
  const raw = Buffer.from(sealed, "base64url");
  const place = Math.floor(bit / 8);
  raw.writeUInt8(raw.readUInt8(place) ^ (1 << (bit % 8)), place);
  return raw.toString("base64url");
};

describe("KeyRing", () => {
  const ring = KeyRing.parse(secret(1), "state");

  test("opens values that it sealed, bound to the same string, as visible ASCII of 4/3 of the length + 32", async () => {
    await fc.assert(
      fc.asyncProperty(bytes, text, async (plain, bound) => {
        const sealed = await (await ring).seal(plain, bound);
        expect(sealed).toMatch(/^[\x21-\x7e]+$/);
        expect(sealed.length).toBe(Math.ceil(((plain.length + 32) * 4) / 3));
        expect(await (await ring).open(sealed, bound)).toEqual(plain);
      }),
    );
  });

  test("seals equal bytes into different strings, because no nonce is used twice", async () => {
    const keys = await ring;
    const sealed = await Promise.all(Array.from({ length: 50 }, () => keys.seal(Uint8Array.of(1, 2, 3), "bound")));
    expect(new Set(sealed).size).toBe(50);
  });

  test("does not recognise a value of another layout", async () => {
    const keys = await ring;
    const sealed = await keys.seal(Uint8Array.of(1, 2, 3));
    expect(keys.knows(sealed)).toBe(true);
    for (let bit = 0; bit < 8; bit++) expect([bit, keys.knows(flip(sealed, bit))]).toEqual([bit, false]);
  });

  test("refuses every single flipped bit", async () => {
    const keys = await ring;
    const sealed = await keys.seal(Uint8Array.of(1, 2, 3, 4, 5), "bound");
    const bits = Buffer.from(sealed, "base64url").length * 8;
    for (let bit = 0; bit < bits; bit++)
      expect([bit, await keys.open(flip(sealed, bit), "bound")]).toEqual([bit, undefined]);
  });

  test("refuses a flipped bit of any value", async () => {
    await fc.assert(
      fc.asyncProperty(bytes, text, fc.nat(), async (plain, bound, choice) => {
        const sealed = await (await ring).seal(plain, bound);
        const bit = choice % (Buffer.from(sealed, "base64url").length * 8);
        expect(await (await ring).open(flip(sealed, bit), bound)).toBeUndefined();
      }),
    );
  });

  test("refuses every truncation and every addition", async () => {
    const keys = await ring;
    const sealed = await keys.seal(Uint8Array.of(9, 8, 7, 6));
    for (let length = 0; length < sealed.length; length++)
      expect(await keys.open(sealed.slice(0, length))).toBeUndefined();
    for (const more of ["A", "=", " ", "\n", "AAAA"]) expect(await keys.open(sealed + more)).toBeUndefined();
  });

  test("refuses another encoding of the same bytes", async () => {
    const keys = await ring;
    for (let length = 0; length < 6; length++) {
      const sealed = await keys.seal(new Uint8Array(length).fill(255));
      const raw = Buffer.from(sealed, "base64url");
      for (const other of [raw.toString("base64"), `${sealed}=`, `${sealed}==`]) {
        if (other !== sealed) expect(await keys.open(other)).toBeUndefined();
      }
      const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
      for (const last of alphabet) {
        const other = sealed.slice(0, -1) + last;
        if (other !== sealed) expect(await keys.open(other)).toBeUndefined();
      }
    }
  });

  test("refuses another bound string, another purpose and another key", async () => {
    const purpose = await KeyRing.parse(secret(1), "session");
    const key = await KeyRing.parse(secret(2), "state");
    await fc.assert(
      fc.asyncProperty(bytes, text, text, async (plain, bound, other) => {
        fc.pre(bound !== other);
        const sealed = await (await ring).seal(plain, bound);
        expect(await (await ring).open(sealed, other)).toBeUndefined();
        expect(await purpose.open(sealed, bound)).toBeUndefined();
        expect(await key.open(sealed, bound)).toBeUndefined();
      }),
    );
  });

  test("opens values of older keys after a new first key, but not of a removed key", async () => {
    const old = await KeyRing.parse(secret(1), "state");
    const rotated = await KeyRing.parse(`${secret(2)},\n${secret(1)}`, "state");
    const gone = await KeyRing.parse(secret(2), "state");
    const before = await old.seal(Uint8Array.of(1));
    const after = await rotated.seal(Uint8Array.of(2));
    expect(await rotated.open(before)).toEqual(Uint8Array.of(1));
    expect(await old.open(after)).toBeUndefined();
    expect(await gone.open(after)).toEqual(Uint8Array.of(2));
    expect(await gone.open(before)).toBeUndefined();
  });

  test("accepts keys separated by commas, spaces or line breaks, with or without padding", async () => {
    const sealed = await (await ring).seal(Uint8Array.of(1));
    const padded = `${Buffer.alloc(32, 1).toString("base64url")}=`;
    for (const list of [`${secret(2)} , ${secret(1)}`, `\n${secret(2)}\n\n${secret(1)}\n`, `${secret(2)},${padded}`]) {
      expect(await (await KeyRing.parse(list, "state")).open(sealed)).toEqual(Uint8Array.of(1));
    }
  });

  test("can try to open any string without an exception", async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(text, fc.base64String(), fc.stringMatching(/^AQ[A-Za-z0-9_-]*$/)), async (garbage) => {
        expect(await (await ring).open(garbage)).toBeUndefined();
      }),
    );
  });

  test("refuses a list of keys that is empty or has an invalid key by position, without showing a key", async () => {
    await expect(KeyRing.parse(" ,\n", "state")).rejects.toMatchObject({ code: "keys-invalid" });
    await expect(KeyRing.parse(`${secret(1)},c2hvcnQ`, "state")).rejects.toThrow(/Key 2/);
    await expect(KeyRing.parse("c2hvcnQ", "state")).rejects.not.toThrow(/c2hvcnQ/);
  });
});

describe("the data in a session id", () => {
  const hex = (length: number) =>
    fc.uint8Array({ minLength: length, maxLength: length }).map((each) => Buffer.from(each).toString("hex"));
  const seconds = fc.integer({ min: 0, max: 0xffffffff }).map((each) => each * 1000);
  const words = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.string({ unit: "grapheme", maxLength: 60 }),
    // Half of a surrogate pair, and a mark that some decoders drop.
    fc
      .array(fc.constantFrom("\ud83d", "\ude00", "\ufeff", "x", "é", "漢"), { maxLength: 150 })
      .map((all) => all.join("")),
  );
  const facts = fc.record({
    objectId: hex(32),
    rules: fc.constantFrom(...VERSIONS),
    capabilityBits: fc.integer({ min: 0, max: 0xffff }),
    principalHash: hex(16),
    openedAtMs: seconds,
    expiresAtMs: seconds,
    info: fc.option(fc.record({ name: words, version: words }), { nil: undefined }),
    session: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  });

  test("survive the round trip through bytes", () => {
    fc.assert(
      fc.property(facts, (each) => {
        expect(decodeFacts(encodeFacts(each))).toEqual({ ...each, info: each.info && fitInfo(each.info) });
      }),
    );
  });

  test("contain the end of the lifetime in seconds, never later than given", () => {
    fc.assert(
      fc.property(facts, fc.nat(999), (each, more) => {
        const { openedAtMs, expiresAtMs } = each;
        const later = { ...each, openedAtMs: openedAtMs + more, expiresAtMs: expiresAtMs + more };
        expect(decodeFacts(encodeFacts(later))).toMatchObject({ openedAtMs, expiresAtMs });
      }),
    );
  });

  test("are decoded from any bytes, or undefined", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ minLength: 61, maxLength: 70 })),
        (each) => {
          const decoded = decodeFacts(each);
          if (!decoded) return;
          const again = encodeFacts(decoded);
          // Invalid UTF-8 becomes the replacement character.
          const { info, ...rest } = decoded;
          expect(decodeFacts(again)).toEqual({ ...rest, info: info && fitInfo(info) });
          if (!info) expect(again).toEqual(Uint8Array.from(each));
        },
      ),
    );
  });

  test("contain name and version truncated between characters, and the longer of them gets the space that the other leaves", () => {
    fc.assert(
      fc.property(words, words, (name, version) => {
        const fitted = fitInfo({ name, version });
        for (const [whole, part] of [
          [name, fitted.name],
          [version, fitted.version],
        ] as const) {
          expect(whole.toWellFormed().startsWith(part)).toBe(true);
          expect(part.isWellFormed()).toBe(true);
        }
        const size = (text: string) => Buffer.byteLength(text);
        expect(size(fitted.name) + size(fitted.version)).toBeLessThanOrEqual(94);
        // A character that did not fit has at most 4 bytes.
        if (fitted.name !== name.toWellFormed()) expect(size(fitted.name)).toBeGreaterThan(94 - 32 - 4);
        if (fitted.version !== version.toWellFormed())
          expect(size(fitted.name + fitted.version)).toBeGreaterThan(94 - 4);
      }),
    );
    expect(fitInfo({ name: "n".repeat(300), version: "v".repeat(300) })).toEqual({
      name: "n".repeat(62),
      version: "v".repeat(32),
    });
    expect(fitInfo({ name: "n".repeat(300), version: "1.0" })).toEqual({ name: "n".repeat(91), version: "1.0" });
    expect(fitInfo({ name: "n", version: "v".repeat(300) })).toEqual({ name: "n", version: "v".repeat(93) });
    expect(fitInfo({ name: "漢".repeat(40), version: "" })).toEqual({ name: "漢".repeat(31), version: "" });
  });

  test("take at most 256 visible characters when sealed, and 130 without a client", async () => {
    const ring = await KeyRing.ephemeral("session");
    await fc.assert(
      fc.asyncProperty(facts, async (each) => {
        const sealed = await ring.seal(encodeFacts(each));
        expect(sealed).toMatch(/^[\x21-\x7e]{1,256}$/);
        if (!each.info) expect(sealed).toHaveLength(130);
      }),
    );
  });

  test("distinguish issuer and subject, and only anonymous callers have the anonymous hash", async () => {
    await fc.assert(
      fc.asyncProperty(text, text, text, text, async (issuer, subject, issuer2, subject2) => {
        fc.pre(issuer !== issuer2 || subject !== subject2);
        const one = await hashPrincipal({ issuer, subject });
        expect(one).toMatch(/^[0-9a-f]{32}$/);
        expect(one).not.toBe(await hashPrincipal({ issuer: issuer2, subject: subject2 }));
      }),
    );
    expect(await hashPrincipal({ issuer: "ab", subject: "c" })).not.toBe(
      await hashPrincipal({ issuer: "a", subject: "bc" }),
    );
    expect(await hashPrincipal(undefined)).toBe(ANONYMOUS);
  });
});

test("changed keys of the environment are used at once", async () => {
  const ring = (env: unknown) => envRing(env, "purpose");
  const [first, second] = [{ MCP_KEYS: secret(1) }, { MCP_KEYS: secret(2) }];
  const sealed = await (await ring(first)).seal(Uint8Array.of(1));
  expect(await (await ring(second)).open(sealed)).toBeUndefined();
  expect(await (await ring(first)).open(sealed)).toEqual(Uint8Array.of(1));
});
