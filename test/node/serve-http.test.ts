import { expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { McpServer } from "../../src/core/index.ts";
import { serveHttp } from "../../src/node/index.ts";
import { edge } from "../../src/worker/index.ts";
import { startHttpTap } from "../oracle/http-tap.ts";

const server = new McpServer<{ readonly CITY: string }>({ name: "node", version: "1.0.0" });
server.tool("city", {}, (_, ctx) => ctx.env.CITY);

const VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

test.each(VERSIONS)("a client of %s calls a tool over HTTP on Node", async (version) => {
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  await using serving = await serveHttp(edge(server), { port: 0, env: { CITY: "Berlin" }, log });
  expect(lines).toEqual([`Serving at ${serving.origin}`, expect.stringContaining("no Durable Objects")]);
  const tap = await startHttpTap(`${serving.origin}/mcp`);
  const client = await connect(tap.url, { name: "test", version: "1.0.0", protocolVersions: [version] });
  const { content } = await client.callTool("city");
  await client.close();
  await tap.close();
  expect(content).toEqual([{ type: "text", text: "Berlin" }]);
  tap.oracle.expectClean();
});

test("close() waits for work that continues after its response, and reports work that fails", async () => {
  const reported: unknown[][] = [];
  const { error } = console;
  console.error = (...all: unknown[]) => reported.push(all);
  try {
    let end = () => {};
    let isDone = false;
    const work = new Promise<void>((resolve) => {
      end = resolve;
    }).then(() => {
      isDone = true;
    });
    const app = {
      fetch: (_: Request, __: unknown, execution: { waitUntil(work: Promise<unknown>): void }) => {
        execution.waitUntil(work);
        execution.waitUntil(Promise.reject(new Error("late")));
        return new Response("ok");
      },
    };
    const serving = await serveHttp(app, { port: 0, log: () => undefined });
    expect(await (await fetch(serving.origin)).text()).toBe("ok");
    const closed = serving.close();
    end();
    await closed;
    expect(isDone).toBe(true);
    expect(String(reported[0]?.[1])).toContain("late");
  } finally {
    console.error = error;
  }
});

test("serveHttp() can listen at other addresses, where a request with another host is refused", async () => {
  await using serving = await serveHttp(edge(server), {
    port: 0,
    hostname: "::1",
    env: { CITY: "x" },
    log: () => undefined,
  });
  expect(serving.origin).toMatch(/^http:\/\/\[::1\]:\d+$/);
  const foreign = await fetch(`${serving.origin}/mcp`, {
    method: "POST",
    headers: { Origin: "https://evil.example", "Content-Type": "application/json" },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
  expect(foreign.status).toBe(403);
});

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::1", "::1"],
  ["::", "127.0.0.1"],
])("at %s the address of a caller is the address of its connection", async (hostname, expected) => {
  const app = { fetch: (request: Request) => new Response(request.headers.get("CF-Connecting-IP")) };
  await using serving = await serveHttp(app, { port: 0, hostname, log: () => undefined });
  const to = serving.origin.replace("[::]", "127.0.0.1");
  for (const headers of [{}, { "CF-Connecting-IP": "192.0.2.7" }, { "cf-connecting-ip": "2001:db8::7" }]) {
    expect(await (await fetch(to, { headers })).text()).toBe(expected);
  }
});

test.each([-1, 65_536, 1.5])("the port %d is refused", async (port) => {
  const start = serveHttp(edge(server), { port, env: { CITY: "x" } });
  await expect(start).rejects.toMatchObject({
    code: "options-invalid",
    message: expect.stringContaining("0 to 65,535"),
  });
});

test("serveHttp() rejects if the port is in use", async () => {
  await using first = await serveHttp(edge(server), { port: 0, env: { CITY: "x" }, log: () => undefined });
  const port = Number(new URL(first.origin).port);
  await expect(serveHttp(edge(server), { port, env: { CITY: "x" } })).rejects.toThrow("EADDRINUSE");
});
