/** The headers of requests, judged by the code with which our server reads them. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeHeaderValue, paramHeaders, standardHeaders } from "../../src/client/transports/request-headers.ts";
import { decodeHeaderValue } from "../../src/http/headers.ts";
import { findParamProblem } from "../../src/http/param-headers.ts";

const anyText = fc.oneof(fc.string({ unit: "binary" }), fc.string(), fc.string({ unit: "grapheme" }));

describe("values in headers", () => {
  test("every well-formed string survives the round trip to the server", () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const header = encodeHeaderValue(value);
        expect(header).toMatch(/^[\t\x20-\x7e]*$/);
        expect(decodeHeaderValue(header)).toBe(value);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ["us-west1", "us-west1"],
    ["two words", "two words"],
    ["", ""],
    ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
    [" padded ", "=?base64?IHBhZGRlZCA=?="],
    ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
    ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
  ])("represent %j as specified", (value, header) => {
    expect(encodeHeaderValue(value)).toBe(header);
  });
});

test("the server accepts the Mcp-Param headers of all arguments", () => {
  const expected = [
    { name: "Region", path: ["place", "region"] },
    { name: "Count", path: ["count"] },
    { name: "Debug", path: ["debug"] },
  ];
  const args = fc.record(
    {
      place: fc.option(fc.record({ region: fc.option(anyText) }, { requiredKeys: [] })),
      count: fc.option(fc.maxSafeInteger()),
      debug: fc.option(fc.boolean()),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(args, (value) => {
      expect(findParamProblem(expected, value, new Headers(paramHeaders(expected, value)))).toBeUndefined();
    }),
  );
});

test.each([
  ["tools/call", { name: "add" }, { "mcp-name": "add" }],
  ["prompts/get", { name: "explain" }, { "mcp-name": "explain" }],
  ["resources/read", { uri: "file:///a%20b", name: "no" }, { "mcp-name": "file:///a%20b" }],
  ["tasks/get", { taskId: "t1" }, { "mcp-name": "t1" }],
  ["tools/list", { name: "no" }, {}],
])("the standard headers of %s have the method and the right member", (method, params, more) => {
  expect(standardHeaders(method, params)).toEqual({ "mcp-method": method, ...more });
});
