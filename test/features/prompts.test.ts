import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { definePrompt, McpServer, type PromptReturn, QuestionError } from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, errorOf, type Json, MODERN_VERSION, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

const newServer = () => new McpServer({ name: "prompter", version: "1.0.0" });

async function get(server: McpServer, version: string, name: string, args?: Json, meta?: Json): Promise<Json> {
  const peer = await openPeer(server, version);
  return resultOf(await peer.request("prompts/get", { name, ...(args ? { arguments: args } : {}) }, meta));
}

async function fail(server: McpServer, version: string, params: Json, bad = false) {
  const peer = await openPeer(server, version);
  return errorOf(await peer.request("prompts/get", params, undefined, { bad }));
}

async function messagesOf(returned: PromptReturn, version: string): Promise<unknown> {
  return (
    await get(
      newServer().prompt("p", {}, () => returned),
      version,
      "p",
    )
  ).messages;
}

const text = (value: string) => ({ type: "text", text: value }) as const;

describe.each(ALL_VERSIONS)("prompts in %s", (version) => {
  const isSince = (since: string) => version >= since;

  test.each([7, null, { a: 1 }, true])("a value of %j for a string argument is rejected with -32602", async (value) => {
    const server = newServer().prompt("p", { arguments: [{ name: "text" }] }, ({ text }) => `got ${text}`);
    const params = { name: "p", arguments: { text: value } };
    expect(await fail(server, version, params, true)).toMatchObject({ code: -32602, data: { field: "arguments" } });
  });

  test("a plain list of arguments is listed unchanged, with title, icons and _meta of the prompt", async () => {
    const icons = [{ src: "https://example.com/a.png" }];
    const server = newServer().prompt(
      "git-commit",
      {
        title: "Commit",
        description: "Writes a commit message",
        arguments: [
          { name: "changes", title: "Changes", description: "The diff", required: true },
          { name: "style", required: false },
          { name: "bare" },
        ],
        icons,
        _meta: { "example.com/version": "2", "example.com/category": "git" },
      },
      () => "x",
    );
    const peer = await openPeer(server, version);
    expect(resultOf(await peer.request("prompts/list")).prompts).toEqual([
      {
        name: "git-commit",
        description: "Writes a commit message",
        arguments: [
          {
            name: "changes",
            description: "The diff",
            required: true,
            ...(isSince("2025-06-18") ? { title: "Changes" } : {}),
          },
          { name: "style", required: false },
          { name: "bare" },
        ],
        ...(isSince("2025-06-18")
          ? { title: "Commit", _meta: { "example.com/version": "2", "example.com/category": "git" } }
          : {}),
        ...(isSince("2025-11-25") ? { icons } : {}),
      },
    ]);
  });

  test("arguments given as a schema are listed with the same names, descriptions and required", async () => {
    const schema = z.object({
      code: z.string().describe("The code").meta({ title: "Code" }),
      language: z.string().optional().describe("Its language"),
      tone: z.string().default("plain"),
    });
    const server = newServer().prompt("explain-code", { arguments: schema }, ({ code }) => code);
    const peer = await openPeer(server, version);
    expect(resultOf(await peer.request("prompts/list")).prompts).toEqual([
      {
        name: "explain-code",
        arguments: [
          {
            name: "code",
            description: "The code",
            required: true,
            ...(isSince("2025-06-18") ? { title: "Code" } : {}),
          },
          { name: "language", description: "Its language", required: false },
          { name: "tone", required: false },
        ],
      },
    ]);
  });

  test("a prompt that is defined in its own module or passed to the constructor works like any other", async () => {
    const hello = definePrompt("hello", { description: "Greets" }, () => "hello");
    const listed = new McpServer({ name: "a", version: "1", prompts: [hello] });
    for (const server of [listed, newServer().add(hello)]) {
      expect(await get(server, version, "hello")).toMatchObject({ description: "Greets" });
    }
  });

  test("a missing required argument is rejected with -32602 naming it, whether arguments are a list or a schema", async () => {
    const server = newServer()
      .prompt("list", { arguments: [{ name: "code", required: true }] }, () => "x")
      .prompt("schema", { arguments: z.object({ code: z.string() }) }, () => "x");
    for (const params of [{ name: "list" }, { name: "schema" }, { name: "schema", arguments: { other: "a" } }]) {
      const error = await fail(server, version, params);
      expect(error.code).toBe(-32602);
      expect(error.message).toContain('"code"');
    }
  });

  test("an unknown prompt is rejected with -32602, and the error names it", async () => {
    const server = newServer().prompt("known", {}, () => "x");
    const error = await fail(server, version, { name: "unknown-one" });
    expect(error.code).toBe(-32602);
    expect(error.message).toContain("unknown-one");
    expect((await fail(server, version, { name: "__proto__" })).code).toBe(-32602);
  });

  test("an absent optional argument takes its default; without one it is undefined", async () => {
    const schema = z.object({ tone: z.string().default("plain"), to: z.string().optional() });
    const server = newServer()
      .prompt("schema", { arguments: schema }, (args) => JSON.stringify([args.tone, args.to === undefined]))
      .prompt("list", { arguments: [{ name: "a" }] }, (args) => JSON.stringify(args.a === undefined));
    expect(await get(server, version, "schema")).toMatchObject({ messages: [{ content: text('["plain",true]') }] });
    expect(await get(server, version, "schema", { tone: "loud" })).toMatchObject({
      messages: [{ content: text('["loud",true]') }],
    });
    expect(await get(server, version, "list")).toMatchObject({ messages: [{ content: text("true") }] });
  });

  test("an invalid value is rejected with -32602 naming the argument, and the handler does not run", async () => {
    let runs = 0;
    const server = newServer().prompt("p", { arguments: z.object({ size: z.enum(["s", "l"]) }) }, () => `${++runs}`);
    const misfit = await fail(server, version, { name: "p", arguments: { size: "xl" } });
    expect([misfit.code, misfit.message.includes("size")]).toEqual([-32602, true]);
    for (const args of [{ size: 1 }, [], "s"]) {
      expect((await fail(server, version, { name: "p", arguments: args }, true)).code).toBe(-32602);
    }
    for (const name of [undefined, 1, null]) expect((await fail(server, version, { name }, true)).code).toBe(-32602);
    expect(runs).toBe(0);
  });

  test("a returned string becomes one message of the user, with the description of the prompt", async () => {
    const server = newServer().prompt("p", { description: "Says" }, () => "hello");
    expect(await get(server, version, "p")).toMatchObject({
      description: "Says",
      messages: [{ role: "user", content: text("hello") }],
    });
  });

  test("messages of both roles stay in order, and a returned description takes precedence", async () => {
    const server = newServer().prompt("p", { description: "General" }, async () => ({
      description: "This time",
      messages: [
        { role: "user", content: "one" },
        { role: "assistant", content: text("two") },
        { role: "user", content: "three" },
      ],
    }));
    const result = await get(server, version, "p");
    expect(result.description).toBe("This time");
    expect(result.messages).toEqual([
      { role: "user", content: text("one") },
      { role: "assistant", content: text("two") },
      { role: "user", content: text("three") },
    ]);
    expect(await messagesOf({ role: "assistant", content: "alone" }, version)).toEqual([
      { role: "assistant", content: text("alone") },
    ]);
    expect(await messagesOf([], version)).toEqual([]);
  });

  test("images, audio, embedded text and blob, and links are sent if the version has them", async () => {
    const bytes = Uint8Array.of(1, 2, 3);
    const messages = (await messagesOf(
      [
        { role: "user", content: { type: "image", data: bytes, mimeType: "image/png" } },
        { role: "user", content: { type: "audio", data: bytes, mimeType: "audio/wav" } },
        { role: "user", content: { type: "resource", resource: { uri: "a:b", mimeType: "text/x", text: "t" } } },
        { role: "user", content: { type: "resource", resource: { uri: "a:c", blob: bytes } } },
        { role: "user", content: { type: "resource_link", uri: "a:d", name: "d" } },
      ],
      version,
    )) as { content: Json }[];
    const contents = messages.map(({ content }) => content);
    expect(contents[0]).toEqual({ type: "image", data: "AQID", mimeType: "image/png" });
    if (isSince("2025-03-26")) expect(contents[1]).toEqual({ type: "audio", data: "AQID", mimeType: "audio/wav" });
    else expect(contents[1]).toMatchObject({ type: "text" });
    expect(contents[2]).toEqual({ type: "resource", resource: { uri: "a:b", mimeType: "text/x", text: "t" } });
    expect(contents[3]).toEqual({ type: "resource", resource: { uri: "a:c", blob: "AQID" } });
    if (isSince("2025-06-18")) expect(contents[4]).toEqual({ type: "resource_link", uri: "a:d", name: "d" });
    else expect(contents[4]).toEqual(text("d: a:d"));
  });

  test("a message with another role causes -32603 and a report, and its text is not sent", async () => {
    const returned = [{ role: "system", content: "secret" }] as unknown as PromptReturn;
    const peer = await openPeer(
      newServer().prompt("p", {}, () => returned),
      version,
    );
    const error = errorOf(await peer.request("prompts/get", { name: "p" }));
    expect(error.code).toBe(-32603);
    expect(JSON.stringify(error)).not.toContain("secret");
    expect(peer.reports).toHaveLength(1);
  });

  test("a handler has env, signal, progress, log and the server's own resources", async () => {
    const server = new McpServer<{ who: string }>({ name: "p", version: "1" })
      .resource("note:///a", { mimeType: "text/plain" }, (_, ctx) => `note of ${ctx.env.who}`)
      .prompt("p", {}, async (_, ctx) => {
        ctx.progress(1, { total: 2 });
        ctx.log("error", { at: "prompt" });
        const [note] = await ctx.readResource("note:///a");
        return JSON.stringify([ctx.signal.aborted, ctx.client.protocolVersion, note, ctx.meta["example.com/x"]]);
      });
    const peer = await openPeer(server, version, { env: { who: "me" } });
    if (version !== MODERN_VERSION) await peer.request("logging/setLevel", { level: "info" });
    const level = version === MODERN_VERSION ? { "io.modelcontextprotocol/logLevel": "info" } : {};
    const meta = { progressToken: 0, "example.com/x": 1, ...level };
    const result = resultOf(await peer.request("prompts/get", { name: "p" }, meta));
    const note = { uri: "note:///a", mimeType: "text/plain", text: "note of me" };
    expect(result.messages).toEqual([{ role: "user", content: text(JSON.stringify([false, version, note, 1])) }]);
    expect(peer.notifications.map(({ method }) => method)).toEqual(["notifications/progress", "notifications/message"]);
  });

  test("reading a resource that does not exist rejects inside the handler", async () => {
    const server = newServer()
      .resource("note:///a", {}, () => "a")
      .prompt("p", {}, async (_, ctx) =>
        ctx.readResource("note:///none").then(
          () => "found",
          () => "not found",
        ),
      );
    expect(await get(server, version, "p")).toMatchObject({ messages: [{ content: text("not found") }] });
  });

  test("a handler can ask; if the client cannot answer, the handler gets a typed error", async () => {
    const server = newServer().prompt("p", {}, async (_, ctx) => {
      try {
        return (await ctx.listRoots()).map(({ uri }) => uri).join();
      } catch (error) {
        return error instanceof QuestionError ? error.reason : "odd";
      }
    });
    expect(await get(server, version, "p")).toMatchObject({ messages: [{ content: text("unsupported") }] });
  });
});

describe("a prompt definition", () => {
  test("throws with a duplicate or empty name or without a handler, naming the prompt", () => {
    const server = newServer().prompt("twice", {}, () => "x");
    expect(() => server.prompt("twice", {}, () => "y")).toThrow(/twice/);
    expect(() => server.prompt("", {}, () => "y")).toThrow(expect.objectContaining({ code: "definition-invalid" }));
    const none = undefined as unknown as () => string;
    expect(() => server.prompt("none", {}, none)).toThrow(/none/);
  });
});

test.each(ALL_VERSIONS)(
  "a missing required argument named like an inherited member is noticed in %s",
  async (version) => {
    for (const name of ["constructor", "toString", "__proto__"]) {
      const server = newServer().prompt("p", { arguments: [{ name, required: true }] }, () => "text");
      const error = await fail(server, version, { name: "p", arguments: {} });
      expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(name) });
    }
  },
);
