import { describe, expect, test } from "vitest";
import { checkRecordingOptions, isInShare } from "../../src/recorder/worker/recording-options.ts";

describe("the options of recorder()", () => {
  test("have defaults that limit the time for which calls are stored", () => {
    expect(checkRecordingOptions({})).toEqual({ keepMs: 86_400_000, callsMax: 1_000, share: 1, contents: false });
  });

  test.each([
    { keepMs: 59_999 },
    { keepMs: Number.POSITIVE_INFINITY },
    { callsMax: 0 },
    { callsMax: 10_001 },
    { share: 0 },
    { share: 1.1 },
    { share: Number.NaN },
    { share: "1" as unknown as number },
  ])("%j is refused with the range", (options) => {
    const [name = ""] = Object.keys(options);
    expect(() => checkRecordingOptions(options)).toThrow(new RegExp(`^recorder\\(\\): ${name} is .*; use a number `));
  });
});

test("records the configured share of traces, and none without an id", () => {
  const traces = Array.from({ length: 1_000 }, (_, at) =>
    Math.floor((at / 1_000) * 2 ** 32)
      .toString(16)
      .padStart(32, "0"),
  );
  expect(traces.filter((trace) => isInShare(trace, 0.125))).toHaveLength(125);
  expect(traces.filter((trace) => isInShare(trace, 1))).toHaveLength(1_000);
  expect(isInShare("", 0.5)).toBe(false);
});
