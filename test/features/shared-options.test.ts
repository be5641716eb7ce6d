/** Several servers created from the same default options: extending the options of one does not affect the others. */
import { afterEach, describe, expect, test } from "vitest";
import {
  type ClientCapabilities,
  definePrompt,
  defineResource,
  defineTool,
  McpServer,
  type ServerOptions,
} from "../../src/core/index.ts";
import {
  closePeers,
  errorOf,
  type Json,
  MODERN_VERSION,
  openPeer,
  type Peer,
  type Response,
  resultOf,
  settle,
} from "./peer.ts";

afterEach(closePeers);

type Options = ServerOptions<unknown>;

/** One option: its default, the value of one server, and what a client or the author observes for each. */
interface OptionRow {
  /** @default 2025-11-25 */
  readonly version?: string;
  readonly capabilities?: ClientCapabilities;
  parts(record: (what: unknown) => void): readonly [shared: Partial<Options>, own: Partial<Options>];
  /** Observes something beyond the reported errors. */
  look(peer: Peer): Promise<unknown>;
  readonly seen: readonly [shared: unknown, own: unknown];
}

const infoOf = (field: string) => async (peer: Peer) =>
  (resultOf(peer.initialized as Response).serverInfo as Json)[field];
const listOf = (method: string, list: string, key: string) => async (peer: Peer) =>
  (resultOf(await peer.request(method))[list] as Json[]).map((entry) => entry[key]);
const textOf = async (peer: Peer, name: string) =>
  (resultOf(await peer.request("tools/call", { name })).content as Json[])[0]?.text;
const info = (field: "title" | "description" | "websiteUrl"): OptionRow => ({
  parts: () => [{ [field]: "https://shared.example" }, { [field]: "https://own.example" }],
  look: infoOf(field),
  seen: ["https://shared.example", "https://own.example"],
});
const aTool = (name: string) => defineTool(name, {}, () => name);
const watched = { uri: "test://watched" };
const subscribed = async (peer: Peer) => {
  resultOf(await peer.request("resources/subscribe", watched));
  resultOf(await peer.request("resources/unsubscribe", watched));
};

// Every option has a row: a missing one does not compile.
const OPTIONS: { readonly [Option in keyof Required<Options>]: OptionRow } = {
  name: { parts: () => [{ name: "shared" }, { name: "own" }], look: infoOf("name"), seen: ["shared", "own"] },
  version: {
    parts: () => [{ version: "1.0.0" }, { version: "2.0.0" }],
    look: infoOf("version"),
    seen: ["1.0.0", "2.0.0"],
  },
  title: info("title"),
  description: info("description"),
  websiteUrl: info("websiteUrl"),
  icons: {
    parts: () => [{ icons: [{ src: "https://shared.example/i.png" }] }, { icons: [] }],
    look: infoOf("icons"),
    seen: [[{ src: "https://shared.example/i.png" }], []],
  },
  instructions: {
    parts: () => [{ instructions: "shared" }, { instructions: "own" }],
    look: async ({ initialized }) => resultOf(initialized as Response).instructions,
    seen: ["shared", "own"],
  },
  tools: {
    parts: () => [{ tools: [aTool("shared")] }, { tools: [aTool("own")] }],
    look: listOf("tools/list", "tools", "name"),
    seen: [
      ["shared", "echo", "fails", "samples"],
      ["own", "echo", "fails", "samples"],
    ],
  },
  prompts: {
    parts: () => [
      { prompts: [definePrompt("shared", {}, () => "p")] },
      { prompts: [definePrompt("own", {}, () => "p")] },
    ],
    look: listOf("prompts/list", "prompts", "name"),
    seen: [["shared"], ["own"]],
  },
  resources: {
    parts: () => [
      { resources: [defineResource("test://shared", {}, () => "r")] },
      { resources: [defineResource("test://own", {}, () => "r")] },
    ],
    look: listOf("resources/list", "resources", "uri"),
    seen: [
      ["test://shared", "test://watched"],
      ["test://own", "test://watched"],
    ],
  },
  pageSize: {
    parts: () => [{ pageSize: 1 }, { pageSize: 2 }],
    look: listOf("tools/list", "tools", "name"),
    seen: [["echo"], ["echo", "fails"]],
  },
  capabilities: {
    parts: () => [{ capabilities: { experimental: { shared: {} } } }, { capabilities: { experimental: { own: {} } } }],
    look: async ({ initialized }) => (resultOf(initialized as Response).capabilities as Json).experimental,
    seen: [{ shared: {} }, { own: {} }],
  },
  protocolVersions: {
    parts: () => [{ protocolVersions: ["2025-11-25"] }, { protocolVersions: ["2025-11-25", "2025-06-18"] }],
    look: async (peer) => {
      const meta = { "io.modelcontextprotocol/protocolVersion": "1999-01-01" };
      const capabilities = { "io.modelcontextprotocol/clientCapabilities": {} };
      const refused = await peer.request("tools/list", {}, { ...meta, ...capabilities }, { bad: true });
      return errorOf(refused).message;
    },
    seen: [expect.not.stringContaining("2025-06-18"), expect.stringContaining("2025-06-18")],
  },
  cacheHints: {
    version: MODERN_VERSION,
    parts: () => [{ cacheHints: { "tools/list": { ttlMs: 1 } } }, { cacheHints: { "tools/list": { ttlMs: 2 } } }],
    look: async (peer) => resultOf(await peer.request("tools/list")).ttlMs,
    seen: [1, 2],
  },
  around: {
    parts: () => {
      const saying = (text: string): Partial<Options> => ({
        around: [async ({ tool }, next) => (tool === "echo" ? { content: [{ type: "text", text }] } : next())],
      });
      return [saying("shared"), saying("own")];
    },
    look: (peer) => textOf(peer, "echo"),
    seen: ["shared", "own"],
  },
  context: {
    // The servers in this file have no context type.
    parts: () => [{ context: "shared" as never }, { context: (() => "own") as never }],
    look: (peer) => textOf(peer, "echo"),
    seen: ["shared", "own"],
  },
  definitions: {
    parts: () => [{ definitions: () => [aTool("shared")] }, { definitions: () => [aTool("own")] }],
    look: listOf("tools/list", "tools", "name"),
    seen: [
      ["echo", "fails", "samples", "shared"],
      ["echo", "fails", "samples", "own"],
    ],
  },
  visible: {
    parts: () => {
      const only = (name: string): Partial<Options> => ({ visible: (seen) => "name" in seen && seen.name === name });
      return [only("echo"), only("fails")];
    },
    look: listOf("tools/list", "tools", "name"),
    seen: [["echo"], ["fails"]],
  },
  onSubscribe: {
    parts: (record) => [{ onSubscribe: () => record("shared") }, { onSubscribe: () => record("own") }],
    look: subscribed,
    seen: ["shared", "own"],
  },
  onUnsubscribe: {
    parts: (record) => [{ onUnsubscribe: () => record("shared") }, { onUnsubscribe: () => record("own") }],
    look: subscribed,
    seen: ["shared", "own"],
  },
  onRequestEnd: {
    parts: (record) => {
      const of = (name: string): Partial<Options> => ({ onRequestEnd: ({ tool }) => void (tool && record(name)) });
      return [of("shared"), of("own")];
    },
    look: async (peer) => void (await textOf(peer, "echo")),
    seen: ["shared", "own"],
  },
  onSample: {
    capabilities: { sampling: {} },
    parts: (record) => [{ onSample: () => record("shared") }, { onSample: () => record("own") }],
    look: async (peer) => void (await textOf(peer, "samples")),
    seen: ["shared", "own"],
  },
  onError: {
    parts: (record) => [{ onError: () => record("shared") }, { onError: () => record("own") }],
    look: async (peer) => void (await textOf(peer, "fails")),
    seen: ["shared", "own"],
  },
};

describe("options that several servers share", () => {
  const SAMPLED: Json = { model: "m", role: "assistant", content: { type: "text", text: "x" } };

  /** Creates a server from shared defaults and its own options, as an author of several servers does. */
  function extended(options: Options): McpServer {
    return new McpServer(options)
      .tool("echo", {}, (_, ctx) => String(ctx.context))
      .tool("fails", {}, () => {
        throw new Error("x");
      })
      .tool("samples", {}, async (_, ctx) => {
        const messages = [{ role: "user", content: { type: "text", text: "hi" } }] as const;
        return (await ctx.sample({ messages, maxTokens: 1 })).model;
      })
      .resource(watched.uri, {}, () => "text");
  }

  test.each(Object.entries(OPTIONS))("do not change if one server extends them with %s", async (_, row) => {
    const record: unknown[] = [];
    const [shared, own] = row.parts((what) => void record.push(what));
    const defaults = Object.freeze({ name: "defaults", version: "1.0.0", ...shared });
    const before = { ...defaults };
    const servers = [extended({ ...defaults }), extended({ ...defaults, ...own })];
    const { version = "2025-11-25", capabilities = {} } = row;
    const options = { capabilities, onRequest: () => SAMPLED };
    const peers = await Promise.all(servers.map((server) => openPeer(server, version, options)));
    record.splice(0);
    const seen: unknown[] = [];
    // The first one again after the second: nothing of one affects the other.
    for (const peer of [...peers, ...peers.slice(0, 1)]) {
      const looked = await row.look(peer);
      await settle(peer);
      const [what = looked, ...more] = record.splice(0);
      seen.push(what, ...more);
    }
    expect(seen).toEqual([...row.seen, row.seen[0]]);
    expect(defaults).toEqual(before);
    for (const peer of peers) {
      await peer.close();
      peer.oracle.expectClean();
    }
  });

  test("do not change if a definition is added to one server later", async () => {
    const defaults = { name: "defaults", version: "1.0.0", tools: [aTool("shared")] };
    const [one, two] = [new McpServer(defaults), new McpServer(defaults)];
    one.tool("added", {}, () => "added").method("example.com/own", () => ({}));
    one.remove("tool", "shared");
    const names = listOf("tools/list", "tools", "name");
    expect(await names(await openPeer(one, "2025-11-25"))).toEqual(["added"]);
    const peer = await openPeer(two, "2025-11-25");
    expect(await names(peer)).toEqual(["shared"]);
    const unknown = await peer.request("example.com/own", {}, undefined, { bad: true });
    expect(errorOf(unknown).code).toBe(-32601);
  });
});
