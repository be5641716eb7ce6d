/** The rules for every list, and the members of its entries. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { ALL_VERSIONS, closePeers, type Json, openPeer, resultOf as resultOfPeer } from "../features/peer.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { isMembers, type Members } from "../http/messages.ts";
import { DELIBERATELY_BAD, type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { type Client, clientOf, LegacyClient, ModernClient, readAnswer, VERSIONS } from "../worker/client.ts";
import { errorOf, modern, resultOf } from "./modern.ts";

let worker: Workerd;
let tap: HttpTap;

beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/conformance/fixtures/features.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker.stop());

/** The four lists of the fixture, which has two entries per page. */
const LISTS = [
  {
    method: "tools/list",
    member: "tools",
    key: "name",
    all: ["zebra", "echo", "apple", "roots", "ask_model", "climb"],
  },
  { method: "prompts/list", member: "prompts", key: "name", all: ["first", "second", "third", "counted"] },
  {
    method: "resources/list",
    member: "resources",
    key: "uri",
    all: ["test://first", "test://second", "test://third"],
  },
  {
    method: "resources/templates/list",
    member: "resourceTemplates",
    key: "uriTemplate",
    all: ["first://{part}/{other}", "second://{part}/{other}", "third://{part}/{other}", "db://{table}/{column}"],
  },
] as const;

type List = (typeof LISTS)[number];

function keysOf(result: Members, { member, key }: List): unknown[] {
  const entries = result[member];
  return Array.isArray(entries) ? entries.map((entry) => (isMembers(entry) ? entry[key] : entry)) : [];
}

async function page(client: Client, { method }: List, cursor?: unknown): Promise<Members> {
  return resultOf(await readAnswer(client.request(method, cursor === undefined ? {} : { cursor })));
}

/** Fetches every page, each with another client, as if another isolate served it. */
async function pages(list: List, open: () => Promise<Client>): Promise<Members[]> {
  const all: Members[] = [];
  let cursor: unknown;
  do {
    const next = await page(await open(), list, cursor);
    all.push(next);
    cursor = next.nextCursor;
  } while (cursor !== undefined && all.length < 10);
  return all;
}

describe("lists over HTTP", () => {
  beforeEach(async () => {
    tap = await startHttpTap(`${worker.origin}/mcp`);
  });
  afterEach(async () => {
    await tap.close();
    tap.oracle.expectClean();
  });

  describe.each(VERSIONS)("pagination in %s", (version) => {
    test.each(LISTS)("$method: cursors lead through all entries, in order and once", async (list) => {
      const all = await pages(list, () => clientOf(version, tap.url));
      expect(all.flatMap((each) => keysOf(each, list))).toEqual(list.all);
      expect(all.map((each) => keysOf(each, list).length)).toEqual(
        { 6: [2, 2, 2], 4: [2, 2], 3: [2, 1] }[list.all.length],
      );
      expect(all.at(-1)).not.toHaveProperty("nextCursor");
    });

    test.each(LISTS)("$method: an invalid cursor is rejected with -32602", async (list) => {
      const client = await clientOf(version, tap.url);
      const { nextCursor } = await page(client, list);
      const own = String(nextCursor);
      const [foreign] = LISTS.filter(({ method }) => method !== list.method);
      const other = foreign ? String((await page(client, foreign)).nextCursor) : "";
      for (const cursor of ["", "garbage", "0", "2", own.slice(1), own.slice(0, -2), `${own}A`, `${own} `, other]) {
        expect(errorOf(await readAnswer(client.request(list.method, { cursor })))).toMatchObject({ code: -32602 });
      }
      for (const cursor of [0, 2, true, {}, [own]]) {
        const headers = { [DELIBERATELY_BAD]: "1" };
        expect(errorOf(await readAnswer(client.request(list.method, { cursor }, { headers })))).toMatchObject({
          code: -32602,
        });
      }
    });
  });

  test.each(LISTS)("have the same cacheScope on all pages and an integer ttlMs: $method", async (list) => {
    const all = await pages(list, () => clientOf("2026-07-28", tap.url));
    const scope = list.method === "tools/list" ? "public" : "private";
    expect(all.map(({ cacheScope }) => cacheScope)).toEqual(all.map(() => scope));
    for (const { ttlMs } of all) expect(Number.isSafeInteger(ttlMs) && Number(ttlMs) >= 0).toBe(true);
  });

  test.each(LISTS)("have the same order each time and on each connection: $method", async (list) => {
    const asked = Array.from({ length: 12 }, () => page(new ModernClient(tap.url), list));
    const results = await Promise.all(asked);
    expect(new Set(results.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(keysOf(results[0] ?? {}, list)).toEqual(list.all.slice(0, 2));
  });

  test("do not depend on the client's name, its capabilities, or its earlier requests", async () => {
    for (const list of LISTS) {
      const before = resultOf(await modern(tap.url, list.method));
      await modern(tap.url, "tools/call", { name: "echo", arguments: { text: "so" } });
      await modern(tap.url, "resources/read", { uri: "test://first" });
      const clientInfo = { name: "another", version: "9.9.9" };
      const after = await modern(
        tap.url,
        list.method,
        {},
        {
          capabilities: { sampling: {}, elicitation: {}, roots: {} },
          meta: { "io.modelcontextprotocol/clientInfo": clientInfo },
          headers: { "user-agent": "another" },
        },
      );
      expect(resultOf(after)).toEqual(before);
    }
  });

  test("do not depend on another session or on calls of their own session", async () => {
    const [used, fresh] = [await LegacyClient.open(tap.url), await LegacyClient.open(tap.url)];
    await readAnswer(used.call("echo", { text: "so" }));
    await readAnswer(used.request("logging/setLevel", { level: "debug" }));
    for (const list of LISTS) expect(await page(used, list)).toEqual(await page(fresh, list));
  });
});

describe.each(ALL_VERSIONS)("list entries in %s", (version) => {
  afterEach(closePeers);

  const hasTitle = version >= "2025-06-18";
  const own = { "com.example/rank": 1, "com.example.mcp/x": { deep: [true] } };
  const meta = hasTitle ? { _meta: own } : {};
  const title = hasTitle ? { title: "A title" } : {};

  async function firstOf(method: string, member: string): Promise<Json> {
    const server = new McpServer({ name: "entries", version: "1.0.0" });
    const common = { title: "A title", description: "What it does", _meta: own } as const;
    const annotations = { title: "Hint title", readOnlyHint: true, destructiveHint: false, openWorldHint: false };
    const input = jsonSchema({ type: "object", properties: { a: { type: "string", description: "An a" } } });
    server.tool("t", { ...common, annotations, input }, () => "");
    server.prompt(
      "p",
      { ...common, arguments: [{ name: "n", title: "N", description: "An n", required: true }] },
      () => "",
    );
    const about = { audience: ["user"], priority: 0.5, lastModified: "2026-01-01T00:00:00Z" } as const;
    server.resource(
      "test://r",
      { ...common, name: "r", mimeType: "text/plain", size: 3, annotations: about },
      () => "",
    );
    server.resourceTemplate(
      "test://{x}",
      { ...common, name: "x", mimeType: "text/plain", annotations: about },
      () => "",
    );
    const peer = await openPeer(server, version);
    const [first] = resultOfPeer(await peer.request(method))[member] as Json[];
    return first ?? {};
  }

  test("contain title, annotations, _meta and the descriptions of properties for a tool", async () => {
    const annotations = { title: "Hint title", readOnlyHint: true, destructiveHint: false, openWorldHint: false };
    const tool = await firstOf("tools/list", "tools");
    expect(tool).toMatchObject({
      name: "t",
      description: "What it does",
      inputSchema: { type: "object", properties: { a: { type: "string", description: "An a" } } },
    });
    expect(tool).toMatchObject({ ...title, ...meta });
    expect(tool.annotations).toEqual(version === "2024-11-05" ? undefined : annotations);
    expect([Object.hasOwn(tool, "title"), Object.hasOwn(tool, "_meta")]).toEqual([hasTitle, hasTitle]);
  });

  test("contain the arguments for a prompt", async () => {
    const argument = { name: "n", description: "An n", required: true, ...(hasTitle ? { title: "N" } : {}) };
    expect(await firstOf("prompts/list", "prompts")).toEqual({
      name: "p",
      description: "What it does",
      arguments: [argument],
      ...title,
      ...meta,
    });
  });

  const lastModified = version >= "2025-06-18" ? { lastModified: "2026-01-01T00:00:00Z" } : {};
  const annotations = { audience: ["user"], priority: 0.5, ...lastModified };

  test("contain all members for a resource", async () => {
    const { size, ...resource } = await firstOf("resources/list", "resources");
    expect(resource).toEqual({
      uri: "test://r",
      name: "r",
      description: "What it does",
      mimeType: "text/plain",
      annotations,
      ...title,
      ...meta,
    });
    // The oracle checks whether 2024-11-05 may have it; newer versions must.
    if (hasTitle) expect(size).toBe(3);
  });

  test("contain all members for a template, in a separate list", async () => {
    expect(await firstOf("resources/templates/list", "resourceTemplates")).toEqual({
      uriTemplate: "test://{x}",
      name: "x",
      description: "What it does",
      mimeType: "text/plain",
      annotations,
      ...title,
      ...meta,
    });
  });
});
