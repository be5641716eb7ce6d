/** Structured results are checked against the output schema of their tool. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Client, ClientError, type ClientEvent, connect } from "../../src/client/index.ts";
import { OutputError, validation } from "../../src/client/validation/index.ts";
import { Lab, ME, PLACES } from "./places.ts";
import { discovered, result, type Scripted, scripted } from "./scripted.ts";

let lab: Lab;
const clients: Client[] = [];
const servers: Scripted[] = [];
beforeAll(async () => {
  lab = await Lab.start();
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
  await lab.leave();
});
afterAll(() => lab?.[Symbol.asyncDispose]());

type Answered = Record<string, unknown>;

/** A server with one tool, "any", and a client that validates its results. */
async function serve(
  outputSchema: unknown | (() => unknown),
  answer: () => Answered,
  options: Parameters<typeof validation>[0] = {},
) {
  const schema = typeof outputSchema === "function" ? outputSchema : () => outputSchema;
  const server = await scripted(({ message }, response) => {
    const { id, method } = message ?? {};
    if (method === "server/discover") return result(response, id, discovered());
    if (method !== "tools/list") return result(response, id, { resultType: "complete", content: [], ...answer() });
    const tool = { name: "any", inputSchema: { type: "object" }, outputSchema: schema() };
    return result(response, id, { resultType: "complete", tools: [tool], ttlMs: 0, cacheScope: "public" });
  });
  servers.push(server);
  const events: ClientEvent[] = [];
  const use = [validation(options)];
  const client = await connect(server.url, { ...ME, use, onEvent: (event) => events.push(event) });
  clients.push(client);
  return { client, server, events };
}

/** The result of a call, or its error. */
async function call(outputSchema: unknown, structuredContent: unknown): Promise<unknown> {
  const { client } = await serve(outputSchema, () => ({ structuredContent }));
  return client.callTool("any").then(
    () => "fits",
    (error: unknown) => error,
  );
}

async function issuesOf(outputSchema: unknown, structuredContent: unknown): Promise<unknown> {
  const outcome = await call(outputSchema, structuredContent);
  return outcome instanceof OutputError ? outcome.issues : outcome;
}

describe.each(PLACES)("validation in $name", (place) => {
  test("passes on a result that matches, and does not check a tool without an output schema", async () => {
    const { client } = await lab.visit(place, { use: [validation()] });
    const measured = await client.callTool("measure", { value: 3 });
    if (place.version >= "2025-06-18") expect(measured.structuredContent).toEqual({ readings: [{ value: 3 }] });
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
  });
});

describe("a result that does not match its schema", () => {
  const rows = {
    type: "object",
    properties: { rows: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } } },
    required: ["rows"],
  };

  test("causes a typed error with the path, the tool and the result, and the tool has run", async () => {
    const error = await call(rows, { rows: [{ name: "a" }, { name: 7 }] });
    expect(ClientError.is(error)).toBe(true);
    expect(error).toMatchObject({
      code: "answer-invalid",
      source: "server",
      mayHaveRun: true,
      tool: "any",
      issues: [{ path: "/rows/1/name", message: expect.stringContaining('"number"') }],
      result: { structuredContent: { rows: [{ name: "a" }, { name: 7 }] } },
    });
    expect(String(error)).toContain("structuredContent at /rows/1/name");
  });

  test("causes an error with the path even if its keys must be escaped", async () => {
    const schema = { additionalProperties: { type: "string" } };
    expect(await issuesOf(schema, { "a/b %ü": 1 })).toMatchObject([{ path: "/a~1b %ü" }]);
  });

  test("causes an error with the property that the schema forbids", async () => {
    const closed = { properties: { a: true }, additionalProperties: false };
    expect(await issuesOf(closed, { a: 1, b: 2 })).toEqual([
      { path: "/b", message: "The schema allows nothing here." },
    ]);
  });

  test("can be missing, which is an error only if a schema was declared", async () => {
    expect(await issuesOf(rows, undefined)).toEqual([{ path: "", message: "it is missing" }]);
    expect(await issuesOf(undefined, undefined)).toBe("fits");
  });

  test("is passed on if the tool failed", async () => {
    const { client } = await serve(rows, () => ({ isError: true }));
    expect(await client.callTool("any")).toMatchObject({ isError: true });
  });

  test("is accepted if the tool's definition has changed since it was listed", async () => {
    let type = "string";
    const { client, server } = await serve(
      () => ({ type }),
      () => ({ structuredContent: type === "string" ? "text" : 7 }),
    );
    expect((await client.callTool("any")).structuredContent).toBe("text");
    type = "number";
    expect((await client.callTool("any")).structuredContent).toBe(7);
    expect(server.asked.filter((each) => each === "POST tools/list")).toHaveLength(2);
  });
});

describe("output schemas", () => {
  test("are listed once before the first call, however many calls there are, and not again if they were listed", async () => {
    const first = await serve({ type: "string" }, () => ({ structuredContent: "text" }));
    await Promise.all([1, 2, 3].map(() => first.client.callTool("any")));
    await first.client.callTool("unlisted");
    await first.client.callTool("unlisted");
    expect(first.server.asked.slice(1, 2)).toEqual(["POST tools/list"]);
    expect(first.server.asked.filter((each) => each === "POST tools/list")).toHaveLength(1);
    const second = await serve({ type: "string" }, () => ({ structuredContent: "text" }));
    await second.client.tools().all();
    await second.client.callTool("any");
    expect(second.server.asked.filter((each) => each === "POST tools/list")).toHaveLength(1);
  });

  test("are schemas of 2020-12 unless they name 2019-09 or draft-07", async () => {
    const tuple = { prefixItems: [{ type: "string" }] };
    expect(await issuesOf(tuple, [1])).toMatchObject([{ path: "/0" }]);
    const old = { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "string" }] };
    expect(await issuesOf(old, [1])).toMatchObject([{ path: "/0" }]);
    const properties = { n: { type: "number" }, child: { $recursiveRef: "#" } };
    const recursive = { $schema: "https://json-schema.org/draft/2019-09/schema", properties };
    expect(await issuesOf(recursive, { child: { n: 1 } })).toBe("fits");
    expect(await issuesOf(recursive, { child: { n: "1" } })).toMatchObject([{ path: "/child/n" }]);
    // In draft-07, $ref hides the keywords beside it.
    const beside = { definitions: { any: true }, properties: { a: { $ref: "#/definitions/any", type: "string" } } };
    expect(await issuesOf({ ...beside, $schema: old.$schema }, { a: 1 })).toBe("fits");
    expect(await issuesOf(beside, { a: 1 })).toMatchObject([{ path: "/a" }]);
  });

  test("can contain references within themselves, including recursive, dynamic, by anchor and by id", async () => {
    const tree = {
      $id: "https://example.com/tree",
      $dynamicAnchor: "node",
      type: "object",
      properties: {
        label: { $ref: "#/$defs/label" },
        name: { $ref: "#name" },
        size: { $ref: "https://example.com/size" },
        children: { type: "array", items: { $dynamicRef: "#node" } },
      },
      $defs: {
        label: { type: "string" },
        named: { $anchor: "name", type: "string" },
        sized: { $id: "https://example.com/size", type: "number" },
      },
    };
    const fits = { label: "a", name: "b", size: 1, children: [{ children: [{ label: "c" }] }] };
    expect(await issuesOf(tree, fits)).toBe("fits");
    for (const [misfit, path] of [
      [{ label: 1 }, "/label"],
      [{ name: 1 }, "/name"],
      [{ size: "1" }, "/size"],
      [{ children: [{ children: [{ label: 1 }] }] }, "/children/0/children/0/label"],
    ] as const) {
      expect(await issuesOf(tree, misfit)).toMatchObject([{ path }]);
    }
  });

  const deep = (levels: number): object => (levels === 0 ? {} : { not: deep(levels - 1) });
  const unusable = [
    ["another dialect", { $schema: "http://json-schema.org/draft-04/schema#" }, "draft-04"],
    ["a remote reference", { $ref: "http://127.0.0.1:9/schema.json" }, "http://127.0.0.1:9/schema.json"],
    ["a remote reference deep inside", { properties: { a: { items: { $ref: "other.json" } } } }, "other.json"],
    ["too many values", { enum: Array.from({ length: 10_001 }, (_, index) => index) }, "10000 values"],
    ["too much depth", deep(200), "deeper than 128"],
  ] as const;
  test.each(unusable)("make the client refuse the call with %s", async (_, schema, text) => {
    const { client, server } = await serve(schema, () => ({ structuredContent: 1 }));
    const error = await client.callTool("any").catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "tool-invalid", source: "use", mayHaveRun: false });
    expect(String(error)).toContain(text);
    expect(server.asked).not.toContain("POST tools/call");
    expect(server.asked.filter((each) => each.startsWith("GET"))).toEqual([]);
  });

  test("are reported once if they cannot be used and the author prefers unchecked results", async () => {
    const schema = { $ref: "http://127.0.0.1:9/schema.json" };
    const { client, events } = await serve(schema, () => ({ structuredContent: 1 }), { unusable: "warn" });
    expect((await client.callTool("any")).structuredContent).toBe(1);
    expect((await client.callTool("any")).structuredContent).toBe(1);
    const warnings = events.filter(({ type }) => type === "warning");
    expect(warnings).toMatchObject([{ message: expect.stringContaining("Its results are not validated.") }]);
  });

  test("cause an error instead of a hang if they refer to themselves without end, or multiply the work", async () => {
    const endless = await issuesOf({ $ref: "#" }, 1);
    expect(endless).toMatchObject([{ path: "", message: expect.stringContaining("could not be validated") }]);
    const both = (name: string) => ({ allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }] });
    const names = Array.from({ length: 40 }, (_, index) => `d${index}`);
    const $defs = Object.fromEntries(names.map((name, index) => [name, both(names[index + 1] ?? "end")]));
    const exponential = await issuesOf({ ...both("d0"), $defs: { ...$defs, end: { type: "number" } } }, 1);
    expect(exponential).toMatchObject([{ path: "", message: expect.stringContaining("too expensive") }]);
    let parts: object = { type: "number" };
    for (let level = 0; level < 100; level += 1) parts = { $id: `https://example.com/${level}`, not: parts };
    expect(await issuesOf(parts, 1)).toBe("fits");
  });

  test("are checked for a result with many values, however small their share of the work", {
    tags: "long",
  }, async () => {
    const schema = { type: "array", items: { $ref: "#/$defs/row" }, $defs: { row: { type: "integer" } } };
    const rows = Array.from({ length: 50_000 }, (_, index) => index);
    expect(await issuesOf(schema, rows)).toBe("fits");
    expect(await issuesOf(schema, [...rows, "x"])).toMatchObject([{ path: "/50000" }]);
  });

  test("are checked only to a safe depth for a result that is nested too deep", async () => {
    const nested = JSON.parse(`${"[".repeat(900)}1${"]".repeat(900)}`) as unknown;
    expect(await issuesOf({ type: "array" }, nested)).toMatchObject([
      { path: "", message: expect.stringContaining("nested deeper than 128") },
    ]);
  });
});

test("validation() refuses an unknown option", () => {
  expect(() => validation({ unuseable: "warn" } as object)).toThrow('validation() has no option "unuseable".');
});
