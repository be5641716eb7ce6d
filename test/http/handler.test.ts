/**
 * The endpoint as a plain function of a Request: requests that our clients never send, and responses that must not occur.
 */
import { describe, expect, test } from "vitest";
import {
  type AroundHook,
  elicitQuestion,
  type HandlerContext,
  inputRequired,
  McpError,
  McpServer,
  type QuestionError,
  type RequestEnd,
} from "../../src/core/index.ts";
import type { HttpOptions } from "../../src/http/endpoint-types.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import { newKeys } from "../../src/testing/index.ts";
import { initialize, isMembers, type Members, meta, requestOf, standardHeaders } from "./messages.ts";

const URL = "http://127.0.0.1/mcp";

function serve(server: McpServer, options: Partial<HttpOptions> = {}, env: unknown = {}) {
  const reports: unknown[] = [];
  const handle = createHttpHandler(server, {
    onError: (error) => {
      reports.push(error);
    },
    ...options,
  });
  const send = async (message: Members, headers: Record<string, string> = {}) => {
    const isModern = isMembers(message.params) && "_meta" in message.params;
    const standard = isModern ? (standardHeaders(message) as Record<string, string>) : {};
    const all = {
      "content-type": "application/json",
      ...standard,
      ...headers,
    };
    const response = await handle(
      new Request(URL, { method: "POST", headers: all, body: JSON.stringify(message) }),
      env,
    );
    const text = await response.text();
    const last = text.startsWith("{") ? text : (/data: (.*)\n\n$/.exec(text)?.[1] ?? "{}");
    return { status: response.status, text, message: JSON.parse(last) as Members, headers: response.headers };
  };
  return { send, reports };
}

const IDENTITY = { name: "handler", version: "1.0.0" };
const call = (name: string, args: Members = {}) =>
  requestOf("modern", "tools/call", { name, arguments: args, _meta: meta({ progressToken: 1 }) });
const region = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } } as const;

describe("allowedOrigins with schemes that URL does not support", () => {
  const server = new McpServer(IDENTITY);
  server.tool("plain", {}, () => "plain");
  const { send } = serve(server, { allowedOrigins: ["chrome-extension://good", "https://App.example.com"] });

  test.each([
    ["chrome-extension://good", 200],
    ["https://app.example.com", 200],
    ["chrome-extension://evil", 403],
    ["tauri://localhost", 403],
    ["null", 403],
    ["https://evil.example.com", 403],
  ])("serves or refuses %s with %i", async (origin, status) => {
    expect((await send(call("plain"), { origin })).status).toBe(status);
  });
});

test.each<[string, (ctx: HandlerContext) => Promise<unknown>]>([
  ["elicit", (ctx) => ctx.elicit("Who?", { type: "object", properties: {} })],
  ["elicitUrl", (ctx) => ctx.elicitUrl("Pay", "https://pay.example/")],
  ["sample", (ctx) => ctx.sample({ messages: [{ role: "user", content: { type: "text", text: "" } }], maxTokens: 1 })],
  ["listRoots", (ctx) => ctx.listRoots()],
])("without replay %s in the middle of a modern request rejects with an error that says what to do", async (_, ask) => {
  const server = new McpServer(IDENTITY);
  server.tool("ask", {}, (_args, ctx) =>
    ask(ctx).then(String, (error: QuestionError) => `${error.reason} ${error.message}`),
  );
  const { message } = await serve(server).send(call("ask"));
  const said = JSON.stringify(message);
  for (const part of ["unavailable", "replay() to the option use", "inputRequired"]) expect(said).toContain(part);
});

describe("values that cannot be represented in JSON", () => {
  test.each(["modern", "legacy"] as const)("make an author's error an internal error (%s)", async (era) => {
    const server = new McpServer(IDENTITY);
    const circle: Members & { self?: unknown } = {};
    (circle as { self: unknown }).self = circle;
    server.tool("big", {}, () => {
      throw new McpError(1, "x", { n: 1n });
    });
    server.tool("streaming", {}, (_, ctx) => {
      ctx.progress(1);
      throw new McpError(1, "x", circle);
    });
    const { send, reports } = serve(server);
    for (const name of ["big", "streaming"]) {
      const params = { name, arguments: {} };
      const message = era === "modern" ? call(name) : requestOf("legacy", "tools/call", params);
      expect((await send(message)).message).toMatchObject({ error: { code: -32603 } });
    }
    expect(reports).toHaveLength(2);
  });
});

describe("an argument that is mirrored into a header", () => {
  const server = new McpServer(IDENTITY);
  const count = { type: "object", properties: { count: { type: "integer", "x-mcp-header": "Count" } } } as const;
  server.tool("region", { input: jsonSchema(region) }, () => "served");
  server.tool("count", { input: jsonSchema(count) }, () => "served");
  const { send } = serve(server);

  test("is left to validation if no header can carry its type", async () => {
    const answer = await send(call("region", { region: { toString: 1 } }), { "mcp-param-region": "x" });
    expect(answer).toMatchObject({ status: 200, message: { result: { isError: true } } });
  });

  test.each([
    ["42", 42, 200],
    ["42.0", 42, 200],
    ["-7", -7, 200],
    ["0x2A", 42, 400],
    ["0b101010", 42, 400],
    [" ", 0, 400],
    ["9007199254740991.1", Number.MAX_SAFE_INTEGER, 400],
  ])("causes the right status: header %j with the value %i causes %i", async (header, value, status) => {
    expect((await send(call("count", { count: value }), { "mcp-param-count": header })).status).toBe(status);
  });
});

test("initialize runs the hooks over HTTP as well", async () => {
  const seen: string[] = [];
  const ends: RequestEnd[] = [];
  const server = new McpServer({
    ...IDENTITY,
    around: [
      async ({ method }, next) => {
        seen.push(method);
        return next();
      },
    ],
    onRequestEnd: (end) => {
      ends.push(end);
    },
  });
  expect((await serve(server).send(initialize())).message).toMatchObject({ result: { serverInfo: IDENTITY } });
  expect(seen).toEqual(["initialize"]);
  expect(ends).toMatchObject([{ method: "initialize", errorCode: undefined, client: { name: "ladder" } }]);
});

describe("the protocolVersions option", () => {
  test("a request without version is refused if its assumed version is not served, naming the served versions", async () => {
    const server = new McpServer({ ...IDENTITY, protocolVersions: ["2025-11-25", "2026-07-28"] });
    server.tool("plain", {}, () => "plain");
    const answer = await serve(server).send(requestOf("legacy", "tools/call", { name: "plain" }));
    expect(answer.status).toBe(400);
    expect(answer.text).toContain("2025-11-25");
  });

  test.each([{}, { "mcp-protocol-version": "2025-11-25" }])(
    "names its modern versions in the response to initialize if it has no others (%j)",
    async (headers) => {
      const server = new McpServer({ ...IDENTITY, protocolVersions: ["2026-07-28"] });
      const answer = await serve(server).send(initialize(), headers);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.text).toContain("2026-07-28");
    },
  );
});

describe("asking by returning", () => {
  const WHO = elicitQuestion("Who?", { type: "object", properties: { name: { type: "string" } } });
  const able = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
  const MCP_KEYS = "A".repeat(43);

  test("lets a resource reader ask, and read with the answer and its state", { tags: "long" }, async () => {
    const server = new McpServer(IDENTITY);
    server.resource("test://private", {}, (_, ctx) => {
      if (ctx.inputResponses.who === undefined) return inputRequired({ who: WHO }, "kept".repeat(50_000));
      return `${ctx.requestState?.length} ${JSON.stringify(ctx.inputResponses.who)}`;
    });
    const handle = createHttpHandler(server, { onError: () => undefined });
    const read = async (more: Members) => {
      const message = requestOf("modern", "resources/read", { uri: "test://private", ...more, _meta: meta(able) });
      const headers = { "content-type": "application/json", ...(standardHeaders(message) as Record<string, string>) };
      const body = JSON.stringify(message);
      const response = await handle(new Request(URL, { method: "POST", headers, body }), { MCP_KEYS });
      return (await response.json()) as { result?: Members; error?: Members };
    };
    const { result } = await read({});
    expect(result).toMatchObject({ resultType: "input_required", inputRequests: { who: {} } });
    expect(result).not.toHaveProperty("ttlMs");
    const inputResponses = { who: { action: "decline" } };
    const again = await read({ requestState: result?.requestState, inputResponses });
    expect(again.result).toMatchObject({ contents: [{ text: '200000 {"action":"decline"}' }] });
    const garbage = await read({ requestState: "A".repeat(1_000_000), inputResponses });
    expect(garbage.error).toMatchObject({ code: -32602 });
    for (const wrong of ["who", [], null]) {
      expect((await read({ inputResponses: wrong })).error).toMatchObject({ code: -32602 });
    }
  });

  test("requires a question or a state", () => {
    expect(() => inputRequired({})).toThrow(/neither a question nor a state/);
    expect(inputRequired({}, "state").requestState).toBe("state");
  });

  test("is limited to tools, prompts and resources: a custom method cannot ask", async () => {
    const server = new McpServer(IDENTITY);
    server.method("example.com/ask", () => inputRequired({ who: WHO }));
    const { send, reports } = serve(server);
    const answer = await send(requestOf("modern", "example.com/ask", { _meta: meta(able) }));
    expect(answer.message).toMatchObject({ error: { code: -32603 } });
    expect(reports).toMatchObject([{ code: "result-invalid" }]);
  });
});

test("a resource with an invalid URI is refused when it is defined", () => {
  const server = new McpServer(IDENTITY);
  for (const uri of ["test://größe", "test://a b", "no-scheme", "test://<a>"]) {
    expect(() => server.resource(uri, {}, () => "never")).toThrow(/is not a URI/);
  }
  server.resource("test://gr%C3%B6%C3%9Fe", {}, () => "fine");
});

test("a provider that repeats a defined resource, or lists one twice, does not break cursors", async () => {
  const server = new McpServer({ ...IDENTITY, pageSize: 1 });
  server.resource("test://a", {}, () => "a");
  const listed = ["test://a", "test://b", "test://b", "test://c"].map((uri) => ({ uri, name: uri }));
  server.resourceProvider({ list: () => listed, read: () => "provided" });
  const { send } = serve(server);
  const uris: unknown[] = [];
  let cursor: unknown;
  do {
    const params = { ...(cursor === undefined ? {} : { cursor }), _meta: meta() };
    const { result } = (await send(requestOf("modern", "resources/list", params))).message as { result: Members };
    uris.push(...(result.resources as { uri: string }[]).map(({ uri }) => uri));
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  expect(uris).toEqual(["test://a", "test://b", "test://c"]);
});

test("a modern client that accepts only JSON and disconnects during its call has the call cancelled", async () => {
  const server = new McpServer(IDENTITY);
  const began = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  server.tool("long", {}, async (_, { signal }) => {
    signal.addEventListener("abort", () => ended.resolve("cancelled"));
    began.resolve();
    return ended.promise;
  });
  const leave = new AbortController();
  const message = call("long");
  const headers = { ...standardHeaders(message), "content-type": "application/json", accept: "application/json" };
  const handle = createHttpHandler(server, { onError: () => undefined });
  const body = JSON.stringify(message);
  void handle(new Request(URL, { method: "POST", headers, body, signal: leave.signal }), {});
  await began.promise;
  leave.abort();
  expect(await ended.promise).toBe("cancelled");
});

describe("a legacy endpoint without sessions", () => {
  const { send } = serve(new McpServer(IDENTITY).tool("plain", {}, () => "plain"));
  const accept = "application/json, text/event-stream";

  test("returns an error with status 200 for an unknown method, as the older versions do", async () => {
    const answer = await send(requestOf("legacy", "no/such"), { accept });
    expect(answer).toMatchObject({ status: 200, message: { error: { code: -32601 } } });
  });

  test("returns an error for the invalid member of a batch whose other members are notifications", async () => {
    const batch = [
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 5 },
    ];
    const answer = await send(batch as unknown as Members, { accept, "mcp-protocol-version": "2025-03-26" });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject([{ id: 5, error: { code: -32600 } }]);
  });

  test.each(["2025-06-18", "2025-11-25"])("refuses a batch with the version header %s", async (version) => {
    const batch = [requestOf("legacy", "ping")] as unknown as Members;
    const answer = await send(batch, { accept, "mcp-protocol-version": version });
    expect(answer).toMatchObject({ status: 400, message: { error: { data: { reason: "batch" } } } });
  });
});

describe("a requestState sealed with the same keys", () => {
  const env = { MCP_KEYS: newKeys() };
  const open = (name: string, issuer: string) => {
    const server = new McpServer({ name, version: "1.0.0" }).tool("ask", {}, (_, ctx) => {
      return ctx.requestState === "asked" ? "done" : inputRequired({}, "asked");
    });
    return serve(server, { auth: () => ({ issuer, subject: "ada" }) }, env).send;
  };
  const ask = (more: Members = {}) => requestOf("modern", "tools/call", { name: "ask", ...more });

  test.each([
    ["server", "another", "https://a.example"],
    ["issuer", "shop", "https://b.example"],
  ])("is refused when it is presented at another %s", async (_, name, issuer) => {
    const send = open("shop", "https://a.example");
    const { requestState } = (await send(ask())).message.result as { requestState: string };
    const refused = await open(name, issuer)(ask({ requestState }));
    expect(refused.message).toMatchObject({ error: { code: -32602, data: { field: "requestState" } } });
    expect((await send(ask({ requestState }))).message).toMatchObject({ result: { content: [{ text: "done" }] } });
  });
});

test("a page of an allowed origin can read the protocol's headers, and caches store responses for each origin", async () => {
  const { send } = serve(
    new McpServer(IDENTITY).tool("plain", {}, () => "plain"),
    {
      allowedOrigins: ["https://app.example.com"],
    },
  );
  const { headers } = await send(call("plain"), { origin: "https://app.example.com" });
  for (const name of ["Mcp-Session-Id", "MCP-Protocol-Version", "WWW-Authenticate", "Retry-After"])
    expect(headers.get("access-control-expose-headers")).toContain(name);
  expect(headers.get("vary")).toContain("Origin");
});

test("an error of another copy of this package is sent as a protocol error", async () => {
  const copied = Object.assign(new Error("no seats"), { [Symbol.for("mcp-edge.error")]: "McpError", code: -31_999 });
  const { send, reports } = serve(new McpServer(IDENTITY).tool("plain", {}, () => Promise.reject(copied)));
  expect((await send(call("plain"))).message).toMatchObject({ error: { code: -31_999, message: "no seats" } });
  expect(reports).toEqual([]);
});

test("lists are private to their caller by default", async () => {
  const { send } = serve(new McpServer(IDENTITY).tool("plain", {}, () => "plain"));
  for (const method of ["tools/list", "server/discover"])
    expect((await send(requestOf("modern", method))).message).toMatchObject({ result: { cacheScope: "private" } });
});

test("a reader's own cache hint replaces the cache hint of the definition, and is sent only in the modern era", async () => {
  const server = new McpServer({ ...IDENTITY, cacheHints: { "resources/read": { ttlMs: 1, cacheScope: "public" } } });
  server.resource("a:own", { cache: { ttlMs: 2 } }, () => ({ contents: [{ text: "a" }], ttlMs: 3 }));
  server.resource("a:definition", { cache: { ttlMs: 2 } }, () => ({ contents: [{ text: "a" }] }));
  const { send } = serve(server);
  const read = async (era: "modern" | "legacy", uri: string) => {
    return (await send(requestOf(era, "resources/read", { uri }))).message as { result: object };
  };
  const { result } = await read("modern", "a:own");
  expect(result).toMatchObject({ contents: [{ uri: "a:own", text: "a" }], ttlMs: 3, cacheScope: "public" });
  expect((await read("modern", "a:definition")).result).toMatchObject({ ttlMs: 2, cacheScope: "public" });
  expect((await read("legacy", "a:own")).result).toEqual({ contents: [{ uri: "a:own", text: "a" }] });
});

test.each([
  [[5], "contents of type number; return objects"],
  [["text"], "contents of type string; return objects"],
  [[null], "contents of type object; return objects"],
  [{ contents: [5] }, "contents of type number; return objects"],
  [{ contents: 5 }, "contents of type number; return objects"],
  [{}, '"blob" of a resource without "text"'],
])("a reader that returns %j gets an error that says what is missing", async (returned, message) => {
  const server = new McpServer(IDENTITY).resource("a:b", {}, () => returned as never);
  const { send, reports } = serve(server);
  expect((await send(requestOf("modern", "resources/read", { uri: "a:b" }))).message).toMatchObject({
    error: { code: -32603 },
  });
  expect(String(reports)).toContain(message);
});

test("an around hook sees the error of the handler", async () => {
  const seen: unknown[] = [];
  const around: AroundHook = async (data, next) => {
    try {
      return await next();
    } finally {
      seen.push(data.error);
    }
  };
  const broken = new Error("broken");
  const server = new McpServer({ ...IDENTITY, around: [around] }).method("example.com/fail", () => {
    throw broken;
  });
  await serve(server).send(requestOf("modern", "example.com/fail"));
  expect(seen).toEqual([broken]);
});

test("a custom method cannot ask by returning, and onError gets the reason", async () => {
  const server = new McpServer(IDENTITY).method("example.com/ask", () => inputRequired({}, "state"));
  const { send, reports } = serve(server);
  expect((await send(requestOf("modern", "example.com/ask"))).message).toMatchObject({ error: { code: -32603 } });
  expect(reports).toMatchObject([{ code: "result-invalid" }]);
});

test("a tool that runs only as a task returns an error without tasks, and does not run", async () => {
  let runs = 0;
  const server = new McpServer(IDENTITY).tool("long", { task: "required" }, () => {
    runs += 1;
    return "ran";
  });
  const { message } = await serve(server).send(call("long"));
  const content = [{ text: 'Tool "long" runs only as a task.' }];
  expect(message).toMatchObject({ result: { isError: true, content } });
  expect(runs).toBe(0);
});
