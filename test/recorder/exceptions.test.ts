/** What the recorder says about the exceptions of a call. */
import { expect, test } from "vitest";
import { findExceptions } from "../../src/recorder/findings/handler.ts";

const stack = "    at forecast (src/weather.ts:3:9)";

test("an exception without a reference is not said to have failed the call", () => {
  const exceptions = [
    { atMs: 0, name: "KitError", message: "telemetry(): the binding is missing", stack },
    { atMs: 0, name: "TypeError", message: "no", stack, reference: "5a8f3a0e-0000-4000-8000-000000000000" },
  ];
  const found = findExceptions({ entry: { invocations: [{ exceptions }] } } as never);
  expect(found.map(({ why }) => why)).toEqual([
    "The exception was logged, or was not caught. The call itself may have succeeded.",
    "The handler threw an exception. The client received only a reference, not the message.",
  ]);
});
