/** The parser of event streams. Another one, fed with the whole text at once, says what is right. */
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { expect, test } from "vitest";
import { eventParser } from "../../src/client/event-reader.ts";

const ENDS = ["\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n"];
const FIELDS = [
  "data",
  "data:",
  "data: ",
  "data:  x",
  "id",
  "id:",
  "id: 7",
  "id: a\0b",
  "event",
  "event: m",
  "retry: 5",
];
const OTHERS = ["retry: x", "retry:", ":c", ": ", "é", ' {"a":1}', "foo: bar", "DATA: z"];
const TEXT = fc.array(fc.constantFrom(...ENDS, ...FIELDS, ...OTHERS), { maxLength: 20 });

/** Returns a receiver and the list of what it has received. */
function receiver() {
  const seen: unknown[] = [];
  const event = ({ id, event, data }: { id?: string | undefined; event?: string | undefined; data: string }) => {
    seen.push([id, event, data]);
    return false;
  };
  return { seen, event, retry: (ms: number) => void seen.push(ms) };
}

test("a text in any pieces has the events that it has as a whole", () => {
  fc.assert(
    fc.property(TEXT, fc.array(fc.nat({ max: 12 })), (parts, sizes) => {
      // The last character shows whether a CR before it ended a line.
      const text = `${parts.join("")}z`;
      const right = receiver();
      const { event: onEvent, retry: onRetry } = right;
      createParser({ onEvent, onRetry }).feed(text.replace(/\r\n?/g, "\n"));
      const own = receiver();
      const parse = eventParser(1_000, own);
      let at = 0;
      for (const size of sizes) {
        parse(text.slice(at, at + size));
        at += size;
      }
      parse(text.slice(at));
      expect(own.seen).toEqual(right.seen);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ["line", ["data: ", "x".repeat(50), "x".repeat(50)]],
  ["event of many lines", Array(20).fill("data: 12345\n")],
])("a %s that is too large is refused", (_, pieces) => {
  const parse = eventParser(90, receiver());
  expect(() => pieces.forEach(parse)).toThrow("larger than 90 bytes");
});
