import fc from "fast-check";
import { expect, test } from "vitest";
import { readTraceContext, toTraceFields } from "../../src/telemetry/trace-context.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

test.each([
  ["of the version ff", `ff-${TRACE}-${SPAN}-01`],
  ["with a trace id of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
  ["with a span id of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
  ["in upper case", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ["of version 00 with another member", `00-${TRACE}-${SPAN}-01-more`],
  ["followed by a line break", `00-${TRACE}-${SPAN}-01\n`],
  ["that is long", `01-${TRACE}-${SPAN}-01-${"x".repeat(200)}`],
])("a traceparent %s is not valid", (_, traceparent) => {
  expect(readTraceContext({ traceparent })).toBeUndefined();
});

test("a traceparent of a later version may have more members", () => {
  expect(readTraceContext({ traceparent: `01-${TRACE}-${SPAN}-03-more` })).toMatchObject({
    traceId: TRACE,
    traceFlags: 3,
  });
});

test.each([
  ["a member with a tenant", "fw529a3039@dt=FfAAAA", true],
  ["empty members and white space", "a=b, ,\tc=d", true],
  ["a member without a value", "a=", false],
  ["a key in upper case", "A=b", false],
  ["an equals sign in a value", "a=b=c", false],
  ["two long values", `a=${"x".repeat(250)},b=${"x".repeat(250)}`, true],
  ["more than 512 characters", Array.from({ length: 4 }, (_, at) => `k${at}=${"x".repeat(200)}`).join(","), false],
])("a tracestate with %s is used if it is valid", (_, tracestate, isValid) => {
  const span = readTraceContext({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate });
  expect(span?.tracestate).toBe(isValid ? tracestate : undefined);
});

test("what is written for a span is read as the same span", () => {
  const hex = (length: number) =>
    fc
      .array(fc.constantFrom(..."0123456789abcdef"), { minLength: length, maxLength: length })
      .map((digits) => digits.join(""))
      .filter((text) => /[^0]/.test(text));
  const span = fc.record({
    traceId: hex(32),
    spanId: hex(16),
    traceFlags: fc.integer({ min: 0, max: 3 }),
    tracestate: fc.constantFrom(undefined, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
  });
  fc.assert(
    fc.property(span, (one) => {
      expect(readTraceContext({ ...toTraceFields(one) })).toEqual(one);
    }),
  );
});
