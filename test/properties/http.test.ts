import { createParser } from "eventsource-parser";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeText } from "../../src/core/basics/bytes.ts";
import { DepthGauge } from "../../src/core/basics/depth-gauge.ts";
import { serveVersions, VERSIONS } from "../../src/core/protocol/versions.ts";
import { classify } from "../../src/http/classify.ts";
import { acceptedForm, decodeHeaderValue, encodeHeaderValue } from "../../src/http/headers.ts";
import { encodeEvent, HEARTBEAT } from "../../src/http/sse.ts";

/** Every well-formed string: no lone surrogates. */
const anyText = fc.string({ unit: "binary" });
const utf8 = new TextEncoder();

describe("header values", () => {
  test("keep every well-formed string in a round trip, in characters that a header can have", () => {
    fc.assert(
      fc.property(fc.oneof(anyText, fc.string(), fc.string({ unit: "grapheme" })), (value) => {
        const header = encodeHeaderValue(value);
        expect(header).toMatch(/^[\t\x20-\x7e]*$/);
        expect(header).toBe(header.trim());
        expect(decodeHeaderValue(header)).toBe(value);
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    "",
    " ",
    " a",
    "a ",
    "\ta",
    "\ufeffa",
    "=?base64?YQ==?=",
    "=?base64??=",
    "a\r\nb",
    "\0",
    "日本",
    "=?base64?\n?=",
  ])("keep %j in a round trip", (value) => {
    expect(decodeHeaderValue(encodeHeaderValue(value))).toBe(value);
  });

  test("are sent unchanged if they need no encoding", () => {
    expect(encodeHeaderValue("get_weather")).toBe("get_weather");
  });

  test("can be decoded from any string, to a string or undefined", () => {
    const wrapped = fc.string().map((inner) => `=?base64?${inner}?=`);
    fc.assert(
      fc.property(fc.oneof(anyText, wrapped), (value) => {
        expect(["string", "undefined"]).toContain(typeof decodeHeaderValue(value));
      }),
    );
  });

  test.each(["=?base64?/w==?=", "=?base64?YQ?=", "=?base64?Y Q=?=", "=?base64?_w==?=", "é", "a\nb"])(
    "cannot be decoded from %j",
    (value) => {
      expect(decodeHeaderValue(value)).toBeUndefined();
    },
  );
});

describe("acceptedForm", () => {
  const range = fc
    .tuple(
      fc.constantFrom("application/json", "text/event-stream", "*/*", "text/*", "application/*", "text/html", "", "/"),
      fc.constantFrom("", ";q=0", "; q=0.000", ";q=1", "; charset=utf-8", ";", ";q="),
    )
    .map((parts) => parts.join(""));
  const header = fc.oneof(
    fc.constant(null),
    anyText,
    fc.array(range).map((ranges) => ranges.join(",")),
  );

  test("is total", () => {
    fc.assert(
      fc.property(header, (accept) => {
        expect(["json", "sse", "either", undefined]).toContain(acceptedForm(accept));
      }),
      { numRuns: 1_000 },
    );
  });

  test("ignores case and white space around ranges", () => {
    fc.assert(
      fc.property(fc.array(range), (ranges) => {
        const spaced = ranges.map((each) => ` \t${each.toUpperCase()} `).join(",");
        expect(acceptedForm(spaced)).toBe(acceptedForm(ranges.join(",")));
      }),
    );
  });
});

/** The depth of JSON text up to each of its bytes, calculated by removing strings first. */
function referenceDepth(text: string): number {
  const bare = text.replace(/"(?:[^"\\]|\\.)*(?:"|$|\\$)/gs, "");
  let [depth, deepest] = [0, 0];
  for (const character of bare) {
    if ("[{".includes(character)) deepest = Math.max(deepest, ++depth);
    if ("]}".includes(character)) depth--;
  }
  return deepest;
}

describe("DepthGauge", () => {
  const tree = fc
    .jsonValue({ maxDepth: 6 })
    .chain((value) => fc.constantFrom(JSON.stringify(value), JSON.stringify(value, null, 2)));
  const awkward = fc
    .array(fc.constantFrom("[", "{", '"', "\\", "]", "}", "é", "a"))
    .map((pieces) => JSON.stringify([pieces.join(""), { [pieces.join("")]: [] }]));

  test("equals a reference depth for JSON that is cut at every byte", () => {
    fc.assert(
      fc.property(fc.oneof(tree, awkward), (text) => {
        const bytes = utf8.encode(text);
        const expected = referenceDepth(text);
        for (let cut = 0; cut <= bytes.length; cut++) {
          const gauge = new DepthGauge();
          const deepest = Math.max(gauge.feed(bytes.subarray(0, cut)), gauge.feed(bytes.subarray(cut)));
          expect(deepest).toBe(expected);
        }
      }),
    );
  });

  test("equals the reference depth when every byte arrives separately, at every prefix", () => {
    fc.assert(
      fc.property(awkward, (text) => {
        const gauge = new DepthGauge();
        let deepest = 0;
        for (const [place, byte] of utf8.encode(text).entries()) {
          deepest = Math.max(deepest, gauge.feed(Uint8Array.of(byte)));
          const prefix = new TextDecoder().decode(utf8.encode(text).subarray(0, place + 1));
          expect(deepest).toBe(referenceDepth(prefix));
        }
      }),
    );
  });
});

describe("the count of values of DepthGauge", () => {
  const count = (value: unknown): number => {
    const members = typeof value === "object" && value !== null ? Object.values(value) : undefined;
    // An empty array or object counts as if it had one member.
    return members ? members.reduce((sum: number, member) => sum + count(member), Math.max(1, members.length)) : 0;
  };

  test("equals the number of values in the parsed JSON, wherever it is split", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), (value, place) => {
        const bytes = utf8.encode(JSON.stringify(value));
        const gauge = new DepthGauge();
        gauge.feed(bytes.subarray(0, place));
        gauge.feed(bytes.subarray(place));
        expect(gauge.values).toBe(count(value));
      }),
    );
  });
});

describe("classify", () => {
  const versionName = fc.oneof(fc.constantFrom(...VERSIONS.map(({ version }) => version)), fc.string());
  const meta = fc.record(
    {
      "io.modelcontextprotocol/protocolVersion": fc.oneof(versionName, fc.jsonValue()),
      "io.modelcontextprotocol/clientInfo": fc.oneof(fc.constant({ name: "a", version: "1" }), fc.jsonValue()),
      "io.modelcontextprotocol/clientCapabilities": fc.oneof(fc.constant({}), fc.jsonValue()),
      "io.modelcontextprotocol/logLevel": fc.oneof(fc.constant("info"), fc.jsonValue()),
      progressToken: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const method = fc.oneof(
    fc.constantFrom("initialize", "tools/call", "resources/read", "prompts/get", "ping", "__proto__", "constructor"),
    fc.string(),
  );
  const message = fc.record(
    {
      jsonrpc: fc.constant("2.0"),
      id: fc.oneof(fc.integer(), fc.string()),
      method,
      params: fc.oneof(
        fc.record(
          { _meta: fc.oneof(meta, fc.jsonValue()), name: fc.jsonValue(), uri: fc.jsonValue() },
          { requiredKeys: [] },
        ),
        fc.jsonValue(),
      ),
    },
    { requiredKeys: ["jsonrpc"] },
  );
  const body = fc.oneof(
    message,
    fc.array(message, { maxLength: 4 }),
    fc.array(fc.jsonValue(), { maxLength: 4 }),
    fc.jsonValue(),
  );
  const nullable = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
  const headers = fc.record({
    protocolVersion: nullable(versionName),
    method: nullable(method),
    name: nullable(fc.string()),
    sessionId: nullable(fc.string()),
  });
  const served = fc
    .subarray([...VERSIONS], { minLength: 1 })
    .map((some) => serveVersions(some.map(({ version }) => version)));
  const options = fc.record({ versions: served, hasSessions: fc.boolean(), batchMax: fc.integer({ min: 1, max: 3 }) });

  test("is total over any JSON, headers and served versions", { tags: "long" }, () => {
    fc.assert(
      fc.property(body, headers, options, (value, header, option) => {
        const verdict = classify(value, header, option);
        expect(["modern", "notification", "initialize", "legacy", "refuse"]).toContain(verdict.kind);
        if (verdict.kind === "modern") expect(option.versions.modern).toContain(verdict.client.rules);
        if (verdict.kind === "legacy" && verdict.isBatch)
          expect(verdict.messages.length).toBeLessThanOrEqual(option.batchMax);
        if (verdict.kind === "legacy" && verdict.version) expect(option.versions.legacy).toContain(verdict.version);
      }),
      { numRuns: 3_000 },
    );
  });

  test("gives the same message and headers the same verdict each time", () => {
    fc.assert(
      fc.property(body, headers, options, (value, header, option) => {
        expect(JSON.stringify(classify(value, header, option))).toBe(JSON.stringify(classify(value, header, option)));
      }),
    );
  });
});

describe("encodeEvent", () => {
  /** The data and ids that a parser emits when the bytes arrive in these pieces. */
  function hear(pieces: readonly Uint8Array[]): { data: string; id: string | undefined; event: string | undefined }[] {
    const heard: { data: string; id: string | undefined; event: string | undefined }[] = [];
    const parser = createParser({ onEvent: ({ data, id, event }) => heard.push({ data, id, event }) });
    const decoder = new TextDecoder();
    for (const piece of pieces) parser.feed(decoder.decode(piece, { stream: true }));
    return heard;
  }
  const join = (parts: readonly Uint8Array[]) => Uint8Array.from(parts.flatMap((part) => [...part]));
  const json = fc.jsonValue({ noUnicodeString: false, maxDepth: 2 }).map((value) => JSON.stringify(value));

  test("keeps the data however the bytes are split in two", { tags: "long" }, () => {
    fc.assert(
      fc.property(json, fc.option(fc.stringMatching(/^[A-Za-z0-9_-]+$/), { nil: undefined }), (data, id) => {
        const bytes = encodeText(encodeEvent(data, id));
        for (let cut = 0; cut <= bytes.length; cut++) {
          expect(hear([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual([{ data, id, event: "message" }]);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("keeps the order of events and heartbeats, byte by byte and in random pieces", () => {
    fc.assert(
      fc.property(fc.array(json, { maxLength: 6 }), fc.array(fc.nat(500)), (all, cuts) => {
        const bytes = join(all.flatMap((data) => [encodeText(encodeEvent(data)), HEARTBEAT]));
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const random = places.slice(1).map((end, place) => bytes.subarray(places[place], end));
        expect(hear(random).map(({ data }) => data)).toEqual(all);
        const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
        expect(hear(single).map(({ data }) => data)).toEqual(all);
      }),
      { numRuns: 60 },
    );
  });
});
