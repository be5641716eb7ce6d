import { createServer, type IncomingMessage, type ServerResponse, request as send } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { DELIBERATELY_BAD, type HttpTap, type HttpTapOptions, startHttpTap } from "./http-tap.ts";
import { failure, idLess, MODERN_META, notification, request, result } from "./samples.ts";
import { specOf } from "./spec.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function behindTap(handler: Handler, options?: HttpTapOptions): Promise<HttpTap & { readonly target: string }> {
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    handler(incoming, response, Buffer.concat(chunks).toString("utf8"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const tap = await startHttpTap(target, options);
  closing.push(
    () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()),
    () => tap.close(),
  );
  return { ...tap, target };
}

function json(response: ServerResponse, value: unknown, status = 200, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers })
    .end(JSON.stringify(value));
}

function post(
  url: string,
  message: unknown,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> {
  const body = typeof message === "string" ? message : JSON.stringify(message);
  const all = { "content-type": "application/json", ...headers };
  return fetch(url, { method: "POST", headers: all, body, ...(signal ? { signal } : {}) });
}

function problems(tap: HttpTap): string[] {
  return tap.oracle.problems.map((each) => `${each.from} ${each.version}: ${each.problem}`);
}

const CALL = request("tools/call", { _meta: MODERN_META, name: "t" });
const CALLED = { resultType: "complete", content: [{ type: "text", text: "é" }] };
const INFO = { name: "x", version: "1" };
const tick = () => new Promise((resolve) => setTimeout(resolve, 10));

describe("the HTTP tap", () => {
  test("passes on a JSON response and checks both sides", async () => {
    const tap = await behindTap((_, response) => json(response, result(CALLED), 200, { "x-own": "1" }));
    const response = await post(tap.url, CALL, { "MCP-Protocol-Version": "2026-07-28" });
    expect(await response.json()).toEqual(result(CALLED));
    expect(response.headers.get("x-own")).toBe("1");
    tap.oracle.expectClean();
    expect(tap.oracle.messages).toBe(2);
    expect(tap.exchanges).toEqual([
      expect.objectContaining({
        method: "POST",
        path: "/mcp",
        status: 200,
        contentType: "application/json",
        requestBody: JSON.stringify(CALL),
        responseMessages: [result(CALLED)],
        complete: true,
      }),
    ]);
    expect(tap.exchanges[0]?.requestHeaders["mcp-protocol-version"]).toBe("2026-07-28");
  });

  test("streams SSE as it arrives, and checks each event", async () => {
    let finish = (): void => {};
    const tap = await behindTap((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": heartbeat\n\nid: 1\ndata:\n\n");
      finish = () => response.end(`data: ${JSON.stringify(result({ content: [] }))}\n\n`);
    });
    const response = await post(tap.url, CALL);
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value)).toContain("heartbeat");
    expect(tap.oracle.messages).toBe(1);
    finish();
    while ((await reader?.read())?.done === false);
    expect(tap.oracle.messages).toBe(2);
    expect(problems(tap)).toContain("server 2026-07-28: the result has no resultType");
    expect(tap.exchanges[0]?.responseMessages).toEqual([result({ content: [] })]);
  });

  test("passes on the headers of a silent stream", async () => {
    const tap = await behindTap((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    });
    const response = await fetch(tap.url, { headers: { accept: "text/event-stream" } });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    await response.body?.cancel();
  });

  test("passes on 202 without a body", async () => {
    const tap = await behindTap((_, response) => response.writeHead(202).end());
    const response = await post(tap.url, notification("notifications/initialized"));
    expect([response.status, await response.text()]).toEqual([202, ""]);
    tap.oracle.expectClean();
    expect(tap.exchanges[0]).toMatchObject({ status: 202, contentType: "", responseMessages: [] });
  });

  test("notifies the server when the client disconnects", async () => {
    let gone = false;
    const tap = await behindTap((_, response) => {
      response.on("close", () => {
        gone = true;
      });
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    });
    const leave = new AbortController();
    await post(tap.url, CALL, {}, leave.signal);
    leave.abort();
    while (!gone) await tick();
    expect(tap.exchanges[0]?.complete).toBe(false);
  });

  test("notifies the client when the server cuts the stream", async () => {
    const tap = await behindTap((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: {");
      setTimeout(() => response.destroy(), 10);
    });
    const response = await post(tap.url, CALL);
    await expect(response.text()).rejects.toThrow();
  });

  test("returns 502 if the server cannot be reached", async () => {
    const tap = await startHttpTap("http://127.0.0.1:9/mcp");
    closing.push(tap.close);
    expect((await post(tap.url, CALL)).status).toBe(502);
  });

  test("passes its own host and origin to the server as the server's own, and others unchanged", async () => {
    const seen: (string | undefined)[][] = [];
    const tap = await behindTap((incoming, response) => {
      seen.push([incoming.headers.host, incoming.headers.origin]);
      response.writeHead(202).end();
    });
    const own = new URL(tap.url).host;
    const theirs = new URL(tap.target).host;
    for (const host of [own, "evil.example.com"]) {
      await new Promise((resolve) => {
        const headers = { host, origin: `http://${host}` };
        send(tap.url, { method: "POST", headers }, (answer) => answer.resume().on("end", resolve)).end("{}");
      });
    }
    expect(seen).toEqual([
      [theirs, `http://${theirs}`],
      ["evil.example.com", "http://evil.example.com"],
    ]);
  });

  test("keeps the spelling of headers and the query", async () => {
    let raw: string[] = [];
    const tap = await behindTap((incoming, response) => {
      raw = [incoming.url ?? "", ...incoming.rawHeaders];
      response.writeHead(202).end();
    });
    await new Promise((resolve) => {
      const headers = { "MCP-METHOD": "x", [DELIBERATELY_BAD]: "1" };
      send(`${tap.url}?a=b`, { method: "POST", headers }, (answer) => answer.resume().on("end", resolve)).end("{}");
    });
    expect(raw).toContain("/mcp?a=b");
    expect(raw).toContain("MCP-METHOD");
    expect(raw).not.toContain(DELIBERATELY_BAD);
    expect(tap.oracle.problems).toEqual([]);
  });
});

describe("the version of an exchange", () => {
  /** Responds to `initialize` with a session, to everything else with a title that 2025-03-26 does not have. */
  const sessions: Handler = (_, response, body) => {
    const asked = JSON.parse(body);
    const agreed = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: INFO };
    if (asked.method === "initialize") json(response, result(agreed), 200, { "mcp-session-id": "s1" });
    else json(response, result({ tools: [{ name: "t", title: "T", inputSchema: { type: "object" } }] }));
  };
  const LIST = request("tools/list");

  if (specOf("2025-03-26") !== undefined) {
    test("is the version of its session, otherwise 2025-03-26, and a header takes precedence over both", async () => {
      const tap = await behindTap(sessions);
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: INFO };
      await (await post(tap.url, request("initialize", params))).text();
      await (await post(tap.url, LIST, { "mcp-session-id": "s1" })).text();
      await (await post(tap.url, LIST, { "mcp-protocol-version": "2025-11-25" })).text();
      tap.oracle.expectClean();
      await (await post(tap.url, LIST)).text();
      await (await post(tap.url, LIST, { "mcp-session-id": "s1", "mcp-protocol-version": "2024-11-05" })).text();
      expect(problems(tap)).toEqual([
        expect.stringContaining("server 2025-03-26: /tools/0/title"),
        expect.stringContaining("server 2024-11-05: /tools/0/title"),
      ]);
    });
  }

  test("is the modern version for an unknown header, if the response is modern", async () => {
    const tap = await behindTap((_, response) => {
      json(response, failure(-32022, { supported: ["2026-07-28"], requested: "v9" }), 400);
    });
    await post(tap.url, LIST, { "mcp-protocol-version": "v9", [DELIBERATELY_BAD]: "1" });
    tap.oracle.expectClean();
  });
});

describe("invalid messages", () => {
  test("get a response without an id in every version if their body is unreadable", async () => {
    const tap = await behindTap((_, response) => json(response, idLess(-32700), 400), { judgeClient: false });
    await (await post(tap.url, "{")).text();
    tap.oracle.expectClean();
    await (await post(tap.url, request("ping"))).text();
    expect(tap.oracle.problems.length).toBeGreaterThan(0);
  });

  test("are not reported for a refusal that is not JSON-RPC, but for a successful response that is not", async () => {
    let status = 401;
    const tap = await behindTap((_, response) => json(response, { error: "invalid_token" }, status));
    await (await post(tap.url, CALL)).text();
    tap.oracle.expectClean();
    status = 200;
    await (await post(tap.url, CALL)).text();
    expect(tap.oracle.problems.length).toBeGreaterThan(0);
  });

  test("are reported if the content type is wrong", async () => {
    const tap = await behindTap((_, response) => response.end(JSON.stringify(result(CALLED))));
    await (await post(tap.url, CALL)).text();
    expect(problems(tap)).toEqual(['server 2026-07-28: a message of content type ""']);
  });

  test("are reported if an SSE event has another name or no JSON", async () => {
    const tap = await behindTap((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`event: endpoint\ndata: /messages\n\ndata: ${JSON.stringify(result(CALLED))}\n\n`);
    });
    await (await post(tap.url, CALL)).text();
    expect(problems(tap)).toEqual(["server 2026-07-28: an SSE event named endpoint", "server 2026-07-28: is not JSON"]);
  });

  test("are not reported on other paths", async () => {
    const tap = await behindTap((_, response) => json(response, { resource: "x" }));
    const url = new URL("/.well-known/oauth-protected-resource", tap.url);
    expect(await (await fetch(url)).json()).toEqual({ resource: "x" });
    expect(tap.exchanges).toHaveLength(1);
    expect(() => tap.oracle.expectClean()).toThrow("saw no message");
  });
});
