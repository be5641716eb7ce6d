import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { type AnySchema, McpServer } from "../../src/core/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { ALL_VERSIONS, closePeers, errorOf, type Json, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

/** The same schema twice: with zod and as raw JSON Schema. */
const SCHEMAS: readonly { readonly kind: string; readonly input: AnySchema }[] = [
  {
    kind: "zod",
    input: z.object({
      count: z.int().min(1),
      unit: z.enum(["c", "f"]).default("c"),
      place: z.object({ city: z.string(), zone: z.string().default("UTC") }).optional(),
      tags: z.array(z.string()).default([]),
    }),
  },
  {
    kind: "jsonSchema",
    input: jsonSchema({
      type: "object",
      properties: {
        count: { type: "integer", minimum: 1 },
        unit: { type: "string", enum: ["c", "f"], default: "c" },
        place: {
          type: "object",
          properties: { city: { type: "string" }, zone: { type: "string", default: "UTC" } },
          required: ["city"],
        },
        tags: { type: "array", items: { type: "string" }, default: [] },
      },
      required: ["count"],
    }),
  },
];

function spyServer(input?: AnySchema) {
  const handler = vi.fn((_args: unknown) => "ran");
  const server = new McpServer({ name: "s", version: "1.0.0" }).tool("t", input ? { input } : {}, (args) =>
    handler(args),
  );
  return { server, handler };
}

function textOf(result: Json): string {
  return (result.content as { text: string }[]).map(({ text }) => text).join("\n");
}

describe.each(ALL_VERSIONS)("tools in %s", (version) => {
  const call = async (server: McpServer, params: Json, bad = false) => {
    const peer = await openPeer(server, version);
    return peer.request("tools/call", { name: "t", ...params }, undefined, { bad });
  };

  test("a handler without an input schema gets no arguments, whatever the client sends", async () => {
    const { server, handler } = spyServer();
    resultOf(await call(server, { arguments: { unchecked: true } }));
    expect(handler).toHaveBeenCalledExactlyOnceWith({});
  });

  describe.each(SCHEMAS)("with a schema of $kind", ({ input }) => {
    test("valid arguments reach the handler with defaults filled in", async () => {
      const { server, handler } = spyServer(input);
      resultOf(await call(server, { arguments: { count: 2 } }));
      expect(handler).toHaveBeenCalledExactlyOnceWith({ count: 2, unit: "c", tags: [] });
    });

    test("defaults inside nested objects are filled in", async () => {
      const { server, handler } = spyServer(input);
      resultOf(await call(server, { arguments: { count: 2, place: { city: "Oslo" } } }));
      expect(handler).toHaveBeenCalledWith(expect.objectContaining({ place: { city: "Oslo", zone: "UTC" } }));
    });

    test("a given value takes precedence over the default", async () => {
      const { server, handler } = spyServer(input);
      resultOf(await call(server, { arguments: { count: 2, unit: "f", tags: ["x"] } }));
      expect(handler).toHaveBeenCalledWith({ count: 2, unit: "f", tags: ["x"] });
    });

    test.each([
      ["a missing field", {}, "count", /required|expected|undefined/i],
      ["a wrong type", { count: "two" }, "count", /type|expected|integer|number/i],
      ["a number out of range", { count: 0 }, "count", /minimum|small|>=|less/i],
      ["a value that is not in the enum", { count: 1, unit: "k" }, "unit", /enum|option|expected|"c"/i],
      ["a field inside an object", { count: 1, place: { city: 7 } }, "place.city", /string/i],
      ["a member of a list", { count: 1, tags: ["a", 7] }, /tags(\[1\]|\.1)/, /string/i],
      ["null for a value", { count: null }, "count", /type|expected|integer|number/i],
    ])("%s causes a result with isError that names field and reason", async (_, args, field, reason) => {
      const { server } = spyServer(input);
      const result = resultOf(await call(server, { arguments: args }));
      expect(result.isError).toBe(true);
      expect(textOf(result)).toMatch(field);
      expect(textOf(result)).toMatch(reason);
    });

    test("invalid arguments do not reach the handler", async () => {
      const { server, handler } = spyServer(input);
      resultOf(await call(server, { arguments: { count: "two" } }));
      expect(handler).not.toHaveBeenCalled();
    });

    test("the error for invalid arguments names the tool", async () => {
      const { server } = spyServer(input);
      expect(textOf(resultOf(await call(server, { arguments: {} })))).toContain('"t"');
    });

    test("omitted arguments are validated as an empty object", async () => {
      const { server, handler } = spyServer(input);
      const result = resultOf(await call(server, {}));
      expect(result.isError).toBe(true);
      expect(textOf(result)).toContain("count");
      expect(handler).not.toHaveBeenCalled();
    });
  });

  test.each([
    ["zod", z.object({ unit: z.string().default("c") })],
    ["jsonSchema", jsonSchema({ type: "object", properties: { unit: { type: "string", default: "c" } } })],
  ])("omitted arguments become {} with the defaults of %s", async (_, input) => {
    const { server, handler } = spyServer(input as AnySchema);
    resultOf(await call(server, {}));
    expect(handler).toHaveBeenCalledExactlyOnceWith({ unit: "c" });
  });

  test("a tool without arguments gets {} when arguments are omitted", async () => {
    const { server, handler } = spyServer();
    expect(resultOf(await call(server, {})).isError).not.toBe(true);
    expect(handler).toHaveBeenCalledExactlyOnceWith({});
  });

  test("a tool without arguments gets {} when arguments are {}", async () => {
    const { server, handler } = spyServer();
    resultOf(await call(server, { arguments: {} }));
    expect(handler).toHaveBeenCalledExactlyOnceWith({});
  });

  test("a default value is created anew for every call", async () => {
    const seen: unknown[] = [];
    const input = jsonSchema<{ tags: string[] }>({
      type: "object",
      properties: { tags: { type: "array", items: { type: "string" }, default: [] } },
    });
    const server = new McpServer({ name: "s", version: "1.0.0" }).tool("t", { input }, ({ tags }) => {
      seen.push([...tags]);
      tags.push("dirt");
      return "x";
    });
    await call(server, {});
    await call(server, {});
    expect(seen).toEqual([[], []]);
  });

  test("an asynchronous check is awaited", async () => {
    const input = z.object({ a: z.string().refine(async (value) => value === "good", "is not good") });
    const { server, handler } = spyServer(input);
    const result = resultOf(await call(server, { arguments: { a: "bad" } }));
    expect(textOf(result)).toMatch(/a: is not good/);
    expect(handler).not.toHaveBeenCalled();
  });

  test.each([[["a", "b"]], ["text"], [7], [null]])("arguments of %j are rejected with -32602", async (args) => {
    const { server, handler } = spyServer(z.object({}));
    const error = errorOf(await call(server, { arguments: args }, true));
    expect(error.code).toBe(-32602);
    expect(error.message).toContain("arguments");
    expect(handler).not.toHaveBeenCalled();
  });

  test.each(["nope", "T", "t ", "constructor", "__proto__", "toString"])(
    "the unknown tool %j is rejected with -32602 naming it",
    async (name) => {
      const peer = await openPeer(spyServer().server, version);
      const error = errorOf(await peer.request("tools/call", { name, arguments: {} }));
      expect(error.code).toBe(-32602);
      expect(error.message).toContain(name);
    },
  );

  test("an unknown tool is reported before its arguments are validated", async () => {
    const { server, handler } = spyServer(z.object({ a: z.string() }));
    const peer = await openPeer(server, version);
    const error = errorOf(await peer.request("tools/call", { name: "nope", arguments: { a: 1 } }));
    expect(error.message).toContain("nope");
    expect(handler).not.toHaveBeenCalled();
  });

  test("a call without a name is rejected with -32602", async () => {
    const peer = await openPeer(spyServer().server, version);
    const error = errorOf(await peer.request("tools/call", { arguments: {} }, undefined, { bad: true }));
    expect(error.code).toBe(-32602);
    expect(error.message).toContain("name");
  });
});
