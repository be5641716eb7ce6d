/** Era detection, and the ways in which a connection fails. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type ClientError, type ClientEvent, connect, McpError } from "../../src/client/index.ts";
import { serveTransport as serve } from "../../src/core/index.ts";
import { createPair } from "../harness/pair.ts";
import { until } from "../http/wire.ts";
import { createServer } from "./fixtures/server.ts";
import { Lab, LEGACY, ME, MODERN } from "./places.ts";
import { CACHED, DONE, discovered, error, initialized, json, result, scripted } from "./scripted.ts";

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.start();
});
afterEach(() => lab.leave());
afterAll(() => lab?.[Symbol.asyncDispose]());

describe("our own endpoints", () => {
  test.each([
    ["a server of both eras", "/mcp", MODERN, ["POST server/discover"]],
    ["a modern server", "/modern/mcp", MODERN, ["POST server/discover"]],
    [
      "a legacy server",
      "/legacy/mcp",
      "2025-11-25",
      ["POST server/discover", "POST initialize", "POST notifications/initialized"],
    ],
    [
      "a legacy server without sessions",
      "/stateless/mcp",
      "2025-11-25",
      ["POST server/discover", "POST initialize", "POST notifications/initialized"],
    ],
  ])("%s is recognised", async (_, path, version, asked) => {
    const { client, tap } = await lab.http(path);
    expect(client.server.protocolVersion).toBe(version);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    const sent = tap?.exchanges.map(({ method, requestBody }) => `${method} ${JSON.parse(requestBody).method}`);
    expect(sent).toEqual([...asked, "POST tools/call"]);
  });

  test("legacy versions only: a server of both eras gets no probe", async () => {
    const { client, tap } = await lab.http("/mcp", { protocolVersions: LEGACY });
    expect(client.server.protocolVersion).toBe("2025-11-25");
    expect(tap?.exchanges[0]?.requestBody).toContain("initialize");
  });

  test("a modern client and a legacy server part with an error that names the versions of both", async () => {
    const connecting = lab.http("/legacy/mcp", { protocolVersions: [MODERN] });
    await expect(connecting).rejects.toMatchObject({ code: "version-unsupported" });
    await expect(connecting).rejects.toThrow(MODERN);
  });

  test("a legacy client and a modern server part with the server's error, which names its versions", async () => {
    await expect(lab.http("/modern/mcp", { protocolVersions: LEGACY })).rejects.toThrow(MODERN);
  });

  test.each(["/mcp", "/legacy/mcp"])("facts of an earlier connection to %s save the probe", async (path) => {
    const { client: first } = await lab.http(path);
    const known = JSON.parse(JSON.stringify(first.server));
    const { client, tap } = await lab.http(path, { serverFacts: known });
    expect(client.server).toEqual(first.server);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    expect(tap?.exchanges.map(({ requestBody }) => requestBody).join()).not.toContain("server/discover");
  });

  test("a client with facts of an earlier connection hears of changes", async () => {
    const { client: first } = await lab.http("/mcp");
    let changes = 0;
    const { client } = await lab.http("/mcp", {
      serverFacts: first.server,
      onToolsChanged: () => {
        changes += 1;
      },
    });
    await until("the change arrives", async () => {
      await client.callTool("change");
      return changes > 0;
    });
  });

  test("facts that say modern are dropped when the server turns out to be legacy", async () => {
    const { client: first } = await lab.http("/mcp");
    const { client } = await lab.http("/legacy/mcp", { serverFacts: first.server });
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    expect(client.server).toMatchObject({ protocolVersion: "2025-11-25", info: { name: "legacy" } });
  });

  test("facts that say legacy are dropped when the server turns out to be modern", async () => {
    const { client: first } = await lab.http("/legacy/mcp");
    const { client } = await lab.http("/modern/mcp", { serverFacts: first.server });
    expect(client.server).toMatchObject({ protocolVersion: MODERN, info: { name: "modern" } });
  });
});

describe("over a pipe", () => {
  test.each([
    ["both eras", undefined, MODERN],
    ["the legacy era", LEGACY, "2025-11-25"],
  ])("a server of %s is recognised", async (_, protocolVersions, version) => {
    const [serverEnd, clientEnd] = createPair();
    const server = createServer(protocolVersions ? { protocolVersions } : {});
    const served = await serve(server, serverEnd, { onError: () => undefined });
    const events: ClientEvent[] = [];
    const client = await connect(clientEnd, { ...ME, onEvent: (event) => events.push(event) });
    expect(client.server.protocolVersion).toBe(version);
    expect(events).toMatchObject([{ type: "connected", protocolVersion: version }]);
    await client.close();
    await served.close();
  });

  test("a server that does not answer the probe is taken for a legacy one", async () => {
    const [serverEnd, clientEnd] = createPair();
    const asked: string[] = [];
    serverEnd.onmessage = (message) => {
      if (!("method" in message)) return;
      asked.push(message.method);
      if ("id" in message && message.method === "initialize") {
        void serverEnd.send({ jsonrpc: "2.0", id: message.id, result: initialized("2025-03-26") });
      }
    };
    const client = await connect(clientEnd, { ...ME, probeTimeoutMs: 50 });
    expect(client.server.protocolVersion).toBe("2025-03-26");
    expect(asked).toEqual(["server/discover", "notifications/cancelled", "initialize", "notifications/initialized"]);
    await client.close();
  });
});

describe("other servers", () => {
  /** A server of 2025-11-25 that answers the probe in its own way. */
  const legacyAnswers: [string, Parameters<typeof scripted>[0], RegExp?][] = [
    ["400 without a body", (_, response) => response.writeHead(400).end()],
    ["400 with an error of its own", ({ message }, response) => error(response, 400, message?.id, -32000), /-32000/],
    ["404 as text", (_, response) => response.writeHead(404, { "content-type": "text/plain" }).end("Not found")],
    ["200 with -32601", ({ message }, response) => error(response, 200, message?.id, -32601)],
    ["404 as JSON that is not a message", (_, response) => json(response, 404, { detail: "Not Found" })],
    ["an empty result", ({ message }, response) => result(response, message?.id, {}), /resultType|DiscoverResult/],
    ["500 as text", (_, response) => response.writeHead(500).end("oops")],
    [
      "a stream that ends without an answer",
      (_, response) => response.writeHead(200, { "content-type": "text/event-stream" }).end(),
    ],
    [
      "-32022 that offers legacy versions",
      ({ message }, response) =>
        error(response, 400, message?.id, -32022, { supported: ["2025-11-25"], requested: MODERN }),
    ],
    [
      "discovery that offers legacy versions",
      ({ message }, response) => result(response, message?.id, discovered(["2025-11-25"])),
    ],
  ];

  test.each(legacyAnswers)("%s leads to initialize, without a warning", async (_, answerProbe, faults) => {
    await using server = await scripted((asked, response) => {
      const { message } = asked;
      if (message?.method === "server/discover") return answerProbe(asked, response);
      if (message?.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
      if (asked.method === "POST") return response.writeHead(202).end();
      return response.writeHead(405).end();
    }, faults);
    const events: ClientEvent[] = [];
    const client = await connect(server.url, { ...ME, onEvent: (event) => events.push(event) });
    expect(client.server.protocolVersion).toBe("2025-11-25");
    expect(events.map(({ type }) => type)).toEqual(["connected"]);
    expect(server.asked).toEqual(["POST server/discover", "POST initialize", "POST notifications/initialized"]);
    await client.close();
  });

  test.each([302, 307, 401, 403, 429, 502, 503])(
    "status %i says nothing about the era, so nothing else is sent",
    async (status) => {
      await using server = await scripted((_, response) =>
        response.writeHead(status, { "www-authenticate": "Bearer" }).end("no"),
      );
      const failed = (await connect(server.url, ME).catch((reason: unknown) => reason)) as ClientError;
      expect(failed).toMatchObject({ code: "http-status", source: "transport", response: { status, body: "no" } });
      expect(failed.response?.headers.get("www-authenticate")).toBe("Bearer");
      expect(server.asked).toEqual(["POST server/discover"]);
    },
  );

  test("-32022 leads to the version that the server offers, even the same one", async () => {
    await using server = await scripted(({ message }, response) => {
      if (server.asked.length === 1)
        return error(response, 400, message?.id, -32022, { supported: [MODERN], requested: MODERN });
      return result(response, message?.id, discovered());
    });
    const client = await connect(server.url, ME);
    expect(client.server.protocolVersion).toBe(MODERN);
    expect(server.asked).toEqual(["POST server/discover", "POST server/discover"]);
  });

  test("versions that the client does not know are an error that names both sides", async () => {
    await using server = await scripted(({ message }, response) =>
      result(response, message?.id, discovered(["2031-01-01"])),
    );
    await expect(connect(server.url, ME)).rejects.toThrow(/supports 2031-01-01, this client 2026-07-28, 2025-11-25/);
  });

  test("a version of initialize that the client does not accept is an error that names both sides", async () => {
    await using server = await scripted(({ message }, response) =>
      result(response, message?.id, initialized("2025-03-26")),
    );
    const connecting = connect(server.url, { ...ME, protocolVersions: ["2025-11-25"] });
    await expect(connecting).rejects.toThrow("supports 2025-03-26, this client 2025-11-25");
  });

  test("a modern error ends the connection without initialize", async () => {
    await using server = await scripted(({ message }, response) =>
      error(response, 400, message?.id, -32021, { requiredCapabilities: {} }),
    );
    const failed = await connect(server.url, ME).catch((reason: unknown) => reason);
    expect(McpError.is(failed) && failed.code).toBe(-32021);
    expect(server.asked).toEqual(["POST server/discover"]);
  });

  test("a URL that refuses every POST is tried as HTTP+SSE", async () => {
    const tap = lab.url("/sse");
    const events: ClientEvent[] = [];
    const client = await connect(tap, { ...ME, onEvent: (event) => events.push(event) });
    expect(client.server).toMatchObject({ transport: "http-sse", protocolVersion: "2025-11-25" });
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    expect(events).toMatchObject([{ type: "connected", reason: "The server refused POST and supports HTTP+SSE" }]);
    await client.close();
  });

  test("an HTTP+SSE server that names another origin for messages is refused", async () => {
    await using server = await scripted(({ method }, response) => {
      if (method === "POST") return response.writeHead(404).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.write("event: endpoint\ndata: http://127.0.0.1:9/steal\n\n");
    });
    await expect(connect(server.url, ME)).rejects.toMatchObject({ code: "http-status", response: { status: 404 } });
  });

  test("a server that is not there is unreachable, with the address in the text", async () => {
    const gone = await scripted(() => undefined);
    await gone[Symbol.asyncDispose]();
    await expect(connect(gone.url, ME)).rejects.toMatchObject({ code: "unreachable", source: "transport" });
    await expect(connect(gone.url, ME)).rejects.toThrow(gone.url);
  });

  test.each(["example.com/mcp", "localhost:8787/mcp", "/mcp", "ftp://example.com/mcp"])(
    "the address %s is refused, because it does not begin with http:// or https://",
    async (address) => {
      const refused = connect(address, ME);
      await expect(refused).rejects.toMatchObject({ code: "options-invalid" });
      await expect(refused).rejects.toThrow(address);
    },
  );

  test("a result that is not an object is a typed error", async () => {
    await using server = await scripted(({ message }, response) => {
      result(response, message?.id, message?.method === "server/discover" ? discovered() : 7);
    }, /result must be object|expected object/);
    const client = await connect(server.url, ME);
    const failed = await client.callTool("add").catch((reason: unknown) => reason);
    expect(failed).toMatchObject({ code: "answer-invalid", source: "server", mayHaveRun: true });
  });

  test("a cursor that comes twice ends the listing with a warning", async () => {
    await using server = await scripted(({ message }, response) => {
      const page = {
        ...CACHED,
        tools: [{ name: "a", inputSchema: { type: "object" } }],
        nextCursor: "again",
      };
      result(response, message?.id, message?.method === "server/discover" ? discovered() : page);
    });
    const warnings: ClientEvent[] = [];
    const client = await connect(server.url, { ...ME, onEvent: (event) => warnings.push(event) });
    expect(await client.tools().all()).toHaveLength(2);
    expect(warnings.at(-1)).toMatchObject({ type: "warning", message: expect.stringContaining("cursor twice") });
  });

  test("a capability that the server lacks is named, and nothing is sent", async () => {
    await using server = await scripted(({ message }, response) => result(response, message?.id, discovered()));
    const client = await connect(server.url, ME);
    const failed = (await client.listPrompts().catch((reason: unknown) => reason)) as ClientError;
    expect(failed).toMatchObject({ code: "capability-missing", source: "use", mayHaveRun: false });
    expect(failed.message).toBe('The server has not declared "prompts", which prompts/list needs.');
    expect(server.asked).toEqual(["POST server/discover"]);
  });

  test("a message that is too large ends its request with a typed error", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      if (message?.method === "tools/call")
        return result(response, message.id, { ...DONE, content: [{ type: "text", text: "x".repeat(5_000) }] });
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.write(`data: ${"x".repeat(5_000)}`);
    });
    const client = await connect(server.url, { ...ME, messageBytesMax: 2_000 });
    await expect(client.callTool("big")).rejects.toMatchObject({ code: "message-too-large", source: "limit" });
    await expect(client.listTools()).rejects.toMatchObject({ code: "message-too-large", source: "limit" });
  });

  test("tools with an invalid x-mcp-header are left out with a warning, and cannot be called", async () => {
    const tool = (name: string, header: unknown, type = "string") => ({
      name,
      inputSchema: { type: "object", properties: { region: { type, "x-mcp-header": header } } },
    });
    const tools = [tool("good", "Region"), tool("empty", ""), tool("space", "a b"), tool("number", "N", "number")];
    await using server = await scripted(({ message }, response) => {
      const page = { ...CACHED, tools };
      result(response, message?.id, message?.method === "server/discover" ? discovered() : page);
    });
    const warnings: ClientEvent[] = [];
    const client = await connect(server.url, { ...ME, onEvent: (event) => warnings.push(event) });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["good"]);
    expect(warnings.filter(({ type }) => type === "warning")).toHaveLength(3);
    await expect(client.callTool("space")).rejects.toMatchObject({ code: "tool-invalid", mayHaveRun: false });
  });

  test("a result of an unknown type is not a result", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return json(response, 200, { jsonrpc: "2.0", id: message?.id, result: { resultType: "surprise" } });
    }, /surprise|property 'content'/);
    const client = await connect(server.url, ME);
    await expect(client.callTool("add")).rejects.toMatchObject({ code: "answer-invalid" });
  });

  test("a notification that the server refuses rejects", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return response.writeHead(400).end("no such notification");
    });
    const client = await connect(server.url, ME);
    const refused = { code: "http-status", response: { status: 400, body: "no such notification" } };
    await expect(client.notify("notifications/mine")).rejects.toMatchObject(refused);
  });

  test("a request of a modern server is not answered", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"jsonrpc":"2.0","id":1,"method":"ping"}\n\n');
      return response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id: message?.id, result: DONE })}\n\n`);
    }, /a server sends no/);
    const warnings: ClientEvent[] = [];
    const client = await connect(server.url, { ...ME, onEvent: (event) => warnings.push(event) });
    expect(await client.callTool("add")).toEqual(DONE);
    await expect
      .poll(() => warnings.at(-1))
      .toMatchObject({ type: "warning", message: expect.stringContaining("ping") });
    expect(server.asked).toEqual(["POST server/discover", "POST tools/call"]);
  });
});
