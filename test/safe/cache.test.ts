/** Caches of resources and prompts, with clients in memory. */
import * as fc from "fast-check";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { inputRequired, McpServer, type Principal, type ReadReturn, rootsQuestion } from "../../src/core/index.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { type CacheOptions, createCache } from "../../src/safe/index.ts";

const URI = "notes://today";
let runs = 0;
beforeEach(() => {
  runs = 0;
  vi.useFakeTimers({ toFake: ["Date"] });
  return () => vi.useRealTimers();
});

/** A server whose reader and prompt count their runs. */
function serve(options: CacheOptions, returned: (run: number) => ReadReturn = (run) => `run ${run}`) {
  const cache = createCache(options);
  const server = new McpServer({ name: "cached", version: "1.0.0" });
  server.resource(
    URI,
    { mimeType: "text/plain" },
    cache.resource(() => returned(++runs)),
  );
  server.resourceTemplate(
    "notes://by-day/{day}",
    {},
    cache.template((_, { day }) => `${day} run ${++runs}`),
  );
  server.prompt(
    "plan",
    { arguments: [{ name: "day" }] },
    cache.prompt("plan", ({ day }) => `${day} run ${++runs}`),
  );
  const who = (subject: string | undefined, scopes: readonly string[]): Principal | "anonymous" =>
    subject === undefined ? "anonymous" : { issuer: "https://issuer.example", subject, scopes };
  const ask = async (
    method: string,
    params: Record<string, unknown>,
    subject?: string,
    scopes: readonly string[] = [],
  ) => {
    const handle = createHttpHandler(server, { auth: () => who(subject, scopes), onError: () => undefined });
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": { roots: {} },
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } });
    const headers = {
      "Content-Type": "application/json",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": method,
      "Mcp-Name": String(params.uri ?? params.name),
    };
    const response = await handle(new Request("http://localhost/mcp", { method: "POST", headers, body }), {});
    const { result } = (await response.json()) as { result: Record<string, unknown> };
    return result;
  };
  const read = (subject?: string, scopes?: readonly string[], uri = URI) =>
    ask("resources/read", { uri }, subject, scopes);
  const textOf = async (result: Promise<Record<string, unknown>>) => {
    const { contents } = (await result) as { contents: { text: string }[] };
    return contents[0]?.text;
  };
  return { cache, ask, read, textOf };
}

describe("a resource with a cache", () => {
  test("is read once, and the hint contains how long the result remains valid", async () => {
    const { read } = serve({ ttlMs: 60_000 });
    const first = await read("ada");
    expect(first).toMatchObject({
      contents: [{ uri: URI, mimeType: "text/plain", text: "run 1" }],
      ttlMs: 60_000,
      cacheScope: "private",
    });
    vi.advanceTimersByTime(20_000);
    expect(await read("ada")).toMatchObject({ contents: [{ text: "run 1" }], ttlMs: 40_000, cacheScope: "private" });
    vi.advanceTimersByTime(40_000);
    expect(await read("ada")).toMatchObject({ contents: [{ text: "run 2" }], ttlMs: 60_000 });
  });

  test("a private result is never shared: not with another principal, other scopes, or anonymous callers", async () => {
    const { read, textOf } = serve({ ttlMs: 60_000 });
    expect(await textOf(read("ada", ["a", "b"]))).toBe("run 1");
    expect(await textOf(read("ada", ["b", "a"]))).toBe("run 1");
    expect(await textOf(read("bob", ["a", "b"]))).toBe("run 2");
    expect(await textOf(read("ada", ["a"]))).toBe("run 3");
    expect(await textOf(read())).toBe("run 4");
    expect(await textOf(read())).toBe("run 5");
    expect(await textOf(read("ada", ["a", "b"]))).toBe("run 1");
  });

  test("returns a private result again only to the same caller, for all subjects", async () => {
    const subject = fc.oneof(
      fc.constantFrom('a","b', "a", "b", '["a"]', "null", "a,b", "\\"),
      fc.string({ minLength: 1 }),
    );
    const scopes = fc.array(fc.constantFrom("a", "b", "a b", 'a","b'), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(subject, scopes, subject, scopes, async (one, ofOne, other, ofOther) => {
        const { read, textOf } = serve({ ttlMs: 60_000 });
        const isSame = one === other && JSON.stringify([...ofOne].sort()) === JSON.stringify([...ofOther].sort());
        const [first, second] = [await textOf(read(one, ofOne)), await textOf(read(other, ofOther))];
        expect(first === second).toBe(isSame);
      }),
      { numRuns: 200 },
    );
  });

  test("a public result is shared with all callers", async () => {
    const { read } = serve({ ttlMs: 60_000, cacheScope: "public" });
    await read("ada");
    expect(await read("bob")).toMatchObject({ contents: [{ text: "run 1" }], cacheScope: "public" });
    expect(await read()).toMatchObject({ contents: [{ text: "run 1" }] });
  });

  test("the result of the option key separates results", async () => {
    let tenant = "a";
    const { read, textOf } = serve({ ttlMs: 60_000, cacheScope: "public", key: () => tenant });
    expect(await textOf(read())).toBe("run 1");
    tenant = "b";
    expect(await textOf(read())).toBe("run 2");
  });

  test("each URI of a template and each argument of a prompt has its own result", async () => {
    const { ask, textOf } = serve({ ttlMs: 60_000, cacheScope: "public" });
    const day = (name: string) => textOf(ask("resources/read", { uri: `notes://by-day/${name}` }));
    expect([await day("mon"), await day("tue"), await day("mon")]).toEqual(["mon run 1", "tue run 2", "mon run 1"]);
    const plan = async (name: string) => {
      const { messages } = (await ask("prompts/get", { name: "plan", arguments: { day: name } })) as {
        messages: { content: { text: string } }[];
      };
      return messages[0]?.content.text;
    };
    expect([await plan("mon"), await plan("tue"), await plan("mon")]).toEqual(["mon run 3", "tue run 4", "mon run 3"]);
  });

  test("delete and clear remove results", async () => {
    const { cache, read, textOf } = serve({ ttlMs: 60_000 });
    const all = async () => [
      await textOf(read("ada")),
      await textOf(read("bob")),
      await textOf(read("ada", [], "notes://by-day/x")),
    ];
    expect(await all()).toEqual(["run 1", "run 2", "x run 3"]);
    cache.delete(URI);
    expect(await all()).toEqual(["run 4", "run 5", "x run 3"]);
    cache.clear();
    expect(await all()).toEqual(["run 6", "run 7", "x run 8"]);
    // Whatever the spelling.
    cache.delete("NOTES://toda%79");
    expect(await all()).toEqual(["run 9", "run 10", "x run 8"]);
  });

  test("deletePrompt removes the results of one prompt", async () => {
    const { cache, ask } = serve({ ttlMs: 60_000, cacheScope: "public" });
    const plan = async () => JSON.stringify(await ask("prompts/get", { name: "plan", arguments: {} }));
    const first = await plan();
    expect(await plan()).toBe(first);
    cache.deletePrompt("plan");
    expect(await plan()).not.toBe(first);
  });

  test("a result that was being read during a deletion is not stored", async () => {
    const cache = createCache({ ttlMs: 60_000, cacheScope: "public" });
    const { promise, resolve } = Promise.withResolvers<string>();
    let count = 0;
    const read = cache.resource(() => (++count === 1 ? promise : "new"));
    const ctx = { inputResponses: {} } as never;
    const first = read(URI, ctx);
    cache.delete(URI);
    resolve("old");
    expect(await first).toMatchObject({ contents: [{ text: "old" }] });
    expect(await read(URI, ctx)).toMatchObject({ contents: [{ text: "new" }] });
  });

  test.each<[string, (run: number) => ReadReturn]>([
    ["a missing resource", () => undefined],
    ["a question", () => inputRequired({ roots: rootsQuestion() })],
    [
      "an exception",
      () => {
        throw new Error("failed");
      },
    ],
    [
      "a result that the reader keeps from others",
      (run) => ({ contents: [{ text: `${run}` }], cacheScope: "private" }),
    ],
    ["a result that the reader makes valid for no time", (run) => ({ contents: [{ text: `${run}` }], ttlMs: 0 })],
  ])("%s is not cached", async (_what, returned) => {
    const { read } = serve({ ttlMs: 60_000, cacheScope: "public" }, returned);
    await read("ada");
    await read("ada");
    expect(runs).toBe(2);
  });

  test("a hint of the reader shortens the lifetime and is sent", async () => {
    const { read } = serve({ ttlMs: 60_000 }, (run) => ({ contents: [{ text: `${run}` }], ttlMs: 5_000 }));
    expect(await read("ada")).toMatchObject({ ttlMs: 5_000, cacheScope: "private" });
    vi.advanceTimersByTime(5_000);
    expect(await read("ada")).toMatchObject({ contents: [{ text: "2" }] });
  });

  test("a private result of the reader is sent as private although the cache is public", async () => {
    const { read } = serve({ ttlMs: 60_000, cacheScope: "public" }, () => ({
      contents: [{ text: "a" }],
      cacheScope: "private",
    }));
    expect(await read("ada")).toMatchObject({ cacheScope: "private", ttlMs: 0 });
  });

  test("bytes and several contents are cached, and later changes of the handler's object have no effect", async () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const { read } = serve({ ttlMs: 60_000 }, () => [{ blob: bytes }, { uri: "notes://b", text: "b" }]);
    const first = await read("ada");
    bytes[0] = 9;
    expect((await read("ada")).contents).toEqual(first.contents);
    expect(runs).toBe(1);
  });

  test("the number of results is limited, and the least recently used result is evicted first", async () => {
    const { read, textOf } = serve({ ttlMs: 60_000, entriesMax: 2 });
    for (const subject of ["ada", "bob", "ada", "eve"]) await read(subject);
    expect(runs).toBe(3);
    expect(await textOf(read("ada"))).toBe("run 1");
    expect(await textOf(read("bob"))).toBe("run 4");
  });

  test("the bytes of the results are limited", async () => {
    const { read } = serve({ ttlMs: 60_000, bytesMax: 10_000 }, () => "a".repeat(3_000));
    for (const subject of ["ada", "bob", "ada"]) await read(subject);
    expect(runs).toBe(3);
    const large = serve({ ttlMs: 60_000, bytesMax: 10_000 }, () => new Uint8Array(10_001));
    await large.read("ada");
    await large.read("ada");
    expect(runs).toBe(5);
  });

  test("a result that is too large does not displace other results", async () => {
    const { read, textOf } = serve({ ttlMs: 60_000, bytesMax: 10_000 }, (run) =>
      run === 1 ? "small" : "a".repeat(10_000),
    );
    await read("ada");
    await read("bob");
    expect(await textOf(read("ada"))).toBe("small");
  });

  test("a misspelt option throws", () => {
    expect(() => createCache({ ttl: 5 } as never)).toThrow('Did you mean "ttlMs"?');
  });
});
