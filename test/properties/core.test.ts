import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeBase64 } from "../../src/core/basics/bytes.ts";
import {
  type ClientCapabilities,
  type ClientCapabilityName,
  decodeCapabilities,
  encodeCapabilities,
  hasCapability,
} from "../../src/core/protocol/client-capabilities.ts";
import { encodeError, encodeResult, isRequestId, parseMessage } from "../../src/core/protocol/jsonrpc.ts";

/** Values that look like messages in some members and not in others. */
const nearMessage = fc.record(
  {
    jsonrpc: fc.constantFrom<unknown>("2.0", "1.0", 2, null),
    id: fc.oneof(fc.integer(), fc.double(), fc.string(), fc.constantFrom<unknown>(null, {}, [], true)),
    method: fc.oneof(fc.string(), fc.jsonValue()),
    params: fc.jsonValue(),
    result: fc.jsonValue(),
    error: fc.oneof(fc.record({ code: fc.integer(), message: fc.string() }), fc.jsonValue()),
  },
  { requiredKeys: [] },
);

describe("parseMessage", () => {
  test("is total: every JSON value has exactly one kind, with the properties of this kind", { tags: "long" }, () => {
    fc.assert(
      fc.property(fc.oneof(nearMessage, fc.jsonValue(), fc.anything()), (value) => {
        const parsed = parseMessage(value);
        switch (parsed.kind) {
          case "request":
            expect(parsed.message).toBe(value);
            expect(isRequestId(parsed.message.id)).toBe(true);
            expect(typeof parsed.message.method).toBe("string");
            break;
          case "notification":
            expect(parsed.message).toBe(value);
            expect(typeof parsed.message.method).toBe("string");
            expect("id" in parsed.message && parsed.message.id !== undefined).toBe(false);
            break;
          case "response":
            expect(parsed.message).toBe(value);
            expect("result" in parsed.message || "error" in parsed.message).toBe(true);
            break;
          case "invalid":
            expect(parsed.problem).not.toBe("");
            if (parsed.id !== undefined) expect(isRequestId(parsed.id)).toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ["a result without an id", { jsonrpc: "2.0", result: {} }],
    ["an error whose code is a string", { jsonrpc: "2.0", id: 1, error: { code: "-32600", message: "no" } }],
    ["an error whose code is fractional", { jsonrpc: "2.0", id: 1, error: { code: 1.5, message: "no" } }],
    ["an error without a message", { jsonrpc: "2.0", id: 1, error: { code: -32600 } }],
    ["a result and an error", { jsonrpc: "2.0", id: 1, result: {}, error: { code: -32600, message: "no" } }],
  ])("does not accept %s as a message", (_, value) => {
    expect(parseMessage(value).kind).toBe("invalid");
  });

  test("accepts a request with any id and any params object, and keeps unknown members", () => {
    const id = fc.oneof(fc.string(), fc.maxSafeInteger());
    fc.assert(
      fc.property(
        id,
        fc.string(),
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.jsonValue(),
        (id, method, params, extra) => {
          const message = { jsonrpc: "2.0", id, method, params, extra };
          expect(parseMessage(message)).toEqual({ kind: "request", message });
        },
      ),
    );
  });

  test.each([[[]], [[1]], [null], [0], ["x"]])("treats params %j as invalid, and keeps the id", (params) => {
    expect(parseMessage({ jsonrpc: "2.0", id: 0, method: "ping", params })).toMatchObject({ kind: "invalid", id: 0 });
  });

  test.each([null, 1.5, true, {}, []])("treats the id %j as invalid", (id) => {
    expect(parseMessage({ jsonrpc: "2.0", id, method: "ping" }).kind).toBe("invalid");
  });

  test("parses the output of encodeResult and encodeError as the response to the same id", { tags: "long" }, () => {
    const id = fc.oneof(fc.string(), fc.maxSafeInteger());
    fc.assert(
      fc.property(id, fc.dictionary(fc.string(), fc.jsonValue({ noUnicodeString: false })), (id, result) => {
        const answer: unknown = JSON.parse(encodeResult(id, result));
        expect(parseMessage(answer)).toMatchObject({ kind: "response", message: { id } });
        const error: unknown = JSON.parse(encodeError(id, { code: -32600, message: "no" }));
        expect(parseMessage(error)).toMatchObject({ kind: "response", message: { id, error: { code: -32600 } } });
      }),
    );
  });
});

describe("encodeBase64", () => {
  test("equals the base64 of Buffer for all bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) => {
        expect(encodeBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
      }),
    );
  });

  test.each([0x7fff, 0x8000, 0x8001, 0x10000, 1_000_003])(
    "equals the base64 of Buffer for %i bytes, around the size of its slices",
    (length) => {
      const bytes = Uint8Array.from({ length }, (_, place) => (place * 31) % 256);
      expect(encodeBase64(bytes) === Buffer.from(bytes).toString("base64")).toBe(true);
    },
  );

  test("encodes only the bytes of a view into a larger buffer", () => {
    const bytes = Uint8Array.of(1, 2, 3, 4, 5, 6, 7).subarray(2, 5);
    expect(encodeBase64(bytes)).toBe(Buffer.from([3, 4, 5]).toString("base64"));
  });
});

describe("the bits of capabilities", () => {
  const NAMES: readonly ClientCapabilityName[] = [
    "sampling",
    "sampling.tools",
    "sampling.context",
    "elicitation",
    "elicitation.form",
    "elicitation.url",
    "roots",
  ];
  const capabilities: fc.Arbitrary<ClientCapabilities> = fc.record(
    {
      sampling: fc.record({ tools: fc.constant({}), context: fc.constant({}) }, { requiredKeys: [] }),
      elicitation: fc.record({ form: fc.constant({}), url: fc.constant({}) }, { requiredKeys: [] }),
      roots: fc.record({ listChanged: fc.boolean() }, { requiredKeys: [] }),
      experimental: fc.dictionary(fc.string(), fc.jsonValue()),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<ClientCapabilities>;

  test("keep every capability that a handler can query in a round trip", () => {
    fc.assert(
      fc.property(capabilities, (declared) => {
        const bits = encodeCapabilities(declared);
        expect(bits).toBeLessThan(0x10000);
        const decoded = decodeCapabilities(bits);
        for (const name of NAMES)
          expect([name, hasCapability(decoded, name)]).toEqual([name, hasCapability(declared, name)]);
        expect(encodeCapabilities(decoded)).toBe(bits);
      }),
    );
  });

  test("can be any 16 bits, which decode without an exception", () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 0xffff }), (bits) => void decodeCapabilities(bits)));
  });
});
