/** Event ids: the hash in them, and which strings are accepted. */
import { expect, test } from "vitest";
import { createTags, decodeCursor, encodeCursor, sipHash } from "../../src/worker/sessions/event-id.ts";

const OBJECT = "0123456789abcdef".repeat(4);
const STREAM = Date.UTC(2026, 10, 22);

test("the tag is SipHash-2-4, according to its authors' test vectors", () => {
  const key = [0x0706050403020100n, 0x0f0e0d0c0b0a0908n] as const;
  expect(sipHash(key, [])).toBe(0x726fdb47dd0e0e31n);
  expect(sipHash(key, [0x0706050403020100n])).toBe(0x93f5f5799a932462n);
  expect(sipHash(key, [0x0706050403020100n, 0x0f0e0d0c0b0a0908n])).toBe(0x3f2acc7f57c29bdbn);
});

test("a tag is different for each stream, session and object", () => {
  const tags = [
    createTags(OBJECT, 1)(STREAM),
    createTags(OBJECT, 1)(STREAM + 2),
    createTags(OBJECT, 2)(STREAM),
    // Each of the four words of the id affects the tag.
    ...[0, 16, 32, 48].map((at) => createTags(`${OBJECT.slice(0, at)}f${OBJECT.slice(at + 1)}`, 1)(STREAM)),
  ];
  expect(new Set(tags).size).toBe(tags.length);
});

test("an id has at most 64 characters and can be decoded again", () => {
  const tagOf = createTags("f".repeat(64), 2 ** 48 - 1);
  const cursor = { stream: Number.MAX_SAFE_INTEGER, seq: 36 ** 10 - 1 };
  const id = encodeCursor(tagOf(cursor.stream), cursor);
  expect(id.length).toBeLessThanOrEqual(64);
  expect(decodeCursor(id, tagOf)).toEqual(cursor);
  for (const wrong of [id.slice(1), `0${id}`, `${id}0`, id.toUpperCase(), `${id}-1`, id.replace("-", "-0"), ""]) {
    expect([wrong, decodeCursor(wrong, tagOf)]).toEqual([wrong, undefined]);
  }
});
