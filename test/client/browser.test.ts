// @module-tag long
/** The client in a real browser, on a page of another origin than the server. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CuttableProxy, startProxy } from "../../src/testing/proxy.ts";
import { Chromium } from "../harness/chromium.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";

let worker: Workerd;
let proxy: CuttableProxy;
let browser: Chromium;
let page: Server;
let pageUrl: string;

beforeAll(async () => {
  // The page is loaded as a bundler makes it: in several files, of which some are imported on demand.
  const { outputFiles } = await build({
    entryPoints: ["test/client/fixtures/browser-page.ts"],
    outdir: "/",
    bundle: true,
    splitting: true,
    write: false,
    format: "esm",
    conditions: ["browser"],
  });
  const files = new Map(outputFiles.map(({ path, text }) => [path, text]));
  page = createServer((request, response) => {
    if (request.url === "/cut") proxy.cut("rst");
    const script = files.get(request.url ?? "");
    response.writeHead(200, { "content-type": script === undefined ? "text/html" : "text/javascript" });
    response.end(script ?? '<!doctype html><script type="module" src="/browser-page.js"></script>');
  });
  await new Promise<void>((resolve) => page.listen(0, "127.0.0.1", resolve));
  const { port } = page.address() as AddressInfo;
  pageUrl = `http://app.example:${port}`;
  worker = await Workerd.start({
    entry: "test/client/fixtures/browser-worker.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys(), PAGE_ORIGIN: pageUrl },
  });
  proxy = await startProxy(worker.origin);
  browser = await Chromium.start();
  await browser.open(`${pageUrl}/`);
}, 300_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await proxy?.[Symbol.asyncDispose]();
  await worker?.stop();
  page?.closeAllConnections();
  page?.close();
});

const visit = (version: string) =>
  browser.run(`visit(${JSON.stringify(proxy.url("/mcp"))}, ${JSON.stringify(version)})`);

const EVERYTHING = {
  tools: expect.arrayContaining(["add", "order", "slow"]),
  sum: { content: [{ type: "text", text: "3" }] },
  // The count is a default of the form, which the page left out.
  order: { content: [{ type: "text", text: '{"size":"L","count":2}' }] },
  note: { contents: [{ uri: "test://notes/1", text: "This is note 1." }] },
  updated: "test://notes/1",
};

test("a page of an allowed origin lists, calls, answers a form, resumes a call twice, and subscribes, in 2025-11-25", async () => {
  expect(await visit("2025-11-25")).toMatchObject({
    ...EVERYTHING,
    server: { protocolVersion: "2025-11-25", transport: "streamable-http" },
    slow: { content: [{ type: "text", text: "done" }] },
    seen: Array.from({ length: 14 }, (_, index) => index + 1),
    events: expect.arrayContaining(["connected", "stream-reconnecting", "stream-resumed"]),
  });
});

test("a page lists, calls, answers a form and subscribes in 2026-07-28, and repeats an interrupted call with its key", async () => {
  const visited = await visit("2026-07-28");
  expect(visited).toMatchObject({ ...EVERYTHING, server: { protocolVersion: "2026-07-28" } });
  // The repeated call joins the first run, or learns that it was interrupted. It never runs again.
  const { slow, seen, events } = visited as { slow: unknown; seen: number[]; events: string[] };
  expect(JSON.stringify(slow)).toMatch(/done|interrupted/);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(events).toContain("request-repeated");
});

test("a page of an origin that is not allowed cannot connect", async () => {
  await browser.open(pageUrl.replace("app.example", "other.example"));
  await expect(visit("2025-11-25")).rejects.toThrow(/had no response|refused/);
});
