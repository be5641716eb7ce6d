/** Values, schemas, errors and links. */
import { afterEach, describe, expect, test } from "vitest";
import { type ErrorContext, KitError, McpServer } from "../../src/core/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import {
  ALL_VERSIONS,
  closePeers,
  errorOf,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  resultOf,
} from "../features/peer.ts";

afterEach(closePeers);

type Schema = Parameters<typeof jsonSchema>[0];

const SERVER_INFO = "io.modelcontextprotocol/serverInfo";

/** A server with one tool, the reports to its author, and a client of the given version. */
async function serve(
  version: string,
  schemas: { input?: Schema; output?: Schema },
  handler: (args: unknown) => unknown,
) {
  const reports: [unknown, ErrorContext][] = [];
  const server = new McpServer({
    name: "values",
    version: "1.0.0",
    onError: (error, where) => {
      reports.push([error, where]);
    },
  });
  const { input, output } = schemas;
  const options = { ...(input ? { input: jsonSchema(input) } : {}), ...(output ? { output: jsonSchema(output) } : {}) };
  server.tool("t", options, (args) => handler(args) as never);
  const peer = await openPeer(server, version);
  const call = async (args: unknown = {}) => resultOf(await peer.request("tools/call", { name: "t", arguments: args }));
  const [tool] = resultOf(await peer.request("tools/list")).tools as Json[];
  return { call, tool: tool ?? {}, reports, peer };
}

const textOf = (result: Json): string => (result.content as { text: string }[])[0]?.text ?? "";

/** One value of each JSON type, and its schema. */
const VALUES: readonly [string, unknown, Schema][] = [
  ["an object", { a: [1, { b: null }] }, { type: "object" }],
  ["an array", [1, "two", null], { type: "array" }],
  ["an empty array", [], { type: "array" }],
  ["a string", "plain", { type: "string" }],
  ["an empty text", "", { type: "string" }],
  ["a number", 1.5, { type: "number" }],
  ["zero", 0, { type: "integer" }],
  ["false", false, { type: "boolean" }],
  ["null", null, { type: "null" }],
  ["one of several", 7, { anyOf: [{ type: "integer" }, { type: "string" }] }],
];

describe("structuredContent", () => {
  test.each(VALUES)("can be any JSON value in 2026-07-28: %s", async (_, value, output) => {
    const { call, tool } = await serve(MODERN_VERSION, { output }, () => value);
    expect(tool.outputSchema).toMatchObject(output);
    const result = await call();
    expect(result).toHaveProperty("structuredContent", value);
    expect(JSON.parse(textOf(result))).toEqual(value);
    expect(result).not.toHaveProperty("isError", true);
  });

  test.each(["2025-06-18", "2025-11-25"].flatMap((version) => VALUES.map((row) => [version, ...row] as const)))(
    "is an object in %s or absent: %s",
    async (version, _, value, output) => {
      const { call, tool } = await serve(version, { output }, () => value);
      const result = await call();
      const isObject = output.type === "object";
      expect([Object.hasOwn(result, "structuredContent"), Object.hasOwn(tool, "outputSchema")]).toEqual([
        isObject,
        isObject,
      ]);
      if (isObject) expect(result.structuredContent).toEqual(value);
      expect(JSON.parse(textOf(result))).toEqual(value);
    },
  );

  test.each(["2024-11-05", "2025-03-26"])("does not exist in %s: its JSON is sent as text", async (version) => {
    const { call, tool } = await serve(version, { output: { type: "object" } }, () => ({ a: 1 }));
    const result = await call();
    expect([Object.hasOwn(result, "structuredContent"), Object.hasOwn(tool, "outputSchema")]).toEqual([false, false]);
    expect(JSON.parse(textOf(result))).toEqual({ a: 1 });
  });
});

describe.each(ALL_VERSIONS)("validation in %s", (version) => {
  const output: Schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };

  test.each([{}, { n: "1" }, { n: 1.5 }, null, [], "n"])("prevents sending the invalid result %j", async (value) => {
    const { call, reports } = await serve(version, { output }, () => value);
    const result = await call();
    expect(result.isError).toBe(true);
    expect(result).not.toHaveProperty("structuredContent");
    expect(reports).toHaveLength(1);
  });

  test("makes an invalid argument a tool error naming it, and the handler does not run", async () => {
    let runs = 0;
    const input: Schema = {
      type: "object",
      properties: { days: { type: "integer", minimum: 1 }, city: { type: "string" } },
      required: ["city"],
    };
    const { call } = await serve(version, { input }, () => {
      runs += 1;
      return "ran";
    });
    for (const [args, field] of [
      [{}, "city"],
      [{ city: 7 }, "city"],
      [{ city: "Oslo", days: 0 }, "days"],
      [{ city: "Oslo", days: 1.5 }, "days"],
      [{ city: null }, "city"],
    ] as const) {
      const result = await call(args);
      expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining(field)]);
    }
    expect(runs).toBe(0);
    expect(textOf(await call({ city: "Oslo", days: 1 }))).toBe("ran");
  });

  test.each([null, [], "text", 1])("rejects arguments of %j as malformed with -32602", async (args) => {
    const { peer } = await serve(version, {}, () => "ran");
    const answer = await peer.request("tools/call", { name: "t", arguments: args }, undefined, { bad: true });
    expect(errorOf(answer).code).toBe(-32602);
  });
});

describe("schemas", () => {
  const define = (schema: Schema) => () =>
    new McpServer({ name: "s", version: "1" }).tool("t", { input: jsonSchema(schema) }, () => "");

  test.each(["http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-03/schema#", "urn:own", ""])(
    "defining a tool with the dialect %j throws an error that names the dialect",
    ($schema) => {
      expect(define({ $schema, type: "object" })).toThrow(KitError);
    },
  );

  test.each(["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"])(
    "the dialect %s is served unchanged",
    async ($schema) => {
      const input = {
        $schema,
        type: "object",
        $defs: { a: { type: "integer" } },
        properties: { a: { $ref: "#/$defs/a" } },
      };
      const { call, tool } = await serve(MODERN_VERSION, { input }, () => "ran");
      expect(tool.inputSchema).toEqual(input);
      expect((await call({ a: "x" })).isError).toBe(true);
      expect(textOf(await call({ a: 1 }))).toBe("ran");
    },
  );

  test.each(["https://example.com/schema.json", "http://127.0.0.1:1/x", "other.json#/a", "file:///etc/passwd"])(
    "a $ref to %s is refused, and nothing is fetched",
    ($ref) => {
      expect(define({ type: "object", properties: { a: { $ref } } })).toThrow(KitError);
    },
  );

  test("a recursive schema neither overflows the stack nor hangs", async () => {
    const tree: Schema = { type: "object", properties: { child: { $ref: "#" }, n: { type: "integer" } } };
    const { call } = await serve(MODERN_VERSION, { input: tree }, () => "ran");
    let deep: Json = { n: 1 };
    for (let depth = 0; depth < 40; depth += 1) deep = { child: deep };
    expect(textOf(await call(deep))).toBe("ran");
    deep = { n: "not a number" };
    for (let depth = 0; depth < 40; depth += 1) deep = { child: deep };
    expect((await call(deep)).isError).toBe(true);
  });
});

describe.each(ALL_VERSIONS)("the error code in %s", (version) => {
  const notFound = version === MODERN_VERSION ? -32602 : -32002;

  async function open() {
    const server = new McpServer({ name: "codes", version: "1.0.0", onError: () => undefined });
    server.tool("t", {}, () => "");
    server.prompt("p", { arguments: [{ name: "needed", required: true }] }, () => "");
    server.resource("test://r", {}, () => "");
    server.resourceTemplate("test://t/{id}", {}, () => undefined);
    return openPeer(server, version);
  }

  test("is -32602 for an unknown tool or prompt, which the error names", async () => {
    const peer = await open();
    for (const method of ["tools/call", "prompts/get"]) {
      for (const name of ["absent", "T", "t ", "__proto__", "constructor", ""]) {
        const error = errorOf(await peer.request(method, { name }));
        expect([error.code, error.message]).toEqual([-32602, expect.stringContaining(name)]);
      }
    }
  });

  test("is -32602 for a prompt without a required argument, which the error names", async () => {
    const error = errorOf(await (await open()).request("prompts/get", { name: "p" }));
    expect([error.code, error.message]).toEqual([-32602, expect.stringContaining("needed")]);
  });

  test.each(["test://absent", "test://t/1", "test://R", "other:x"])(
    "depends on the version for an unknown resource, whose URI the error has: %s",
    async (uri) => {
      const error = errorOf(await (await open()).request("resources/read", { uri }));
      expect(error).toMatchObject({ code: notFound, data: { uri } });
    },
  );

  test("is never a reserved or retired code in the kit's own errors", async () => {
    const peer = await open();
    const asked: [string, Json][] = [
      ["tools/call", { name: "absent" }],
      ["tools/call", {}],
      ["prompts/get", { name: "absent" }],
      ["prompts/get", { name: "p" }],
      ["resources/read", { uri: "test://absent" }],
      ["resources/read", {}],
      ["tools/list", { cursor: "x" }],
      ["completion/complete", { ref: { type: "ref/prompt", name: "absent" }, argument: { name: "a", value: "" } }],
      ["unknown/method", {}],
    ];
    const codes = new Set<number>();
    for (const [method, params] of asked) {
      codes.add(errorOf(await peer.request(method, params, undefined, { bad: true })).code);
    }
    const allowed = [-32602, -32601, notFound];
    expect([...codes].filter((code) => !allowed.includes(code))).toEqual([]);
  });
});

describe("resource links", () => {
  const link = { type: "resource_link", uri: "test://r", name: "r", title: "R", mimeType: "text/plain" } as const;

  test.each(["2025-06-18", "2025-11-25", MODERN_VERSION])(
    "are sent unchanged in a tool's result in %s",
    async (version) => {
      const { call } = await serve(version, {}, () => [link, { type: "text", text: "see there" }]);
      expect((await call()).content).toEqual([link, { type: "text", text: "see there" }]);
    },
  );

  test.each(["2024-11-05", "2025-03-26"])(
    "are sent as text with the URI in %s, which has no links",
    async (version) => {
      const { call } = await serve(version, {}, () => [link]);
      const { content } = await call();
      expect((content as Json[]).map(({ type }) => type)).not.toContain("resource_link");
      expect(JSON.stringify(content)).toContain("test://r");
    },
  );
});

describe("_meta and trace context", () => {
  const trace = {
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
    tracestate: "vendor=value",
    baggage: "userId=alice,serverNode=DF%2028",
  };
  const own = { "com.example/key": { a: 1 }, "com.example.mcp/key": 2, plain: 3, "a_b.c-d": [4] };

  test.each(ALL_VERSIONS)("reach the handler of a request unchanged in %s", async (version) => {
    let seen: unknown;
    const server = new McpServer({ name: "meta", version: "1.0.0" });
    server.tool("t", {}, (_, ctx) => {
      seen = ctx.meta;
      return { content: [], _meta: own };
    });
    const peer = await openPeer(server, version);
    const result = resultOf(await peer.request("tools/call", { name: "t" }, { ...trace, ...own }));
    expect(seen).toMatchObject({ ...trace, ...own });
    expect(result._meta).toMatchObject(own);
    // The client's own values are not sent back to it.
    expect(result._meta).not.toHaveProperty("traceparent");
  });

  test.each([{ traceparent: "" }, { traceparent: "garbage" }, { tracestate: "=,=" }, { baggage: "\u0000" }])(
    "do not make a call fail if they are malformed: %j",
    async (meta) => {
      const server = new McpServer({ name: "meta", version: "1.0.0" }).tool("t", {}, () => "ran");
      const peer = await openPeer(server, MODERN_VERSION);
      expect(resultOf(await peer.request("tools/call", { name: "t" }, meta))).toMatchObject({
        content: [{ text: "ran" }],
      });
    },
  );

  test("contain the server's name under the reserved key in every modern result, beside the author's keys", async () => {
    const server = new McpServer({ name: "meta", version: "1.0.0" });
    server.tool("t", {}, () => ({ content: [], _meta: own }));
    const peer = await openPeer(server, MODERN_VERSION);
    const info = { [SERVER_INFO]: { name: "meta", version: "1.0.0" } };
    expect(resultOf(await peer.request("tools/call", { name: "t" }))._meta).toEqual({ ...own, ...info });
    for (const method of ["server/discover", "tools/list"]) {
      expect(resultOf(await peer.request(method))._meta).toMatchObject(info);
    }
  });

  test.each(LEGACY_VERSIONS)("are sent to %s without the reserved keys of 2026-07-28", async (version) => {
    const server = new McpServer({ name: "meta", version: "1.0.0" }).tool("t", {}, () => "");
    const peer = await openPeer(server, version);
    await peer.request("tools/call", { name: "t" });
    await peer.request("tools/list");
    expect(peer.received).toHaveLength(3);
    expect(JSON.stringify(peer.received)).not.toMatch(/io\.modelcontextprotocol\/|resultType|ttlMs|cacheScope/);
  });
});
