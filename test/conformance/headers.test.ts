/** Headers that mirror the body. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Workerd } from "../harness/workerd.ts";
import { base64, type Headers, initialize, isMembers, type Members, post, requestOf } from "../http/messages.ts";
import { type Answer, problemsOf, send } from "../http/wire.ts";

let worker: Workerd;

beforeAll(async () => {
  worker = await Workerd.start({ entry: "test/conformance/fixtures/headers.ts" });
});
afterAll(() => worker.stop());

/** Sends a modern request with its standard headers and the given ones. */
async function exchange(method: string, params: Members, headers: Headers = {}): Promise<Answer> {
  const ask = post("modern", { message: requestOf("modern", method, params, "sent"), headers });
  const answer = await send(worker.origin, ask);
  expect(problemsOf(ask, answer)).toEqual([]);
  return answer;
}

/** Calls a tool; the keys of `params` are header names without `Mcp-Param-`. */
function call(args: Members, params: Headers = {}, name = "annotated"): Promise<Answer> {
  const headers = Object.entries(params).map(([key, value]) => [`mcp-param-${key}`, value] as const);
  return exchange("tools/call", { name, arguments: args }, Object.fromEntries(headers));
}

function expectMismatch(answer: Answer, naming?: RegExp): void {
  expect(answer).toMatchObject({ status: 400, contentType: "application/json" });
  expect(answer.messages).toMatchObject([{ id: "sent", error: { code: -32020 } }]);
  if (naming) expect(answer.text).toMatch(naming);
}

function expectServed(answer: Answer): Members {
  expect(answer.status).toBe(200);
  const [message] = answer.messages;
  expect(message).toMatchObject({ id: "sent", result: { resultType: "complete" } });
  const result = isMembers(message) && isMembers(message.result) ? message.result : {};
  expect(result.isError).not.toBe(true);
  return result;
}

/** Expects the call to be served with these arguments. */
function expectCalled(answer: Answer, args: Members): void {
  const [block] = expectServed(answer).content as { text: string }[];
  expect(JSON.parse(block?.text ?? "")).toEqual(args);
}

const NAMED = [
  ["tools/call", { name: "plain" }, "plain"],
  ["prompts/get", { name: "simple" }, "simple"],
  ["resources/read", { uri: "test://simple" }, "test://simple"],
] as const;

describe("Mcp-Name in Base64 form", () => {
  test.each([
    ...NAMED,
    ["prompts/get", { name: "größe ☃" }, "größe ☃"],
    ["prompts/get", { name: " padded " }, " padded "],
    ["prompts/get", { name: "=?base64?literal?=" }, "=?base64?literal?="],
    ["resources/read", { uri: "test://many/%E2%98%83" }, "test://many/%E2%98%83"],
  ] as const)("is accepted in %s of %j", async (method, params, name) => {
    expectServed(await exchange(method, params, { "mcp-name": base64(name) }));
  });

  test.each(NAMED)("must not have the name of another target in %s of %j", async (method, params, name) => {
    for (const other of [`${name}x`, name.toUpperCase(), ` ${name}`, `${name}\n`, ""]) {
      expectMismatch(await exchange(method, params, { "mcp-name": base64(other) }), /Mcp-Name/i);
    }
  });

  test.each(NAMED)("must be valid Base64 in %s of %j", async (method, params, name) => {
    const coded = Buffer.from(name).toString("base64");
    const url = Buffer.from("???>>>").toString("base64url");
    for (const value of [
      `=?base64?${coded}`,
      `${coded}?=`,
      `=?BASE64?${coded}?=`,
      `=?base64?${coded}=?=`,
      `=?base64?*${coded}?=`,
      `=?base64?${coded} ?=`,
      `=?base64?/w==?=`,
      `=?base64?${url}?=`,
      coded,
    ]) {
      expectMismatch(await exchange(method, params, { "mcp-name": value }), /Mcp-Name/i);
    }
  });
});

describe("a value that looks encoded", () => {
  test("is decoded, so a name does not match it when sent unencoded", async () => {
    const name = "=?base64?literal?=";
    expectMismatch(await exchange("prompts/get", { name }, { "mcp-name": name }));
    const region = "=?base64?SGVsbG8=?=";
    expectMismatch(await call({ region }, { region }));
    expectCalled(await call({ region }, { region: base64(region) }), { region });
    expectCalled(await call({ region: "Hello" }, { region }), { region: "Hello" });
  });

  test.each(["=?base64?half", "half?=", "=?BASE64?SGVsbG8=?=", "=?utf-8?SGVsbG8=?=", "a=?base64?SGVsbG8=?="])(
    "is taken literally without the exact prefix or suffix: %s",
    async (region) => {
      expectCalled(await call({ region }, { region }), { region });
      expectMismatch(await call({ region: "Hello" }, { region }));
    },
  );

  test("is sent literally as a prompt name that has only the prefix", async () => {
    expectServed(await exchange("prompts/get", { name: "=?base64?half" }));
  });
});

describe("Mcp-Param for an integer", () => {
  test.each<[number, readonly string[]]>([
    [42, ["42", "42.0", base64("42")]],
    [-7, ["-7", "-7.0"]],
    [0, ["0", "0.0"]],
    [Number.MAX_SAFE_INTEGER, ["9007199254740991"]],
    [Number.MIN_SAFE_INTEGER, ["-9007199254740991"]],
  ])("matches %d, compared as a number: %j", async (count, headers) => {
    for (const header of headers) expectCalled(await call({ count }, { count: header }), { count });
  });

  test.each(["43", "42.5", "42abc", "4 2", "4_2", "0x2a", "4.2e1", "", "forty-two", "NaN", "true", base64("43")])(
    "does not match 42 if it is %j",
    async (header) => {
      expectMismatch(await call({ count: 42 }, { count: header }), /Mcp-Param-Count/i);
    },
  );

  test("does not match if only the last digit of a large number differs", async () => {
    expectMismatch(await call({ count: 9007199254740991 }, { count: "9007199254740990" }));
    expectMismatch(await call({ count: 9007199254740991 }, { count: "9007199254740993" }));
  });
});

describe("Mcp-Param for a boolean", () => {
  test.each([true, false])("must be the lower-case word %j, plain or in Base64", async (dry) => {
    expectCalled(await call({ dry }, { "dry-run": String(dry) }), { dry });
    expectCalled(await call({ dry }, { "dry-run": base64(String(dry)) }), { dry });
    for (const header of [String(!dry), String(dry).toUpperCase(), dry ? "1" : "0", dry ? "yes" : "", '"true"']) {
      expectMismatch(await call({ dry }, { "dry-run": header }), /Mcp-Param-Dry-Run/i);
    }
  });
});

describe("Mcp-Param for a string", () => {
  test.each(["us-west1", "a b", "a\tb", "a, b", "%E2%98%83", '"quoted"', "\\", ""])(
    "can be sent unchanged: %j",
    async (region) => {
      expectCalled(await call({ region }, { region }), { region });
    },
  );

  test.each([
    "Hello, 世界",
    " padded ",
    "line1\nline2",
    "=?base64?literal?=",
    "\u0000",
    "us-west1",
    "",
    "é",
    "e\u0301",
  ])("can be sent in Base64: %j", async (region) => {
    expectCalled(await call({ region }, { region: base64(region) }), { region });
  });

  test.each(["us-west2", "US-WEST1", "us-west1x", "us-west", "us-west1,", "", base64("us-west2"), base64("us-west1 ")])(
    "does not match us-west1 if it is %j",
    async (header) => {
      expectMismatch(await call({ region: "us-west1" }, { region: header }), /Mcp-Param-Region/i);
    },
  );

  test("is found whatever the case of the header's name", async () => {
    const headers = { "MCP-PARAM-REGION": "a", "mCp-PaRaM-cOuNt": "1" };
    const params = { name: "annotated", arguments: { region: "a", count: 1 } };
    expectServed(await exchange("tools/call", params, headers));
  });
});

describe("Mcp-Param for a value that is null or absent", () => {
  test.each([{}, { free: 1 }, { place: {} }, { place: { at: {} } }, { Region: "named like it" }])(
    "is not expected for %j",
    async (args) => {
      expectCalled(await call(args), args);
    },
  );

  test.each([{ region: null }, { count: null }, { dry: null }, { place: null }, { place: { city: null } }])(
    "is not expected, and validation decides about the call: %j",
    async (args) => {
      const { status, messages } = await call(args);
      expect([status, messages]).toMatchObject([200, [{ id: "sent", result: { isError: true } }]]);
    },
  );

  test("is not expected if there are no arguments", async () => {
    expectServed(await exchange("tools/call", { name: "annotated" }));
  });

  test.each<[Members, Headers]>([
    [{}, { region: "us-west1" }],
    [{ region: null }, { region: "null" }],
    [{ region: null }, { region: "" }],
    [{ place: {} }, { city: "Oslo" }],
    [{ city: "Oslo" }, { city: "Oslo" }],
  ])("is a mismatch if it is sent nevertheless: %j with %j", async (args, headers) => {
    expectMismatch(await call(args, headers));
  });

  test.each<[Members, Headers, RegExp]>([
    [{ region: "a" }, {}, /Mcp-Param-Region/i],
    [{ count: 0 }, {}, /Mcp-Param-Count/i],
    [{ dry: false }, {}, /Mcp-Param-Dry-Run/i],
    [{ region: "" }, {}, /Mcp-Param-Region/i],
    [{ region: "a", count: 1 }, { region: "a" }, /Mcp-Param-Count/i],
    [{ place: { city: "Oslo" } }, {}, /Mcp-Param-City/i],
  ])("is required for any other value: %j with %j", async (args, headers, naming) => {
    expectMismatch(await call(args, headers), naming);
  });
});

describe("Mcp-Param for a nested property", () => {
  const args = { place: { city: "Oslo", at: { "floor.no/1": 3 } } };

  test("is compared with the value at exactly that path", async () => {
    expectCalled(await call(args, { city: "Oslo", floor: "3" }), args);
    expectMismatch(await call(args, { city: "Rome", floor: "3" }), /Mcp-Param-City/i);
    expectMismatch(await call(args, { city: "Oslo", floor: "4" }), /Mcp-Param-Floor/i);
    expectMismatch(await call(args, { city: "Oslo" }), /Mcp-Param-Floor/i);
  });

  test("is not compared with a property of the same name elsewhere", async () => {
    const elsewhere = { city: "Rome", place: { city: "Oslo" }, free: { city: "Bern" } };
    expectCalled(await call(elsewhere, { city: "Oslo" }), elsewhere);
    expectMismatch(await call(elsewhere, { city: "Rome" }));
  });
});

describe("unexpected headers", () => {
  test("are ignored if they are unknown Mcp-Param-* headers, whatever their value", async () => {
    const unknown = { tenant: "x", "region-2": "=?base64?***?=", regio: "a", "": "a" };
    expectCalled(await call({ region: "a" }, { ...unknown, region: "a" }), { region: "a" });
  });

  test("are ignored by a tool without annotations", async () => {
    const stale = { region: "stale", count: "NaN", city: "=?base64?***?=" };
    expectCalled(await call({ region: "b" }, stale, "plain"), { region: "b" });
  });

  test("are ignored in legacy requests, in which no such header is compared", async () => {
    const params = { name: "annotated", arguments: { region: "a" } };
    const headers = { "mcp-session-id": undefined, "mcp-name": "other", "mcp-method": "x", "mcp-param-region": "b" };
    const ask = post("legacy", { message: requestOf("legacy", "tools/call", params, "sent"), headers });
    const answer = await send(worker.origin, ask);
    expect(problemsOf(ask, answer)).toEqual([]);
    expect(answer).toMatchObject({ status: 200, messages: [{ id: "sent", result: { content: [{ type: "text" }] } }] });
  });
});

describe("a duplicated header", () => {
  test.each<[string, Headers]>([
    ["Mcp-Param with one value twice", { "mcp-param-region": ["a", "a"] }],
    ["Mcp-Param with a correct and a wrong value", { "mcp-param-region": ["a", "b"] }],
    ["Mcp-Param in two spellings", { "mcp-param-region": "a", "MCP-PARAM-REGION": "b" }],
    ["Mcp-Name with a correct and a wrong value", { "mcp-param-region": "a", "mcp-name": ["annotated", "plain"] }],
    ["Mcp-Name with one value twice", { "mcp-param-region": "a", "mcp-name": ["annotated", "annotated"] }],
    [
      "Mcp-Method with a correct and a wrong value",
      { "mcp-param-region": "a", "mcp-method": ["tools/call", "tools/list"] },
    ],
    ["Mcp-Method with one value twice", { "mcp-param-region": "a", "mcp-method": ["tools/call", "tools/call"] }],
  ])("is refused: %s", async (_, headers) => {
    expectMismatch(await exchange("tools/call", { name: "annotated", arguments: { region: "a" } }, headers));
  });
});

describe("a header with invalid characters", () => {
  test.each(["größe", "\u00a0", "a\u0080b", "ÿ"])(
    "is refused if it has bytes outside of ASCII, even if the body has them too: %j",
    async (text) => {
      // Node sends these as one byte each; the same characters in UTF-8 are bytes beyond ASCII as well.
      for (const header of [text, Buffer.from(text).toString("latin1")]) {
        expectMismatch(await call({ region: text }, { region: header }), /Mcp-Param-Region/i);
        expectMismatch(await exchange("prompts/get", { name: text }, { "mcp-name": header }), /Mcp-Name/i);
      }
    },
  );

  test.each(["=?base64?SGVsbG8?=", "=?base64?SGVs bG8=?=", "=?base64?SGVsbG8-?=", "=?base64?/w==?="])(
    "is refused if its Base64 is invalid: %s",
    async (region) => {
      expectMismatch(await call({ region: "Hello" }, { region }), /Mcp-Param-Region/i);
    },
  );
});

describe("a request without MCP-Protocol-Version", () => {
  test.each([["server/discover", {}, ""], ["tools/list", {}, ""], ...NAMED] as const)(
    "is refused if it is modern: %s %j",
    async (method, params) => {
      expectMismatch(await exchange(method, params, { "mcp-protocol-version": undefined }), /MCP-Protocol-Version/i);
    },
  );

  test("is served if it is initialize, whose clients do not send the header", async () => {
    const ask = post("legacy", {
      message: initialize("2025-06-18", "sent"),
      headers: { "mcp-session-id": undefined, "mcp-protocol-version": undefined },
    });
    const answer = await send(worker.origin, ask);
    expect(problemsOf(ask, answer)).toEqual([]);
    expect(answer).toMatchObject({ status: 200, messages: [{ result: { protocolVersion: "2025-06-18" } }] });
  });
});

describe("a header that does not match the body", () => {
  test.each(NAMED)("is refused if it is Mcp-Name, in %s of %j", async (method, params, name) => {
    for (const header of [undefined, "", `${name}x`, name.slice(1), name.toUpperCase(), `${name}, ${name}`]) {
      expectMismatch(await exchange(method, params, { "mcp-name": header }), /Mcp-Name/i);
    }
  });

  test.each(NAMED)("is refused if it is Mcp-Method, in %s of %j", async (method, params) => {
    for (const header of [undefined, "", "tools/list", method.toUpperCase(), ` /${method}`, base64(method)]) {
      expectMismatch(await exchange(method, params, { "mcp-method": header }), /Mcp-Method/i);
    }
  });

  test("is refused even if both name the same resource: URIs are compared literally", async () => {
    for (const header of ["test://many/☃", "TEST://many/%E2%98%83", "test://many/%e2%98%83"].map(base64)) {
      expectMismatch(await exchange("resources/read", { uri: "test://many/%E2%98%83" }, { "mcp-name": header }));
    }
  });

  test("is refused as a mismatch before the name is found to be unknown", async () => {
    const answer = await exchange("prompts/get", { name: "absent" }, { "mcp-name": "simple" });
    expectMismatch(answer, /Mcp-Name/i);
  });
});
