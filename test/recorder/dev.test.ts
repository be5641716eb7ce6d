// @module-tag long
/** `mcp-edge dev` on the real wrangler, as seen by clients, in the terminal, and through the routes of the recorder. */
import { readdirSync } from "node:fs";
import { request } from "node:http";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStream } from "../../src/testing/http-stream.ts";
import { until } from "../../src/testing/until.ts";
import { LegacyClient, ModernClient } from "../worker/client.ts";
import { type Dev, Project, START_MS } from "./dev-project.ts";

const project = new Project();
afterAll(() => project[Symbol.dispose]());

const strip = stripVTControlCharacters;

describe("mcp-edge dev", () => {
  let dev: Dev;
  beforeAll(async () => {
    dev = await project.dev();
  }, START_MS);
  afterAll(() => dev[Symbol.asyncDispose]());

  test("records a call with its object, rows and log lines, and prints one line for it", async () => {
    const client = await LegacyClient.open(dev.url());
    expect(await (await client.call("log")).text()).toContain("logged");
    const entry = await dev.entry("the call", ({ target }) => target === "log");
    expect(entry).toMatchObject({ outcome: "ok", version: "2025-11-25", client: { name: "ladder" } });
    expect(entry.counts.objectRequests).toBeGreaterThan(0);
    const places = entry.invocations.map(({ place, role }) => [place, role]);
    expect(places).toEqual(
      expect.arrayContaining([
        ["worker", undefined],
        ["object", "session"],
      ]),
    );
    const lines = entry.invocations.flatMap(({ logs }) => logs.map(({ text }) => text));
    expect(lines).toEqual(["<text, 17 characters>"]);
    await until("the line", () => /ladder 1\.0\.0 {2}2025-11-25 {2}tools\/call log {2}ok {2}\d+ ms/.test(dev.output));
    const output = strip(dev.output);
    expect(output).not.toMatch(/POST \/mcp 200/);
    expect(output).toMatch(/^a line of the log$/m);
    expect(output).not.toContain("mcp-edge-recorder");
  });

  test("listens where wrangler would listen, and does not record its own requests to the server", async () => {
    const output = strip(dev.output);
    expect(output).toContain(`Ready on ${dev.origin}`);
    expect(output).toContain(`Recorded calls: ${dev.origin}/__mcp-edge/`);
    const summaries = await dev.api<{ client?: { name: string } }[]>("entries");
    expect(summaries.filter(({ client }) => client?.name === "mcp-edge dev")).toEqual([]);
  });

  test("the Worker receives the URL and the headers that the client sent", async () => {
    const seen = await new Promise<{ url: string; headers: [string, string][] }>((resolve, reject) => {
      const { port } = new URL(dev.origin);
      const headers = { host: "my.localhost:1234", "X-Odd": "1" };
      request({ host: "127.0.0.1", port, path: "/echo?a=%20b", headers }, (response) => {
        let text = "";
        response.on("data", (data) => (text += data));
        response.on("end", () => resolve(JSON.parse(text)));
      })
        .on("error", reject)
        .end();
    });
    expect(seen.url).toBe("http://my.localhost:1234/echo?a=%20b");
    const names = seen.headers.map(([name]) => name).filter((name) => name !== "mcp-edge-record");
    expect(names).toEqual(expect.arrayContaining(["host", "x-odd"]));
  });

  test("the exception of a call has the reference that the client received, and its position in the source", async () => {
    const text = await (await new ModernClient(dev.url()).call("boom")).text();
    const [reference = ""] = /[\da-f]{8}-[\da-f-]{27}/.exec(text) ?? [];
    const entry = await dev.entry("the call", ({ target }) => target === "boom");
    const exceptions = entry.invocations.flatMap((each) => each.exceptions);
    expect(exceptions).toEqual([expect.objectContaining({ name: "Error", reference })]);
    expect(exceptions[0]?.stack).toContain("src/index.ts:");
  });

  test("streams are forwarded immediately, and a disconnect of the client is recorded", async () => {
    const client = await LegacyClient.open(dev.url());
    const params = { name: "wait", arguments: {}, _meta: { progressToken: 1 } };
    const message = { jsonrpc: "2.0", id: 9, method: "tools/call", params };
    const headers = { "Mcp-Session-Id": client.sessionId, "MCP-Protocol-Version": "2025-11-25" };
    const stream = await openStream(dev.url(), { body: message, headers });
    await stream.waitFor("progress", ({ messages }) => messages.length >= 2);
    stream.cut("fin");
    await until("the outcome", async () => {
      const all = await dev.api<{ target?: string; outcome: string; marks: string[] }[]>("entries");
      const found = all.find(({ target }) => target === "wait");
      return found?.outcome === "cut-by-client" && found.marks.includes("progress");
    });
  });

  test("the routes refuse other hosts, origins and sites, and state-changing requests without the header", async () => {
    const url = dev.url("/__mcp-edge/api/entries");
    const { port } = new URL(dev.origin);
    const statusOf = (headers: Record<string, string>, method = "GET", path = "/__mcp-edge/api/entries") =>
      new Promise<number | undefined>((resolve, reject) => {
        request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on("error", reject)
          .end();
      });
    expect((await fetch(url)).status).toBe(200);
    expect(await statusOf({ host: `evil.example:${port}` })).toBe(403);
    expect(await statusOf({ origin: "http://evil.example" })).toBe(403);
    expect(await statusOf({ origin: "null" })).toBe(403);
    expect(await statusOf({ "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await statusOf({}, "POST", "/__mcp-edge/api/clear")).toBe(403);
    expect(await statusOf({ "mcp-edge-dev": "1" }, "POST", "/__mcp-edge/api/clear")).toBe(200);
    expect(await statusOf({}, "GET", "/__mcp-edge/api/nothing")).toBe(404);
    expect(await dev.api("entries")).toEqual([]);
  });

  test("SIGTERM ends all processes and removes the copied configuration", async () => {
    expect(readdirSync(project.folder).filter((name) => name.startsWith(".mcp-edge"))).toHaveLength(1);
    await dev.stop();
    expect(readdirSync(project.folder).filter((name) => name.startsWith(".mcp-edge"))).toEqual([]);
  });
});

test("--env records the environment, --verbose prints wrangler's lines, and --contents records contents", {
  timeout: 2 * START_MS,
}, async () => {
  await using dev = await project.dev("--env", "staging", "--verbose", "--contents");
  expect(await (await new ModernClient(dev.url()).call("hello")).text()).toContain("Hello from Bern");
  const entry = await dev.entry("the call", ({ target }) => target === "hello");
  expect(JSON.stringify(entry.messages)).toContain("Hello from Bern");
  await until(
    "both lines",
    () => /POST \/mcp 200 OK/.test(strip(dev.output)) && /tools\/call hello {2}ok/.test(dev.output),
  );
});

test("--no-record runs only wrangler, and the next start removes the copies of killed processes", {
  timeout: 3 * START_MS,
}, async () => {
  using project = new Project();
  const copies = () => readdirSync(project.folder).filter((name) => name.startsWith(".mcp-edge"));
  project.write(".mcp-edge.4194305.wrangler.json", "{}");
  {
    await using dev = await project.dev();
    expect(copies()).toEqual([`.mcp-edge.${dev.child.pid}.wrangler.json`]);
    await dev.stop();
  }
  await using dev = await project.dev("--no-record");
  expect(await (await new ModernClient(dev.url()).call("hello")).text()).toContain("Hello from Berlin");
  await until("wrangler's line", () => /POST \/mcp 200 OK/.test(strip(dev.output)));
  expect((await fetch(dev.url("/__mcp-edge/api/info"))).status).toBe(404);
  expect(copies()).toEqual([]);
});
