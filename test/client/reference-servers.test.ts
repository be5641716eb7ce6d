// @module-tag long
/** Our client and the reference servers of the MCP project, unchanged. */
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join as pathOf } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ClientOptions } from "../../src/client/index.ts";
import { startProxy } from "../../src/testing/proxy.ts";
import { until } from "../http/wire.ts";
import { overStdio, startEverything } from "./fixtures/reference-servers.ts";
import { useClients } from "./join.ts";

const join = useClients();
const textOf = (called: { content: readonly unknown[] }) => (called.content[0] as { text: string }).text;

const KINDS = [
  { name: "stdio", transport: "pipe", start: async () => undefined, path: "" },
  { name: "HTTP+SSE", transport: "http-sse", start: () => startEverything("sse"), path: "/sse" },
  {
    name: "Streamable HTTP",
    transport: "streamable-http",
    start: () => startEverything("streamableHttp"),
    path: "/mcp",
  },
] as const;

const DOCUMENT = "demo://resource/static/document/features.md";

describe.each(KINDS)("server-everything over $name", ({ transport, start, path }) => {
  const enter = async (origin: string | undefined, options: Partial<ClientOptions> = {}) =>
    join(origin === undefined ? overStdio("server-everything") : origin + path, options);

  test("lists, calls, reads, gets prompts and completes", async () => {
    await using server = await start();
    const { client } = await enter(server?.origin);
    expect(client.server).toMatchObject({ transport, info: { name: "mcp-servers/everything" } });
    expect((await client.tools().all()).map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "get-sum"]));
    expect(textOf(await client.callTool("get-sum", { a: 2, b: 3 }))).toContain("5");
    const weather = await client.callTool("get-structured-content", { location: "Chicago" });
    expect(weather.structuredContent).toMatchObject({ temperature: expect.any(Number) });
    expect((await client.resources().all()).map(({ uri }) => uri)).toContain(DOCUMENT);
    expect((await client.readResource(DOCUMENT)).contents).toMatchObject([{ uri: DOCUMENT, text: expect.any(String) }]);
    expect(await client.resourceTemplates().all()).not.toHaveLength(0);
    expect((await client.getPrompt("args-prompt", { city: "Berlin" })).messages).toMatchObject([
      { content: { text: "What's weather in Berlin?" } },
    ]);
    const reference = { type: "ref/prompt", name: "completable-prompt" } as const;
    expect(await client.complete(reference, "department", "S")).toMatchObject({ values: ["Sales", "Support"] });
  });

  test("gets answers to forms, sampling requests and requests for roots", async () => {
    await using server = await start();
    const prompts: unknown[] = [];
    const { client } = await enter(server?.origin, {
      onElicit: () => ({ action: "accept", content: { name: "Ada" } }),
      onSample: ({ messages }) => {
        prompts.push(messages[0]?.content);
        return { role: "assistant", model: "tiny", content: { type: "text", text: "Thought." } };
      },
      roots: [{ uri: "file:///tmp", name: "tmp" }],
    });
    const form = await client.callTool("trigger-elicitation-request");
    // The number is a default of the form.
    expect(JSON.stringify(form.content)).toMatch(/Name: Ada.*Favorite Integer: 42/);
    expect(textOf(await client.callTool("trigger-sampling-request", { prompt: "Think" }))).toContain("Thought.");
    expect(prompts).toMatchObject([{ text: expect.stringContaining("Think") }]);
    expect(textOf(await client.callTool("get-roots-list"))).toContain("file:///tmp");
  });

  test("extends the time limit with progress, and sends updates of a subscription", async () => {
    await using server = await start();
    const updated: string[] = [];
    const { client } = await enter(server?.origin, { onResourceUpdated: (uri) => updated.push(uri) });
    const seen: number[] = [];
    const options = { timeoutMs: 700, onProgress: ({ progress }: { progress: number }) => seen.push(progress) };
    const long = await client.callTool("trigger-long-running-operation", { duration: 1.2, steps: 4 }, options);
    expect(textOf(long)).toContain("completed");
    expect(seen).toEqual([1, 2, 3, 4]);
    await client.subscribe(DOCUMENT);
    await client.callTool("toggle-subscriber-updates");
    await until("the update arrives", () => updated.includes(DOCUMENT));
    await client.unsubscribe(DOCUMENT);
  });
});

test("server-everything: a call whose stream is cut is resumed, and the missed result arrives", async () => {
  await using server = await startEverything("streamableHttp");
  await using proxy = await startProxy(server.origin);
  const { client, kinds } = await join(proxy.url("/mcp"));
  // This server repeats what was missed, but sends nothing more on a resumed stream. So the call ends before the client
  // has returned, which takes at least 125 ms.
  const onProgress = ({ progress }: { progress: number }) => {
    if (progress === 3) proxy.cut("rst");
  };
  const called = await client.callTool("trigger-long-running-operation", { duration: 0.2, steps: 4 }, { onProgress });
  expect(textOf(called)).toContain("completed");
  expect(kinds().filter((kind) => kind === "stream-resumed")).toHaveLength(1);
});

describe("official servers that use a folder", () => {
  let folder: string;
  beforeEach(async () => {
    // The server compares real paths.
    folder = await realpath(await mkdtemp(pathOf(tmpdir(), "mcp-edge-reference-")));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("server-filesystem works in the roots of the client, and is notified when they change", async () => {
    await writeFile(pathOf(folder, "a.txt"), "one");
    const { client } = await join(overStdio("server-filesystem", [tmpdir()]), {
      roots: [{ uri: pathToFileURL(folder).href }],
    });
    const allowed = async () => textOf(await client.callTool("list_allowed_directories"));
    await until("the server has asked for the roots", async () => (await allowed()).includes(folder));
    expect(textOf(await client.callTool("read_text_file", { path: pathOf(folder, "a.txt") }))).toBe("one");
    await client.callTool("write_file", { path: pathOf(folder, "b.txt"), content: "two" });
    expect(await readFile(pathOf(folder, "b.txt"), "utf8")).toBe("two");
    const outside = await client.callTool("read_text_file", { path: "/etc/hostname" });
    expect(outside).toMatchObject({ isError: true });
    await client.setRoots([{ uri: pathToFileURL(tmpdir()).href }]);
    await until("the server has asked again", async () => !(await allowed()).includes(folder));
    expect(
      await client
        .resources()
        .all()
        .catch((error: unknown) => error),
    ).toMatchObject({ code: "capability-missing" });
  });

  test("server-memory keeps stored data, even for the next client", async () => {
    const start = () => join(overStdio("server-memory", [], { MEMORY_FILE_PATH: pathOf(folder, "memory.jsonl") }));
    const { client: first } = await start();
    const entities = [{ name: "Ada", entityType: "person", observations: ["writes programs"] }];
    expect(await first.callTool("create_entities", { entities })).toMatchObject({ structuredContent: { entities } });
    await first.close();
    const { client: second } = await start();
    expect(await second.callTool("search_nodes", { query: "programs" })).toMatchObject({
      structuredContent: { entities },
    });
  });
});
