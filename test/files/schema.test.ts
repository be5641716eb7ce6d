/** Files in the schema of a tool, and the names of files. */
import { describe, expect, expectTypeOf, test } from "vitest";
import * as z from "zod";
import { KitError, McpServer, ToolError } from "../../src/core/index.ts";
import { contentDisposition } from "../../src/files/file-name.ts";
import { addFiles, cleanFileName, FileArgument, file, withFiles } from "../../src/files/index.ts";
import { withExtension } from "../../src/files/media-types.ts";
import { streamOf } from "../../src/files/store.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { connectInMemory } from "../../src/testing/index.ts";

const validate = (schema: { readonly "~standard": { validate(value: unknown): unknown } }, value: unknown) =>
  schema["~standard"].validate(value);

const raw = jsonSchema<{ month: string }>({
  type: "object",
  properties: { month: { type: "string" } },
  required: ["month"],
  additionalProperties: false,
});

test.each([
  ["zod", withFiles(z.strictObject({ month: z.string() }), { report: file({ types: ["text/csv"] }) })],
  ["raw JSON Schema", withFiles(raw, { report: file({ types: ["text/csv"] }) })],
])("adds files to a schema of %s, which keeps its own rules", async (_, schema) => {
  const json = schema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
  expect(json).toMatchObject({
    type: "object",
    required: ["month"],
    additionalProperties: false,
    properties: {
      month: { type: "string" },
      report: {
        type: "string",
        description: expect.stringMatching(
          /^A file \(text\/csv; at most 10 MB\): the id of .* for at most 96 KB, a data: URL/,
        ),
      },
    },
  });
  const { value } = (await validate(schema, { month: "May", report: "file_x" })) as { value: { report: FileArgument } };
  expect(value).toEqual({ month: "May", report: expect.any(FileArgument) });
  expect(value.report).toMatchObject({ name: "report", reference: "file_x", rules: { types: ["text/csv"] } });
  expect(await validate(schema, { month: "May" })).toMatchObject({ value: { report: { reference: undefined } } });
  expect(await validate(schema, { report: 5 })).toMatchObject({ issues: [{ path: ["report"] }, expect.anything()] });
  expect(await validate(schema, { month: "May", other: 1 })).toHaveProperty("issues");
  for (const value of [null, [], "text"]) expect(await validate(schema, value)).toHaveProperty("issues");
});

test("the handler receives typed values", () => {
  const schema = withFiles(z.object({ month: z.string() }), { a: file(), b: file({ optional: true }) });
  type Output = NonNullable<(typeof schema)["~standard"]["types"]>["output"];
  expectTypeOf<Output["month"]>().toEqualTypeOf<string>();
  expectTypeOf<Output["a"]>().toEqualTypeOf<FileArgument>();
  expectTypeOf<Output["b"]>().toEqualTypeOf<FileArgument | undefined>();
});

describe("a mistake of the author is refused where it is made", () => {
  test.each([
    ["an unknown type", () => file({ types: ["image/svg+xml"] }), /"image\/svg\+xml", whose content cannot be checked/],
    ["no type", () => file({ types: [] }), /types is empty/],
    [
      "types that a link cannot contain",
      () => file({ types: Array.from({ length: 80 }, () => "application/json") }),
      /types have more than 1000 characters/,
    ],
    ["an unknown option", () => file({ maxBytes: 1 } as never), /has no option "maxBytes"/],
    [
      "a schema that is no object",
      () => withFiles(z.string() as never, { a: file() }),
      /is not an object with properties/,
    ],
    [
      "two arguments of one name",
      () => withFiles(z.object({ a: z.string() }), { a: file() }),
      /already has the property "a"/,
    ],
    ["a tool of the same name", () => addFiles(addServer("create_upload")), /create_upload/],
  ])("%s", (_, make, message) => {
    expect(make).toThrow(message);
    expect(make).toThrow(KitError);
  });

  test("a server without a place for its files, whose reason a call shows", async () => {
    const server = new McpServer({ name: "a", version: "1.0.0" });
    const store = addFiles(server);
    const input = withFiles(z.object({}), { report: file() });
    server.tool("read", { input }, async ({ report }, ctx) => (await store.open(report, ctx)).text());
    await using client = await connectInMemory(server);
    for (const [name, args] of [
      ["create_upload", {}],
      ["read", { report: "file_x" }],
      ["read", { report: "data:text/plain;base64,YQ" }],
    ] as const) {
      const { isError, content } = await client.request("tools/call", { name, arguments: args });
      const text = expect.stringMatching(/have no place\. In a Worker, add files\(store\).*connectInMemory/);
      expect([isError, content]).toEqual([true, [{ type: "text", text }]]);
    }
  });
});

/** Opens a file with a content of a given size, as a handler does. */
async function openFile(content: ReadableStream<Uint8Array>, bytes: number, bytesMax: number) {
  const store = addFiles(new McpServer({ name: "a", version: "1.0.0" }));
  const found = { name: "a.txt", type: "text/plain", bytes, facts: { isText: true } };
  const place = { find: async () => ({ ...found, open: async () => content, delete: async () => undefined }) };
  store.join(place as never);
  return store.open(new FileArgument("a", "file_x", { bytesMax }), {} as never);
}

describe("a handler reads a whole file", () => {
  const large = new Uint8Array(10 * 1024 * 1024 + 1).fill(65);

  test("of any size that the argument accepts, and at most of the size that it passes", async () => {
    const opened = await openFile(streamOf(large), large.length, 20_000_000);
    await expect(opened.text(1_000)).rejects.toThrow("The file has 10.5 MB; at most 1 KB are read.");
    expect((await opened.text()).length).toBe(large.length);
  });

  test.each([
    ["ends early", streamOf(large.subarray(1))],
    ["is longer", streamOf(new Uint8Array(large.length + 1))],
    ["fails", new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error("gone")) })],
  ])("and learns that its content %s", async (_, content) => {
    const opened = await openFile(content, large.length, 20_000_000);
    const reading = opened.bytes();
    await expect(reading).rejects.toThrow(/could not be read to its end/);
    await expect(reading).rejects.toThrow(ToolError);
  });
});

describe("a handler that returns", () => {
  const made = { name: "x.exe", type: "text/csv", body: "a" };
  const create = (file: object) => {
    const store = addFiles(new McpServer({ name: "a", version: "1.0.0" }));
    store.join({ create: async (given: object) => given } as never);
    return store.create({ ...made, ...file }, {} as never);
  };

  test("a file under another extension than its type has, stores it under the right one", async () => {
    expect(await create({ type: "Text/CSV; charset=utf-8" })).toMatchObject({ name: "x.exe.csv", type: "text/csv" });
  });

  test.each([
    [{ type: "csv" }, 'store.create(): type is "csv"; write one such as text/csv.'],
    [{ body: { rows: [] } }, /the body is neither a string nor a Uint8Array nor a ReadableStream/],
    [{ body: undefined }, /the body is neither a string/],
  ])("%j is told what to write", async (file, message) => {
    const creating = create(file);
    await expect(creating).rejects.toThrow(message);
    await expect(creating).rejects.toThrow(KitError);
  });

  test.each([{ body: "" }, { body: new Uint8Array(0) }, { body: new ReadableStream(), bytes: 0 }])(
    "no content tells the model so",
    async (file) => {
      const creating = create(file);
      await expect(creating).rejects.toThrow("The result is empty, so there is no file.");
      await expect(creating).rejects.toThrow(ToolError);
    },
  );
});

test("a name receives the extension of its type, unless it has one that fits", () => {
  for (const [name, type, expected] of [
    ["a", "image/jpeg", "a.jpg"],
    ["a.jpeg", "image/jpeg", "a.jpeg"],
    ["a.png", "image/jpeg", "a.jpg"],
    ["main.py", "text/plain", "main.py"],
    ["README", "text/plain", "README.txt"],
    ["run.bat", "text/plain", "run.bat.txt"],
    ["a.html", "text/plain", "a.txt"],
    ["v1.2", "text/csv", "v1.2.csv"],
    ["a.exe", "application/octet-stream", "a.exe"],
  ] as const)
    expect([name, type, withExtension(name, type)]).toEqual([name, type, expected]);
});

function addServer(tool: string): McpServer {
  return new McpServer({ name: "a", version: "1.0.0" }).tool(tool, {}, () => "done");
}

test("a cleaned name stays as it is, and has at most 255 bytes", () => {
  const names = [
    "a.txt",
    "ä".repeat(300),
    "../..",
    `${"x".repeat(300)}.tar.gz`,
    "a\u202eb",
    "\ud800",
    "...",
    "a/b\\c",
    "NUL",
    " . ",
  ];
  for (const given of names) {
    const name = cleanFileName(given);
    expect(cleanFileName(name)).toBe(name);
    expect(new TextEncoder().encode(name).length).toBeLessThanOrEqual(255);
    expect(name).not.toMatch(/[/\\\p{Cc}\u202e]|^\.|^$/u);
    expect(contentDisposition(name)).toMatch(/^attachment; filename="[^"\\]+"; filename\*=UTF-8''[\w.%~-]+$/);
  }
  expect(cleanFileName(`${"x".repeat(300)}.tar.gz`)).toMatch(/^x+\.gz$/);
});
