/** Results are kept for the time that the server names. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type ClientCacheOptions, cache } from "../../src/client/cache/cache.ts";
import { type CacheStore, memoryCache } from "../../src/client/cache/store.ts";
import { type Client, type ClientEvent, type ClientOptions, connect } from "../../src/client/index.ts";
import { until } from "../http/wire.ts";
import { Lab, ME, PLACES } from "./places.ts";
import { discovered, error, type Faults, initialized, result, type Scripted, scripted } from "./scripted.ts";

let lab: Lab;
const clients: Client[] = [];
const servers: Scripted[] = [];
beforeAll(async () => {
  lab = await Lab.start();
});
beforeEach(() => {
  // Only the clock of the cache stands still; timers run.
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(async () => {
  vi.useRealTimers();
  for (const client of clients.splice(0)) await client.close();
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
  await lab.leave();
});
afterAll(() => lab?.[Symbol.asyncDispose]());

type Hints = Record<string, unknown>;
const PUBLIC = { ttlMs: 60_000, cacheScope: "public" };
const PRIVATE = { ttlMs: 60_000, cacheScope: "private" };
const CAPABILITIES = { tools: { listChanged: true }, resources: { listChanged: true }, prompts: {} };

/** What each result holds beside its number and its hints. */
const RESULTS: Readonly<Record<string, object>> = {
  "tools/list": { tools: [] },
  "prompts/list": { prompts: [] },
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [] },
  "resources/read": { contents: [{ uri: "test://x", text: "1" }] },
  "prompts/get": { messages: [] },
};

/** The metadata with the number of a response. */
const numbered = (number: number) => ({ _meta: { "example.com/number": number } });

/** A modern server that counts its responses, and adds hints to each. */
async function serve(hints: Hints | ((method: string) => Hints | Promise<Hints>), faults?: Faults) {
  let [answers, discoveries] = [0, 0];
  const server = await scripted(async ({ message }, response) => {
    const { id, method = "", params = {} } = message ?? {};
    if (method === "server/discover") {
      discoveries += 1;
      return result(response, id, { ...discovered(undefined, CAPABILITIES), ...numbered(discoveries), ...PUBLIC });
    }
    if (method === "tools/call" || params.name === "unknown") return error(response, 200, id, -32602);
    answers += 1;
    const number = numbered(answers);
    const isHinted = method !== "prompts/get" && method !== "example/any";
    const given = typeof hints === "function" ? await hints(method) : hints;
    return result(response, id, { resultType: "complete", ...RESULTS[method], ...number, ...(isHinted ? given : {}) });
  }, faults);
  servers.push(server);
  return server;
}

async function join(
  server: Scripted,
  options: ClientCacheOptions = {},
  more: Partial<ClientOptions> = {},
): Promise<Client> {
  const client = await connect(server.url, { ...ME, use: [cache(options)], ...more });
  clients.push(client);
  return client;
}

/** The number of the response that a request got. */
async function numberOf(
  answer: Promise<{ _meta?: Record<string, unknown> } | Record<string, unknown>>,
): Promise<unknown> {
  const { _meta } = await answer;
  return (_meta as Record<string, unknown> | undefined)?.["example.com/number"];
}

describe.each(PLACES)("a client with a cache in $name", (place) => {
  test("gets the same lists and resources as without a cache", { tags: "long" }, async () => {
    const { client } = await lab.visit(place, { use: [cache({ listen: true })] });
    const plain = await lab.visit(place);
    for (let times = 0; times < 2; times += 1) {
      expect(await client.tools().all()).toEqual(await plain.client.tools().all());
      expect(await client.resources().all()).toEqual(await plain.client.resources().all());
      expect((await client.readResource("test://notes/1")).contents).toMatchObject([{ text: "This is note 1." }]);
    }
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
  });
});

describe("a cached result", () => {
  const requests = [
    ["tools/list", undefined],
    ["prompts/list", undefined],
    ["resources/list", undefined],
    ["resources/templates/list", undefined],
    ["resources/read", { uri: "test://x" }],
    ["server/discover", undefined],
  ] as const;
  test.each(requests)("is used for %s until its ttlMs has passed", async (method, params) => {
    const client = await join(await serve(PUBLIC));
    const first = Number(await numberOf(client.request(method, params)));
    expect(await numberOf(client.request(method, params))).toBe(first);
    vi.setSystemTime(Date.now() + 59_999);
    expect(await numberOf(client.request(method, params))).toBe(first);
    vi.setSystemTime(Date.now() + 1);
    expect(await numberOf(client.request(method, params))).toBe(first + 1);
  });

  test("belongs to its page and its resource", async () => {
    const client = await join(await serve(PUBLIC));
    expect(await numberOf(client.listTools())).toBe(1);
    expect(await numberOf(client.listTools({ cursor: "b" }))).toBe(2);
    expect(await numberOf(client.readResource("test://a"))).toBe(3);
    expect(await numberOf(client.readResource("test://b"))).toBe(4);
    expect(await numberOf(client.listTools())).toBe(1);
    expect(await numberOf(client.listTools({ cursor: "b" }))).toBe(2);
    expect(await numberOf(client.readResource("test://a"))).toBe(3);
  });

  test("is returned as a copy, which the caller can change", async () => {
    const client = await join(await serve(PUBLIC));
    for (let times = 0; times < 2; times += 1) {
      const { contents } = (await client.readResource("test://a")) as unknown as { contents: { text?: string }[] };
      expect(contents[0]?.text).toBe("1");
      (contents[0] as { text: string }).text = "changed";
    }
  });

  const useless = [{ ttlMs: 0, cacheScope: "public" }, { ttlMs: -5 }, { ttlMs: "60000" }, { ttlMs: null }, {}];
  test.each(useless)("is not stored for %j, which is not a positive ttlMs", async (hints) => {
    const client = await join(
      await serve(hints, hints.ttlMs === 0 ? undefined : { text: /ttlMs|cacheScope/, schema: "2026-07-28" }),
    );
    expect(await numberOf(client.listTools())).toBe(1);
    expect(await numberOf(client.listTools())).toBe(2);
  });

  test("is not used after close(), so that requests reject with closed like any other", async () => {
    const client = await join(await serve(PUBLIC));
    expect(await numberOf(client.listTools())).toBe(1);
    await client.close();
    const closed = { code: "closed", message: "tools/list was not sent. The client is closed.", mayHaveRun: false };
    await expect(client.listTools()).rejects.toMatchObject(closed);
    await expect(client.request("tools/list")).rejects.toMatchObject(closed);
  });

  test("is cached for ttlMaxMs at most", async () => {
    const client = await join(await serve({ ttlMs: 1e15, cacheScope: "public" }), { ttlMaxMs: 5_000 });
    expect(await numberOf(client.listTools())).toBe(1);
    vi.setSystemTime(Date.now() + 4_999);
    expect(await numberOf(client.listTools())).toBe(1);
    vi.setSystemTime(Date.now() + 1);
    expect(await numberOf(client.listTools())).toBe(2);
  });

  test("is read again on request, and then cached again", async () => {
    const client = await join(await serve(PUBLIC));
    expect(await numberOf(client.listTools())).toBe(1);
    expect(await numberOf(client.listTools({ fresh: true }))).toBe(2);
    expect(await numberOf(client.listTools())).toBe(2);
  });

  test("is not used for a request with its own metadata, except trace context", async () => {
    const client = await join(await serve(PUBLIC));
    expect(await numberOf(client.listTools())).toBe(1);
    expect(await numberOf(client.listTools({ meta: { traceparent: "00-1-2-00" } }))).toBe(1);
    expect(await numberOf(client.listTools({ meta: { "example.com/tenant": "b" } }))).toBe(2);
    expect(await numberOf(client.listTools())).toBe(1);
  });

  test("is not cached for calls and other requests", async () => {
    const client = await join(await serve(PUBLIC));
    expect(await numberOf(client.getPrompt("a"))).toBe(1);
    expect(await numberOf(client.getPrompt("a"))).toBe(2);
    expect(await numberOf(client.request("example/any"))).toBe(3);
    expect(await numberOf(client.request("example/any"))).toBe(4);
  });

  test("is not cached if it depends on answers to questions", async () => {
    let reads = 0;
    await using server = await scripted(({ message }, response) => {
      const { id, method, params } = message ?? {};
      if (method === "server/discover") return result(response, id, discovered(undefined, { resources: {} }));
      if (params?.requestState === undefined)
        return result(response, id, { resultType: "input_required", requestState: "s" });
      reads += 1;
      return result(response, id, { resultType: "complete", contents: [], ...numbered(reads), ...PUBLIC });
    });
    const client = await join(server);
    expect(await numberOf(client.readResource("test://a"))).toBe(1);
    expect(await numberOf(client.readResource("test://a"))).toBe(2);
  });
});

describe("results of a legacy server", () => {
  async function legacy() {
    let answers = 0;
    const server = await scripted(({ message }, response) => {
      const { id, method } = message ?? {};
      if (method === "initialize") return result(response, id, initialized("2025-11-25"));
      if (method !== "tools/list") return response.writeHead(method ? 202 : 405).end();
      answers += 1;
      return result(response, id, { tools: [], ...numbered(answers) });
    });
    servers.push(server);
    return server;
  }

  test("are not cached, because it sends no hints", async () => {
    const client = await join(await legacy(), {}, { protocolVersions: ["2025-11-25"] });
    expect(await numberOf(client.listTools())).toBe(1);
    expect(await numberOf(client.listTools())).toBe(2);
  });

  test("are read again after defaultTtlMs if the author sets it", async () => {
    const client = await join(await legacy(), { defaultTtlMs: 1_000 }, { protocolVersions: ["2025-11-25"] });
    expect(await numberOf(client.listTools())).toBe(1);
    expect(await numberOf(client.listTools())).toBe(1);
    vi.setSystemTime(Date.now() + 1_000);
    expect(await numberOf(client.listTools())).toBe(2);
  });
});

describe("a change of cached data", () => {
  /** Passes a notification to the cache of a client. */
  async function withNotices(hints: Parameters<typeof serve>[0], options: ClientCacheOptions = {}) {
    let notify: (method: string, params?: object) => void = () => undefined;
    const server = await serve(hints);
    const client = await join(server, options, {
      use: [
        (context) => {
          const hooks = cache(options)(context);
          notify = (method, params = {}) => hooks.onNotification?.(method, { ...params });
          return hooks;
        },
      ],
    });
    return { client, notify: (method: string, params?: object) => notify(method, params) };
  }

  test("makes the client read a changed list again, with all its pages, and no other list", async () => {
    const { client, notify } = await withNotices(PUBLIC);
    await client.listTools();
    await client.listTools({ cursor: "b" });
    await client.listResources();
    await client.listResourceTemplates();
    await client.listPrompts();
    await client.readResource("test://a");
    notify("notifications/tools/list_changed");
    expect(await numberOf(client.listTools({ cursor: "b" }))).toBe(7);
    expect(await numberOf(client.listTools())).toBe(8);
    expect(await numberOf(client.listResources())).toBe(3);
    notify("notifications/resources/list_changed");
    expect(await numberOf(client.listResources())).toBe(9);
    expect(await numberOf(client.listResourceTemplates())).toBe(10);
    expect(await numberOf(client.listPrompts())).toBe(5);
    expect(await numberOf(client.readResource("test://a"))).toBe(6);
  });

  test("makes the client read a changed resource again, and no other resource", async () => {
    const { client, notify } = await withNotices(PUBLIC);
    await client.readResource("test://a");
    await client.readResource("test://b");
    notify("notifications/resources/updated", { uri: "test://a" });
    expect(await numberOf(client.readResource("test://a"))).toBe(3);
    expect(await numberOf(client.readResource("test://b"))).toBe(2);
  });

  test("prevents storing a response that arrives after the report of the change", async () => {
    let arrive: () => void = () => undefined;
    const asked = Promise.withResolvers<void>();
    const { client, notify } = await withNotices(async () => {
      asked.resolve();
      await new Promise<void>((resolve) => {
        arrive = resolve;
      });
      return PUBLIC;
    });
    const first = numberOf(client.listTools());
    await asked.promise;
    notify("notifications/tools/list_changed");
    arrive();
    expect(await first).toBe(1);
    const second = numberOf(client.listTools());
    await vi.waitFor(() => expect(servers.at(-1)?.asked.filter((each) => each.endsWith("tools/list"))).toHaveLength(2));
    arrive();
    expect(await second).toBe(2);
  });

  test("causes an update by itself with listen: true", async () => {
    const { client } = await lab.http("/mcp", { use: [cache({ listen: true })] });
    const plain = await lab.http("/mcp");
    const heard: string[] = [];
    await lab.http("/mcp", {
      use: [cache({ listen: true }), () => ({ onNotification: (method) => heard.push(method) })],
    });
    await client.listTools();
    await until("the change arrives", async () => {
      await plain.client.callTool("change");
      return heard.includes("notifications/tools/list_changed");
    });
  });

  test("is assumed if the server rejects a name or a cursor as unknown", async () => {
    const client = await join(await serve(PUBLIC));
    await client.listTools();
    await expect(client.callTool("gone")).rejects.toMatchObject({ code: -32602 });
    expect(await numberOf(client.listTools())).toBe(2);
    await client.listPrompts();
    await expect(client.getPrompt("unknown")).rejects.toMatchObject({ code: -32602 });
    expect(await numberOf(client.listPrompts())).toBe(4);
  });
});

test("after the server has refused the headers of a call, the definitions of tools are read again", async () => {
  let header = "Old";
  await using server = await scripted(({ headers, message }, response) => {
    const { id, method } = message ?? {};
    if (method === "server/discover") return result(response, id, discovered());
    const inputSchema = { type: "object", properties: { region: { type: "string", "x-mcp-header": header } } };
    const tools = [{ name: "regional", inputSchema }];
    if (method === "tools/list") return result(response, id, { resultType: "complete", tools, ...PUBLIC });
    if (headers[`mcp-param-${header.toLowerCase()}`] === undefined) return error(response, 400, id, -32020);
    return result(response, id, { resultType: "complete", content: [{ type: "text", text: header }] });
  });
  const client = await join(server);
  await client.listTools();
  header = "New";
  expect(await client.callTool("regional", { region: "west" })).toMatchObject({ content: [{ text: "New" }] });
});

describe("a shared store of cached results", () => {
  const server = "https://example.com/mcp";

  test("returns public results to every principal, and private results only to their own principal", async () => {
    const store = memoryCache();
    let hints: Hints = PUBLIC;
    const scripted = await serve(() => hints);
    const ada = await join(scripted, { store, server, principal: "ada" });
    const bob = await join(scripted, { store, server, principal: () => "bob" });
    expect(await numberOf(ada.listTools())).toBe(1);
    expect(await numberOf(bob.listTools())).toBe(1);
    hints = PRIVATE;
    expect(await numberOf(ada.listResources())).toBe(2);
    expect(await numberOf(bob.listResources())).toBe(3);
    expect(await numberOf(ada.listResources())).toBe(2);
    const second = await join(scripted, { store, server, principal: async () => "ada" });
    expect(await numberOf(second.listResources())).toBe(2);
  });

  test("never contains private results of a client that names no principal", async () => {
    const store = memoryCache();
    const scripted = await serve({ ttlMs: 60_000 }, { text: /cacheScope/, schema: "2026-07-28" });
    const one = await join(scripted, { store, server });
    const two = await join(scripted, { store, server });
    expect(await numberOf(one.listTools())).toBe(1);
    expect(await numberOf(one.listTools())).toBe(1);
    expect(await numberOf(two.listTools())).toBe(2);
  });

  test("separates the results of different servers, and requires their names", async () => {
    const store = memoryCache();
    const scripted = await serve(PUBLIC);
    const one = await join(scripted, { store, server: "https://one.example/mcp" });
    const two = await join(scripted, { store, server: "https://two.example/mcp" });
    expect(await numberOf(one.listTools())).toBe(1);
    expect(await numberOf(two.listTools())).toBe(2);
    expect(() => cache({ store })).toThrow("a store needs the name of the server");
  });

  test("reports a failure of the store, and the client sends the request", async () => {
    const fail = () => {
      throw new Error("the disk is full");
    };
    const store: CacheStore = { get: fail, set: fail, delete: fail };
    const events: ClientEvent[] = [];
    const client = await join(await serve(PUBLIC), { store, server }, { onEvent: (event) => events.push(event) });
    expect(await numberOf(client.listTools())).toBe(1);
    expect(await numberOf(client.listTools())).toBe(2);
    expect(events).toContainEqual({ type: "warning", message: "The store of cache() failed: the disk is full" });
  });
});

describe("memoryStore()", () => {
  test("evicts the least recently used entry when it is full, and never stores more than charsMax", async () => {
    const store = memoryCache({ charsMax: 12 });
    await store.set("a", "12345", 1);
    await store.set("b", "12345", 1);
    expect(await store.get("a")).toBe("12345");
    await store.set("c", "12345", 1);
    expect(await Promise.all(["a", "b", "c"].map((key) => store.get(key)))).toEqual(["12345", undefined, "12345"]);
    await store.set("d", "123456789012", 1);
    expect(await store.get("d")).toBeUndefined();
    await store.delete("a");
    await store.set("c", "1", 1);
    await store.set("e", "1234567", 1);
    expect(await Promise.all(["c", "e"].map((key) => store.get(key)))).toEqual(["1", "1234567"]);
  });
});
