import { afterEach, describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, errorOf, type Json, openPeer, type Peer, resultOf } from "./peer.ts";

afterEach(closePeers);

/** The four lists: method, member, key of an entry, and how to define one more entry. */
const LISTS = [
  {
    method: "tools/list",
    member: "tools",
    key: "name",
    add: (server: McpServer, n: string) => server.tool(`t${n}`, {}, () => n),
  },
  {
    method: "prompts/list",
    member: "prompts",
    key: "name",
    add: (server: McpServer, n: string) => server.prompt(`p${n}`, {}, () => n),
  },
  {
    method: "resources/list",
    member: "resources",
    key: "uri",
    add: (server: McpServer, n: string) => server.resource(`r:${n}`, {}, () => n),
  },
  {
    method: "resources/templates/list",
    member: "resourceTemplates",
    key: "uriTemplate",
    add: (server: McpServer, n: string) => server.resourceTemplate(`x${n}:{v}`, {}, () => n),
  },
] as const;

type List = (typeof LISTS)[number];

function newServer(count: number, pageSize?: number): McpServer {
  const server = new McpServer({ name: "lists", version: "1.0.0", ...(pageSize === undefined ? {} : { pageSize }) });
  for (let n = 0; n < count; n++) for (const list of LISTS) list.add(server, String(n));
  return server;
}

async function page(peer: Peer, list: List, cursor?: unknown) {
  const result = resultOf(await peer.request(list.method, cursor === undefined ? {} : { cursor }));
  const keys = (result[list.member] as Json[]).map((entry) => entry[list.key] as string);
  return { keys, nextCursor: result.nextCursor, hasCursor: Object.hasOwn(result, "nextCursor") };
}

/** Fetches every page by following the cursors. */
async function pages(peer: Peer, list: List): Promise<string[][]> {
  const all: string[][] = [];
  let cursor: unknown;
  do {
    const { keys, nextCursor } = await page(peer, list, cursor);
    all.push(keys);
    cursor = nextCursor;
  } while (cursor !== undefined);
  return all;
}

describe.each(ALL_VERSIONS)("lists in %s", (version) => {
  describe.each(LISTS)("$method", (list) => {
    test("returns everything at once without nextCursor if there is no pageSize", async () => {
      const { keys, hasCursor } = await page(await openPeer(newServer(120), version), list);
      expect([keys.length, hasCursor]).toEqual([120, false]);
    });

    test("returns at most pageSize entries per page, and all entries in order", async () => {
      const whole = (await page(await openPeer(newServer(7), version), list)).keys;
      const all = await pages(await openPeer(newServer(7, 3), version), list);
      expect(all.map(({ length }) => length)).toEqual([3, 3, 1]);
      expect(all.flat()).toEqual(whole);
    });

    test.each([1, 2, 4])("returns no empty last page for an exact multiple of %i", async (pageSize) => {
      const all = await pages(await openPeer(newServer(4, pageSize), version), list);
      expect(all.map(({ length }) => length)).toEqual(Array.from({ length: 4 / pageSize }, () => pageSize));
    });

    test("rejects a cursor that is garbage, empty, negative or out of range with -32602", async () => {
      const peer = await openPeer(newServer(4, 2), version);
      for (const cursor of ["garbage", "", "-1", "99999", "%", btoa("99"), btoa('["tools/list","none"]')]) {
        const error = errorOf(await peer.request(list.method, { cursor }));
        expect([cursor, error.code]).toEqual([cursor, -32602]);
      }
      for (const cursor of [0, -1, null, {}]) {
        const error = errorOf(await peer.request(list.method, { cursor }, undefined, { bad: true }));
        expect([cursor, error.code]).toEqual([cursor, -32602]);
      }
    });

    test("rejects a cursor of another list with -32602", async () => {
      const peer = await openPeer(newServer(4, 2), version);
      const { nextCursor } = await page(peer, list);
      for (const other of LISTS.filter(({ method }) => method !== list.method)) {
        expect(errorOf(await peer.request(other.method, { cursor: nextCursor })).code).toBe(-32602);
      }
    });

    test("accepts a cursor on another instance of the server", async () => {
      const { nextCursor } = await page(await openPeer(newServer(4, 2), version), list);
      const elsewhere = await openPeer(newServer(4, 2), version);
      const whole = (await page(await openPeer(newServer(4), version), list)).keys;
      expect((await page(elsewhere, list, nextCursor)).keys).toEqual(whole.slice(2));
    });

    test("repeats and omits no entry when an entry is added between pages", async () => {
      const server = newServer(4, 2);
      const peer = await openPeer(server, version);
      const first = await page(peer, list);
      list.add(server, "new");
      const second = await page(peer, list, first.nextCursor);
      const third = await page(peer, list, second.nextCursor);
      const seen = [first, second, third].flatMap(({ keys }) => keys);
      const whole = (await page(await openPeer(newServer(4), version), list)).keys;
      expect(seen.slice(0, 4)).toEqual(whole);
      expect([seen.length, third.hasCursor]).toEqual([5, false]);
    });
  });

  test("resources of a provider are paged together with the other resources", async () => {
    const server = newServer(1, 2).resourceProvider({
      list: () => ["a:1", "a:2", "a:3"].map((uri) => ({ uri })),
      read: () => "x",
    });
    expect(await pages(await openPeer(server, version), LISTS[2])).toEqual([
      ["r:0", "a:1"],
      ["a:2", "a:3"],
    ]);
  });
});

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("a pageSize of %d throws when defined", (pageSize) => {
  expect(() => new McpServer({ name: "a", version: "1", pageSize })).toThrow(/pageSize/);
});
