// @module-tag long
/** Our client and servers of the official SDK, version 2, in both eras. */
import { join as pathOf } from "node:path";
import { describe, expect, test } from "vitest";
import { type ClientOptions, connect } from "../../src/client/index.ts";
import { stdio } from "../../src/node/index.ts";
import { startProxy } from "../../src/testing/proxy.ts";
import { until } from "../http/wire.ts";
import { CACHED, NODE } from "../oracle/node.ts";
import { serveBoth } from "./fixtures/official-2.ts";
import { useClients } from "./join.ts";
import { ME } from "./places.ts";

const join = useClients();
const textOf = (called: { content: readonly unknown[] }) => (called.content[0] as { text: string }).text;

const STDIO = pathOf(import.meta.dirname, "fixtures/official-2-stdio.ts");
const LEGACY = { protocolVersions: ["2025-11-25"] };

const KINDS = [
  { name: "2026-07-28 over Streamable HTTP", options: {}, version: "2026-07-28", serve: serveBoth },
  { name: "2025-11-25 over Streamable HTTP", options: LEGACY, version: "2025-11-25", serve: serveBoth },
  { name: "2026-07-28 over stdio", options: {}, version: "2026-07-28", serve: async () => undefined },
  { name: "2025-11-25 over stdio", options: LEGACY, version: "2025-11-25", serve: async () => undefined },
];

describe.each(KINDS)("an official server of SDK 2 in $name", ({ options, version, serve }) => {
  const enter = async (url: string | undefined, more: Partial<ClientOptions> = {}) =>
    join(url ?? stdio({ command: NODE, args: [...CACHED, STDIO] }), { ...options, ...more });

  test("lists, calls, reads and gets prompts", async () => {
    await using server = await serve();
    const { client } = await enter(server?.url);
    expect(client.server).toMatchObject({ protocolVersion: version, info: { name: "official-2" } });
    expect((await client.tools().all()).map(({ name }) => name)).toEqual(["add", "count", "ask", "think", "touch"]);
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
    expect((await client.readResource("test://one")).contents).toMatchObject([{ text: "one" }]);
    expect((await client.getPrompt("greet", { name: "Ada" })).messages).toMatchObject([
      { content: { text: "Hello, Ada!" } },
    ]);
  });

  test("gets answers to forms and sampling requests", async () => {
    await using server = await serve();
    const { client } = await enter(server?.url, {
      onElicit: () => ({ action: "accept" }),
      onSample: () => ({ role: "assistant", model: "tiny", content: { type: "text", text: "Thought." } }),
    });
    expect(textOf(await client.callTool("ask"))).toBe("accept Ada");
    expect(textOf(await client.callTool("think"))).toContain("Thought.");
  });

  test("extends the time limit with progress, and sends changes", async () => {
    await using server = await serve();
    const updated: string[] = [];
    let toolChanges = 0;
    const { client } = await enter(server?.url, {
      onResourceUpdated: (uri) => updated.push(uri),
      onToolsChanged: () => {
        toolChanges += 1;
      },
    });
    const seen: number[] = [];
    const limits = { timeoutMs: 600, onProgress: ({ progress }: { progress: number }) => seen.push(progress) };
    expect(textOf(await client.callTool("count", { steps: 4, stepMs: 250 }, limits))).toBe("done");
    expect(seen).toEqual([1, 2, 3, 4]);
    await client.subscribe("test://one");
    await until("both changes arrive", async () => {
      await client.callTool("touch");
      return updated.includes("test://one") && toolChanges > 0;
    });
  });
});

describe("recovery with an official server of SDK 2", () => {
  test("a session that the server has lost is opened again", async () => {
    await using server = await serveBoth();
    const { client, kinds } = await join(server.url, LEGACY);
    server.forget();
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
    expect(kinds()).toContain("session-reopened");
  });

  test("a legacy call whose stream is cut twice gets its result, and every message once", async () => {
    await using server = await serveBoth();
    await using proxy = await startProxy(server.url);
    const { client, kinds } = await join(proxy.url("/mcp"), LEGACY);
    const seen: number[] = [];
    const onProgress = ({ progress }: { progress: number }) => {
      seen.push(progress);
      if (progress === 3 || progress === 8) proxy.cut("rst");
    };
    expect(textOf(await client.callTool("count", { steps: 14, stepMs: 60 }, { onProgress }))).toBe("done");
    expect(seen).toEqual(Array.from({ length: 14 }, (_, index) => index + 1));
    expect(kinds().filter((kind) => kind === "stream-resumed")).toHaveLength(2);
  });

  test("a modern listen stream that is cut is opened again, and changes arrive as before", async () => {
    await using server = await serveBoth();
    await using proxy = await startProxy(server.url);
    let toolChanges = 0;
    const onToolsChanged = () => {
      toolChanges += 1;
    };
    const { client, kinds } = await join(proxy.url("/mcp"), { onToolsChanged });
    const touchUntilHeard = () =>
      until("the change arrives", async () => {
        await client.callTool("touch");
        return toolChanges > 0;
      });
    await touchUntilHeard();
    proxy.cut("rst");
    await until("the stream is open again", () => kinds().includes("stream-resumed"));
    toolChanges = 0;
    await touchUntilHeard();
  });

  test("a server whose version is taken from an earlier connection gets no probe", async () => {
    await using server = await serveBoth();
    const { client: first } = await join(server.url);
    const client = await connect(server.url, { ...ME, serverFacts: first.server });
    expect(textOf(await client.callTool("add", { a: 1, b: 2 }))).toBe("3");
    await client.close();
  });
});
