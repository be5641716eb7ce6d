/** `mcp-edge doctor` with servers of mcp-edge, over stdio, and its human-readable output. */
import { readdirSync, readFileSync } from "node:fs";
import { createServer as createHttpServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { McpServer } from "../../../src/core/index.ts";
import { type HttpServing, serveHttp } from "../../../src/node/index.ts";
import { bearer } from "../../../src/worker/access/auth/index.ts";
import { edge } from "../../../src/worker/index.ts";
import { NODE } from "../../oracle/node.ts";
import { cli, SERVER } from "../run.ts";
import { doctor, idsOf, NO_TOKENS, plant, tokenOf, toolsNamed } from "./planted.ts";

const ISSUER = "https://login.example.com";

function createServer(): McpServer {
  const server = new McpServer({ name: "weather", version: "1.0.0" });
  server.tool("forecast", { description: "Returns the weather" }, () => "sunny");
  server.prompt("ask", {}, () => "Hello");
  server.resource("weather:stations", { name: "stations" }, () => "none");
  return server;
}

/** Starts a proxy that changes the headers of requests. */
async function forward(
  origin: string,
  change: (headers: IncomingHttpHeaders) => IncomingHttpHeaders,
): Promise<AsyncDisposable & { readonly url: string }> {
  const proxy = createHttpServer((received, response) => {
    const { method, headers, url = "/" } = received;
    const sent = request(origin + url, { method, headers: change(headers) }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    received.pipe(sent);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

const start = (app: Parameters<typeof serveHttp>[0]) => serveHttp(app, { port: 0, log: () => undefined });

describe("a server of mcp-edge", () => {
  let open: HttpServing;
  let closed: HttpServing;
  beforeAll(async () => {
    open = await start(edge(createServer(), { allowedOrigins: ["https://app.example.com"] }));
    closed = await start(edge(createServer(), { use: [bearer({ issuer: ISSUER, jwks: { keys: [] } })] }));
  });
  afterAll(async () => {
    await open?.close();
    await closed?.close();
  });

  test("has no findings in either era, and is recognized", async () => {
    const report = await doctor(`${open.origin}/mcp`, "--call", "forecast", "--origin", "https://app.example.com");
    expect(idsOf(report)).toEqual([]);
    expect(report).toMatchObject({
      code: 0,
      usesMcpEdge: true,
      toolsSize: expect.stringMatching(/^\d+ bytes, roughly \d+ tokens$/),
    });
  });

  test("gets the option that admits a page", async () => {
    const report = await doctor(`${open.origin}/mcp`, "--origin", "https://other.example.com");
    expect(report.findings).toMatchObject([
      { id: "cors-preflight", fix: 'Write edge(server, { allowedOrigins: ["https://other.example.com"] }).' },
    ]);
    expect(report.findings[0]?.what).toMatch(
      /, because the response to the preflight has no Access-Control-Allow-Origin: HTTP 403 \(error -32600: Origin .* of the server\)\.$/,
    );
  });

  test("gets the option that admits the host name that a proxy sends, or the option that names its URL", async () => {
    const rename = (headers: IncomingHttpHeaders) => ({ ...headers, host: "internal.example:8080" });
    await using openProxy = await forward(open.origin, rename);
    expect((await doctor(openProxy.url)).findings).toMatchObject([
      { id: "host-refused", severity: "degrades", fix: expect.stringContaining('allowedHosts: ["internal.example"]') },
    ]);
    await using closedProxy = await forward(closed.origin, rename);
    const report = await doctor(closedProxy.url);
    expect(report.usesMcpEdge).toBe(true);
    expect(report.findings).toMatchObject([
      {
        id: "host-refused",
        severity: "breaks",
        fix: expect.stringContaining(`Write resource: "${closedProxy.url}" in the options of bearer()`),
      },
    ]);
  });

  test("is not blamed for a token that a proxy removes", async () => {
    const keepsHost = (headers: IncomingHttpHeaders) => ({ ...headers, host: new URL(closed.origin).host });
    const withoutToken = ({ authorization, ...headers }: IncomingHttpHeaders) => headers;
    await using closedProxy = await forward(closed.origin, (headers) => keepsHost(withoutToken(headers)));
    const token = tokenOf({ iss: ISSUER, aud: `${closed.origin}/mcp`, exp: Date.now() });
    const report = await doctor(closedProxy.url, "--header", `Authorization: Bearer ${token}`);
    expect(report.findings.find(({ step }) => step === "token")).toMatchObject({
      id: "token-removed",
      fault: "network",
      fix: "Let the proxy forward the header Authorization.",
    });
  });

  test("gets the option for another audience, and the issuer's unreachable metadata", async () => {
    const token = tokenOf({ iss: ISSUER, aud: "https://api.example.com", exp: Date.now() });
    const report = await doctor(`${closed.origin}/mcp`, "--header", `Authorization: Bearer ${token}`);
    expect(report.usesMcpEdge).toBe(true);
    expect(report.findings.map(({ id }) => id)).toContain("token-audience");
    const { fix } = report.findings.find(({ id }) => id === "token-audience") ?? {};
    expect(fix).toContain('bearer({ audience: "https://api.example.com" })');
  });
});

describe("a server over stdio", () => {
  test("has no findings, and is not checked for hosts that start no processes", async () => {
    const report = await doctor("--", ...SERVER);
    expect(idsOf(report)).toEqual([]);
    expect(report.hosts.find(({ host }) => host === "chatgpt")).toMatchObject({ outcome: "unreachable" });
    expect(report.hosts.find(({ host }) => host === "cursor")).toMatchObject({ outcome: "works" });
  });

  test("is found if it cannot be started, or writes logs to standard output", async () => {
    expect((await doctor("--", "no-such-program")).findings).toMatchObject([
      { id: "process-failed", fault: "configuration", what: expect.stringContaining("was not found") },
    ]);
    const noisy = `
      console.log("listening");
      const lines = require("node:readline").createInterface({ input: process.stdin });
      lines.on("line", (line) => {
        const { id, method } = JSON.parse(line);
        const results = {
          initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "a", version: "1" } },
          "tools/list": { tools: [] },
        };
        const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: "no" } };
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
      });`;
    expect(idsOf(await doctor("--", NODE, "-e", noisy))).toEqual(["output-mixed degrades"]);
  });
});

describe("the human-readable output", () => {
  const run = (...args: readonly string[]) => cli(["doctor", ...args], { cwd: tmpdir(), env: NO_TOKENS });

  test("has a line for each host, the size of the list, and the findings with their sources", async () => {
    await using server = await plant({ tools: toolsNamed(101) });
    const { code, stdout } = await run(server.url, "--host", "cursor", "--host", "windsurf", "--host", "claude");
    expect(code).toBe(3);
    expect(stdout).toContain("Cursor        ✓ works\n");
    expect(stdout).toContain("Windsurf      ✗ breaks at limits: too-many-tools\n");
    expect(stdout).toContain("Claude (web)  - needs a public https: address, so it was not checked\n");
    expect(stdout).toMatch(/\ntools\/list: \d+ bytes, roughly \d+ tokens\n/);
    expect(stdout).toContain("breaks too-many-tools (limits; fault of the host)\n");
    expect(stdout).toContain("  → Combine tools, or list only those that the caller may use.\n");
    expect(stdout).toContain("  Source: https://www.desplega.ai/blog/deep-dive-windsurf-mcp-workflows (2026-06-16)\n");
  });

  test("does not claim that a server is without faults if no host was checked", async () => {
    await using server = await plant();
    const { code, stdout } = await run(server.url, "--host", "claude");
    expect(code).toBe(0);
    expect(stdout).toContain("No faults found, but none of these hosts was checked.\n");
  });

  test("cleans and cuts what a server says, and does not contain tokens, even if it is cut", async () => {
    const message = `\u001b[2JBearer another-token-456 ${"x".repeat(125)} secret-token-123${"x".repeat(9_000)}`;
    await using server = await plant({
      reply: () => ({ status: 400, body: { jsonrpc: "2.0", id: 1, error: { code: -32000, message } } }),
    });
    const { stdout } = await run(server.url, "--header", "Authorization: Bearer secret-token-123");
    expect(stdout).toContain("handshake-refused");
    expect(stdout).not.toContain("\u001b");
    expect(stdout).not.toContain("secret-token");
    expect(stdout).not.toContain("another-token-456");
    expect(stdout.length).toBeLessThan(5_000);
  });
});

test("the guide names every finding", () => {
  const folders = ["src/cli/commands/doctor", "src/cli/host-profiles"].map((each) =>
    join(import.meta.dirname, "../../..", each),
  );
  const source = folders
    .flatMap((folder) => readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8")))
    .join();
  const ids = [...source.matchAll(/\b(?:id: |exceeded\()"([a-z\d-]+)"/g)].map(([, id]) => id);
  expect(ids.length).toBeGreaterThan(60);
  const guide = readFileSync(join(import.meta.dirname, "../../../docs/guides/doctor.md"), "utf8");
  expect(ids.filter((id) => !guide.includes(`\`${id}\``))).toEqual([]);
});
