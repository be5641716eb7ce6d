import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { REGISTRY } from "../../src/core/define/server.ts";
import { compileTool, isRepeatable } from "../../src/core/define/tool.ts";
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  McpServer,
  type ToolDefinition,
} from "../../src/core/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { ALL_VERSIONS, closePeers, type Json, MODERN_VERSION, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

async function ask(server: McpServer, version: string, method: string, params: Json = {}): Promise<Json> {
  const peer = await openPeer(server, version);
  return resultOf(await peer.request(method, params));
}

async function listTools(server: McpServer, version: string): Promise<Json[]> {
  return (await ask(server, version, "tools/list")).tools as Json[];
}

async function entryOf(server: McpServer, version: string): Promise<Json> {
  const [entry] = await listTools(server, version);
  if (!entry) throw new Error("The list is empty.");
  return entry;
}

function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error("Nothing was thrown.");
}

const addOptions = {
  title: "Add",
  description: "Adds two numbers",
  input: z.object({ a: z.number(), b: z.number().default(1) }),
} as const;
const addHandler = ({ a, b }: { a: number; b: number }) => String(a + b);
const add = defineTool("add", addOptions, addHandler);

/** A definition that did not go through `defineTool`, as a program without types would write it. */
function unchecked(name: string): ToolDefinition {
  return { kind: "tool", name, options: {}, handler: () => name };
}

describe.each(ALL_VERSIONS)("definitions in %s", (version) => {
  describe("three ways to define a tool", () => {
    const identity = { name: "s", version: "1.0.0" };
    const servers = () => [
      new McpServer(identity).tool("add", addOptions, addHandler),
      new McpServer(identity).add(add),
      new McpServer({ ...identity, tools: [add] }),
    ];

    test("a tool defined in each of the three ways is listed alike", async () => {
      const lists = await Promise.all(servers().map((server) => ask(server, version, "tools/list")));
      expect(lists[0]).toMatchObject({ tools: [{ name: "add" }] });
      expect(lists[1]).toEqual(lists[0]);
      expect(lists[2]).toEqual(lists[0]);
    });

    test("a tool defined in each of the three ways returns the same results", async () => {
      const call = { name: "add", arguments: { a: 2 } };
      const answers = await Promise.all(servers().map((server) => ask(server, version, "tools/call", call)));
      for (const answer of answers) expect(answer.content).toEqual([{ type: "text", text: "3" }]);
    });

    test("one tool value can be added to several servers with different names", async () => {
      for (const name of ["one", "two"]) {
        const list = await listTools(new McpServer({ name, version: "1.0.0", tools: [add] }), version);
        expect(list.map((entry) => entry.name)).toEqual(["add"]);
      }
    });

    test("the three ways can be mixed in one server, and keep the order of definition", async () => {
      const server = new McpServer({ ...identity, tools: [add] })
        .tool("second", {}, () => "2")
        .add(defineTool("third", {}, () => "3"));
      expect((await listTools(server, version)).map((entry) => entry.name)).toEqual(["add", "second", "third"]);
    });

    test("prompts defined in each of the three ways are listed alike", async () => {
      const options = { description: "Greets" };
      const greet = definePrompt("greet", options, () => "Hello");
      const [one, ...others] = await Promise.all(
        [
          new McpServer(identity).prompt("greet", options, () => "Hello"),
          new McpServer(identity).add(greet),
          new McpServer({ ...identity, prompts: [greet] }),
        ].map((server) => ask(server, version, "prompts/list")),
      );
      expect(one).toMatchObject({ prompts: [{ name: "greet" }] });
      for (const other of others) expect(other).toEqual(one);
    });

    test("resources defined in each of the three ways are listed alike", async () => {
      const options = { name: "note", mimeType: "text/plain" };
      const note = defineResource("note:///1", options, () => "text");
      const [one, ...others] = await Promise.all(
        [
          new McpServer(identity).resource("note:///1", options, () => "text"),
          new McpServer(identity).add(note),
          new McpServer({ ...identity, resources: [note] }),
        ].map((server) => ask(server, version, "resources/list")),
      );
      expect(one).toMatchObject({ resources: [{ uri: "note:///1" }] });
      for (const other of others) expect(other).toEqual(one);
    });

    test("resource templates defined in each of the three ways are listed alike", async () => {
      const options = { name: "notes" };
      const notes = defineResourceTemplate("note:///{id}", options, () => "text");
      const [one, ...others] = await Promise.all(
        [
          new McpServer(identity).resourceTemplate("note:///{id}", options, () => "text"),
          new McpServer(identity).add(notes),
          new McpServer({ ...identity, resources: [notes] }),
        ].map((server) => ask(server, version, "resources/templates/list")),
      );
      expect(one).toMatchObject({ resourceTemplates: [{ uriTemplate: "note:///{id}" }] });
      for (const other of others) expect(other).toEqual(one);
    });
  });

  test("after a refused duplicate the first definition is listed and called", async () => {
    const server = new McpServer({ name: "s", version: "1.0.0" });
    server.tool("t", { description: "first" }, () => "first");
    expect(() => server.tool("t", { description: "second" }, () => "second")).toThrow();
    const list = await listTools(server, version);
    expect(list.map((entry) => entry.description)).toEqual(["first"]);
    const answer = await ask(server, version, "tools/call", { name: "t" });
    expect(answer.content).toEqual([{ type: "text", text: "first" }]);
  });

  describe("fields of an entry in the list", () => {
    const full = {
      title: "Full",
      description: "Has everything",
      input: z.object({ q: z.string() }),
      output: z.object({ n: z.number() }),
      annotations: { title: "Annotated", readOnlyHint: true, openWorldHint: false },
      icons: [{ src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"] }],
      _meta: { "example.com/category": "demo" },
    } as const;
    const server = () => new McpServer({ name: "s", version: "1.0.0" }).tool("full", full, () => ({ n: 1 }));

    /** The members of `Tool` in each version. */
    const FIELDS: Record<(typeof ALL_VERSIONS)[number], readonly string[]> = {
      "2024-11-05": ["name", "description", "inputSchema"],
      "2025-03-26": ["name", "description", "inputSchema", "annotations"],
      "2025-06-18": ["name", "description", "inputSchema", "annotations", "title", "outputSchema", "_meta"],
      "2025-11-25": ["name", "description", "inputSchema", "annotations", "title", "outputSchema", "_meta", "icons"],
      "2026-07-28": ["name", "description", "inputSchema", "annotations", "title", "outputSchema", "_meta", "icons"],
    };

    test("an entry has exactly the fields of the version", async () => {
      expect(Object.keys(await entryOf(server(), version)).sort()).toEqual([...FIELDS[version]].sort());
    });

    test("every field that is sent has the author's value", async () => {
      const { inputSchema, outputSchema, ...rest } = await entryOf(server(), version);
      const { input: _, output: __, ...given } = full;
      const expected = Object.entries({ name: "full", ...given }).filter(([key]) => FIELDS[version].includes(key));
      expect(rest).toEqual(Object.fromEntries(expected));
      expect(inputSchema).toMatchObject({ type: "object", properties: { q: { type: "string" } }, required: ["q"] });
      if (FIELDS[version].includes("outputSchema")) {
        expect(outputSchema).toMatchObject({ type: "object", properties: { n: { type: "number" } } });
      }
    });

    test("a tool without title and description has neither", async () => {
      const bare = new McpServer({ name: "s", version: "1.0.0" }).tool("bare", {}, () => "x");
      expect(Object.keys(await entryOf(bare, version)).sort()).toEqual(["inputSchema", "name"]);
    });

    test("a tool without arguments has an object schema", async () => {
      const bare = new McpServer({ name: "s", version: "1.0.0" }).tool("bare", {}, () => "x");
      expect((await entryOf(bare, version)).inputSchema).toMatchObject({ type: "object" });
    });

    test("descriptions, defaults and examples of properties are listed from zod", async () => {
      const input = z.object({
        city: z
          .string()
          .default("Bern")
          .meta({ description: "Where", examples: ["Oslo", "Lima"] }),
        at: z.object({ hour: z.int().describe("0 to 23") }).optional(),
      });
      const documented = new McpServer({ name: "s", version: "1.0.0" }).tool("t", { input }, () => "x");
      const { inputSchema } = await entryOf(documented, version);
      expect(inputSchema).toMatchObject({
        properties: {
          city: { type: "string", default: "Bern", description: "Where", examples: ["Oslo", "Lima"] },
          at: { properties: { hour: { description: "0 to 23" } } },
        },
      });
      expect((inputSchema as Json).required ?? []).toEqual([]);
    });

    test("raw JSON Schema is listed with all its keywords unchanged", async () => {
      const raw = {
        type: "object",
        properties: {
          city: { type: "string", default: "Bern", description: "Where", examples: ["Oslo"], "x-mine": 1 },
        },
        required: ["city"],
        additionalProperties: false,
      };
      const input = jsonSchema<{ city: string }>(raw);
      const documented = new McpServer({ name: "s", version: "1.0.0" }).tool("t", { input }, () => "x");
      expect((await entryOf(documented, version)).inputSchema).toEqual(raw);
    });
  });

  describe("annotations", () => {
    const hinted = (annotations?: Json) =>
      new McpServer({ name: "s", version: "1.0.0" }).tool("t", annotations ? { annotations } : {}, () => "x");

    test("a tool without annotations is listed without annotations", async () => {
      expect(await entryOf(hinted(), version)).not.toHaveProperty("annotations");
    });

    test("omitted hints are not listed", async () => {
      const sent = version === "2024-11-05" ? undefined : { readOnlyHint: true };
      expect((await entryOf(hinted({ readOnlyHint: true }), version)).annotations).toEqual(sent);
    });

    test("hints equal to the default are listed if given", async () => {
      const given = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
      const sent = version === "2024-11-05" ? undefined : given;
      expect((await entryOf(hinted(given), version)).annotations).toEqual(sent);
    });
  });
});

describe("names of tools", () => {
  const identity = { name: "s", version: "1.0.0" };
  const BAD_NAMES = ["", " ", "a b", "naïve", "a,b", "a\n", "a:b", "x".repeat(129)];
  const GOOD_NAMES = ["a", "A-b_c.d", "group/tool", "0", "x".repeat(128)];

  test("a duplicate name in server.tool throws and names the tool and the place", () => {
    const server = new McpServer(identity).tool("twice", {}, () => "1");
    const message = messageOf(() => server.tool("twice", {}, () => "2"));
    expect(message).toContain('"twice"');
    expect(message).toContain('server.tool("twice")');
  });

  test("a duplicate name in server.add throws and names the tool and the place", () => {
    const server = new McpServer(identity).add(add);
    const message = messageOf(() => server.add(add));
    expect(message).toContain('"add"');
    expect(message).toContain("server.add()");
  });

  test("a duplicate name in the constructor's list throws and names its index in the list", () => {
    const message = messageOf(() => new McpServer({ ...identity, tools: [add, add] }));
    expect(message).toContain('"add"');
    expect(message).toContain("tools[1]");
  });

  test("a duplicate is a KitError with its own code", () => {
    const server = new McpServer(identity).add(add);
    expect(() => server.add(add)).toThrow(expect.objectContaining({ name: "KitError", code: "definition-duplicate" }));
  });

  test("names that differ only in case are two tools", () => {
    const server = new McpServer(identity).tool("a", {}, () => "1").tool("A", {}, () => "2");
    expect(server[REGISTRY].tools.size).toBe(2);
  });

  test.each(BAD_NAMES)("the name %j is refused in server.tool, naming it", (name) => {
    const server = new McpServer(identity);
    expect(messageOf(() => server.tool(name, {}, () => "x"))).toContain(JSON.stringify(name));
    expect(server[REGISTRY].tools.size).toBe(0);
  });

  test.each(BAD_NAMES)("the name %j is refused in defineTool, naming it", (name) => {
    expect(messageOf(() => defineTool(name, {}, () => "x"))).toContain(JSON.stringify(name));
  });

  test("an invalid name in the constructor's list throws and names its index in the list", () => {
    const message = messageOf(() => new McpServer({ ...identity, tools: [add, unchecked("a b")] }));
    expect(message).toContain('"a b"');
    expect(message).toContain("tools[1]");
  });

  test("a name that is not a string is refused", () => {
    expect(() => new McpServer(identity).add(unchecked(7 as unknown as string))).toThrow(/7/);
  });

  test.each(GOOD_NAMES)("the name %j is allowed", (name) => {
    expect(() => new McpServer(identity).tool(name, {}, () => "x")).not.toThrow();
  });

  test("a duplicate prompt name throws and names its index in the list", () => {
    const greet = definePrompt("greet", {}, () => "Hello");
    const message = messageOf(() => new McpServer({ ...identity, prompts: [greet, greet] }));
    expect(message).toContain('"greet"');
    expect(message).toContain("prompts[1]");
  });

  test("a duplicate URI throws and names its index in the list", () => {
    const note = defineResource("note:///1", { name: "note" }, () => "text");
    const message = messageOf(() => new McpServer({ ...identity, resources: [note, note] }));
    expect(message).toContain("note:///1");
    expect(message).toContain("resources[1]");
  });

  test("a duplicate URI template throws and names its index in the list", () => {
    const notes = defineResourceTemplate("note:///{id}", { name: "notes" }, () => "text");
    const message = messageOf(() => new McpServer({ ...identity, resources: [notes, notes] }));
    expect(message).toContain("note:///{id}");
    expect(message).toContain("resources[1]");
  });
});

describe("schemas that are refused", () => {
  test("an input schema whose root is not an object throws when it is defined, naming the tool", () => {
    const message = messageOf(() => defineTool("t", { input: z.array(z.string()) as never }, () => "x"));
    expect(message).toContain('"t"');
  });
});

test("lists of the newest legacy version and of the modern version have the same entries", async () => {
  const server = () => new McpServer({ name: "s", version: "1.0.0", tools: [add] });
  expect(await listTools(server(), "2025-11-25")).toEqual(await listTools(server(), MODERN_VERSION));
});

describe("a repeated call", () => {
  test.each([
    [undefined, false],
    [{}, false],
    [{ readOnlyHint: true }, true],
    [{ idempotentHint: true }, true],
    [{ readOnlyHint: false, idempotentHint: false }, false],
    [{ destructiveHint: false }, false],
    [{ openWorldHint: false }, false],
  ])("of a tool with the annotations %j has no additional effect: %s", (annotations, expected) => {
    const tool = compileTool(defineTool("t", { ...(annotations && { annotations }) }, () => "x"));
    expect(isRepeatable(tool)).toBe(expected);
  });
});
