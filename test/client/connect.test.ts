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

describe("a connection to our own endpoints", () => {
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
  ])("detects the era of %s", async (_, path, version, asked) => {
    const { client, tap } = await lab.http(path);
    expect(client.server.protocolVersion).toBe(version);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    const sent = tap?.exchanges.map(({ method, requestBody }) => `${method} ${JSON.parse(requestBody).method}`);
    expect(sent).toEqual([...asked, "POST tools/call"]);
  });

  test("sends no probe to a server of both eras if the client has legacy versions only", async () => {
    const { client, tap } = await lab.http("/mcp", { protocolVersions: LEGACY });
    expect(client.server.protocolVersion).toBe("2025-11-25");
    expect(tap?.exchanges[0]?.requestBody).toContain("initialize");
  });

  test("fails between a modern client and a legacy server, with the versions of both in the error", async () => {
    const connecting = lab.http("/legacy/mcp", { protocolVersions: [MODERN] });
    await expect(connecting).rejects.toMatchObject({ code: "version-unsupported" });
    await expect(connecting).rejects.toThrow(MODERN);
  });

  test("fails between a legacy client and a modern server, with the server's versions in the error", async () => {
    await expect(lab.http("/modern/mcp", { protocolVersions: LEGACY })).rejects.toThrow(MODERN);
  });

  test.each(["/mcp", "/legacy/mcp"])("needs no probe with facts of an earlier connection to %s", async (path) => {
    const { client: first } = await lab.http(path);
    const known = JSON.parse(JSON.stringify(first.server));
    const { client, tap } = await lab.http(path, { serverFacts: known });
    expect(client.server).toEqual(first.server);
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    expect(tap?.exchanges.map(({ requestBody }) => requestBody).join()).not.toContain("server/discover");
  });

  test("delivers changes to a client with facts of an earlier connection", async () => {
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

  test("drops facts that say modern when the server turns out to be legacy", async () => {
    const { client: first } = await lab.http("/mcp");
    const { client } = await lab.http("/legacy/mcp", { serverFacts: first.server });
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    expect(client.server).toMatchObject({ protocolVersion: "2025-11-25", info: { name: "legacy" } });
  });

  test("drops facts that say legacy when the server turns out to be modern", async () => {
    const { client: first } = await lab.http("/legacy/mcp");
    const { client } = await lab.http("/modern/mcp", { serverFacts: first.server });
    expect(client.server).toMatchObject({ protocolVersion: MODERN, info: { name: "modern" } });
  });
});

describe("a connection over a pipe", () => {
  test.each([
    ["both eras", undefined, MODERN],
    ["the legacy era", LEGACY, "2025-11-25"],
  ])("detects a server of %s", async (_, protocolVersions, version) => {
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

  test("treats a server that does not respond to the probe as legacy", async () => {
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

describe("a connection to other servers", () => {
  /** A server of 2025-11-25 that responds to the probe in its own way. */
  const legacyAnswers: [string, Parameters<typeof scripted>[0], RegExp?][] = [
    ["400 without a body", (_, response) => response.writeHead(400).end()],
    ["400 with its own error", ({ message }, response) => error(response, 400, message?.id, -32000), /-32000/],
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

  test.each(legacyAnswers)("sends initialize after %s, without a warning", async (_, answerProbe, faults) => {
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
    "does not detect the era from status %i, and sends no other request",
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

  test("uses the version that the server offers with -32022, even the same version", async () => {
    await using server = await scripted(({ message }, response) => {
      if (server.asked.length === 1)
        return error(response, 400, message?.id, -32022, { supported: [MODERN], requested: MODERN });
      return result(response, message?.id, discovered());
    });
    const client = await connect(server.url, ME);
    expect(client.server.protocolVersion).toBe(MODERN);
    expect(server.asked).toEqual(["POST server/discover", "POST server/discover"]);
  });

  test("fails if the client has none of the server's versions, and the error names the versions of both", async () => {
    await using server = await scripted(({ message }, response) =>
      result(response, message?.id, discovered(["2031-01-01"])),
    );
    await expect(connect(server.url, ME)).rejects.toThrow(/supports 2031-01-01, this client 2026-07-28, 2025-11-25/);
  });

  test("fails if the client does not accept the version of initialize, and the error names the versions of both", async () => {
    await using server = await scripted(({ message }, response) =>
      result(response, message?.id, initialized("2025-03-26")),
    );
    const connecting = connect(server.url, { ...ME, protocolVersions: ["2025-11-25"] });
    await expect(connecting).rejects.toThrow("supports 2025-03-26, this client 2025-11-25");
  });

  test("ends without initialize after a modern error", async () => {
    await using server = await scripted(({ message }, response) =>
      error(response, 400, message?.id, -32021, { requiredCapabilities: {} }),
    );
    const failed = await connect(server.url, ME).catch((reason: unknown) => reason);
    expect(McpError.is(failed) && failed.code).toBe(-32021);
    expect(server.asked).toEqual(["POST server/discover"]);
  });

  test("tries HTTP+SSE at a URL that refuses every POST", async () => {
    const tap = lab.url("/sse");
    const events: ClientEvent[] = [];
    const client = await connect(tap, { ...ME, onEvent: (event) => events.push(event) });
    expect(client.server).toMatchObject({ transport: "http-sse", protocolVersion: "2025-11-25" });
    expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({ content: [{ text: "3" }] });
    expect(events).toMatchObject([{ type: "connected", reason: "The server refused POST and supports HTTP+SSE" }]);
    await client.close();
  });

  test("refuses an HTTP+SSE server that names another origin for messages", async () => {
    await using server = await scripted(({ method }, response) => {
      if (method === "POST") return response.writeHead(404).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.write("event: endpoint\ndata: http://127.0.0.1:9/steal\n\n");
    });
    await expect(connect(server.url, ME)).rejects.toMatchObject({ code: "http-status", response: { status: 404 } });
  });

  test("reports an address without a server as unreachable, with the address in the message", async () => {
    const gone = await scripted(() => undefined);
    await gone[Symbol.asyncDispose]();
    await expect(connect(gone.url, ME)).rejects.toMatchObject({ code: "unreachable", source: "transport" });
    await expect(connect(gone.url, ME)).rejects.toThrow(gone.url);
  });

  test.each(["example.com/mcp", "localhost:8787/mcp", "/mcp", "ftp://example.com/mcp"])(
    "refuses the address %s, because it does not begin with http:// or https://",
    async (address) => {
      const refused = connect(address, ME);
      await expect(refused).rejects.toMatchObject({ code: "options-invalid" });
      await expect(refused).rejects.toThrow(address);
    },
  );

  test("reports a result that is not an object as a typed error", async () => {
    await using server = await scripted(({ message }, response) => {
      result(response, message?.id, message?.method === "server/discover" ? discovered() : 7);
    }, /result must be object|expected object/);
    const client = await connect(server.url, ME);
    const failed = await client.callTool("add").catch((reason: unknown) => reason);
    expect(failed).toMatchObject({ code: "answer-invalid", source: "server", mayHaveRun: true });
  });

  test("ends a list with a warning if a cursor comes twice", async () => {
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

  test("refuses a request whose capability the server lacks, naming it, before it is sent", async () => {
    await using server = await scripted(({ message }, response) => result(response, message?.id, discovered()));
    const client = await connect(server.url, ME);
    const failed = (await client.listPrompts().catch((reason: unknown) => reason)) as ClientError;
    expect(failed).toMatchObject({ code: "capability-missing", source: "use", mayHaveRun: false });
    expect(failed.message).toBe('The server has not declared "prompts", which prompts/list needs.');
    expect(server.asked).toEqual(["POST server/discover"]);
  });

  test("ends a request whose message is too large with a typed error", async () => {
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

  test("leaves out tools with an invalid x-mcp-header with a warning, and refuses calls to them", async () => {
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

  test("does not accept a result of an unknown type", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return json(response, 200, { jsonrpc: "2.0", id: message?.id, result: { resultType: "surprise" } });
    }, /surprise|property 'content'/);
    const client = await connect(server.url, ME);
    await expect(client.callTool("add")).rejects.toMatchObject({ code: "answer-invalid" });
  });

  test("rejects a notification that the server refuses", async () => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return response.writeHead(400).end("no such notification");
    });
    const client = await connect(server.url, ME);
    const refused = { code: "http-status", response: { status: 400, body: "no such notification" } };
    await expect(client.notify("notifications/mine")).rejects.toMatchObject(refused);
  });

  test("ignores a request of a modern server", async () => {
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
