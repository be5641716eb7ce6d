// @module-tag long
/** The endpoint as seen from pages of other origins, in Chromium. */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Chromium } from "../harness/chromium.ts";
import { ignoreLogs } from "../harness/logs.ts";

ignoreLogs(/^mcp-edge: everyone may call\./);

const FUNCTIONS = join(import.meta.dirname, "fixtures/browser-page.js");

/** A server of an empty page, and of the functions that run in it. In the browser it has every host under `.example`. */
let pages: Server;
let worker: TestWorker;
beforeAll(async () => {
  pages = createServer((request, response) => {
    const isScript = request.url === "/functions.js";
    response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? readFileSync(FUNCTIONS) : "<!doctype html><title>A page</title>");
  });
  await new Promise<void>((resolve) => pages.listen(0, "127.0.0.1", resolve));
  const entry = "test/worker/fixtures/browser.ts";
  worker = await startWorker({ entry, objects: ["McpObject"], bindings: { PAGE: pageAt("app.example") } });
});
afterAll(async () => {
  await worker.stop();
  pages.closeAllConnections();
  pages.close();
});

const pageAt = (host: string) => `http://${host}:${(pages.address() as AddressInfo).port}`;
/** The endpoints under their own name, so that they are another site than every page. */
const endpoints = () => `http://mcp.example:${new URL(worker.origin).port}`;
const runs = async () => (await (await fetch(worker.url("/runs"))).json()) as number;

/** Runs a function of `fixtures/browser-page.js` in a page of a host. */
async function run(host: string, name: string): Promise<unknown> {
  await using browser = await Chromium.start();
  await browser.open(pageAt(host));
  return await browser.run(`import("/functions.js").then((page) => page.${name}("${endpoints()}"))`);
}

describe("a page of an allowed origin", { timeout: 90_000 }, () => {
  test("calls a tool in the modern era, with all headers that this requires", async () => {
    expect(await run("app.example", "callModern")).toEqual([
      [200, "application/json", expect.stringContaining("Sunny in Berlin")],
      [200, "text/event-stream", expect.stringMatching(/notifications\/progress[\s\S]*Sunny in Berlin/)],
    ]);
  });

  test("opens a session, reads its id, calls a tool, listens, and ends it", async () => {
    expect(await run("app.example", "useSession")).toEqual({
      idLength: expect.toSatisfy((length: number) => length > 20),
      text: expect.stringContaining("Sunny in Rome"),
      statuses: [200, 200, 200, 404],
      // Chromium repeats a DELETE whose connection is closed before the response. The second one finds no session.
      ended: expect.toSatisfy((status: number) => [204, 404].includes(status)),
    });
  });

  test("reads challenges, the metadata of the resource, and when to retry", async () => {
    expect(await run("app.example", "readRefusals")).toMatchObject({
      locked: [401, expect.stringContaining("resource_metadata=")],
      wrong: [401, expect.stringContaining('error="invalid_token"')],
      metadata: { authorization_servers: ["https://issuer.example"] },
      busy: [429, "7"],
    });
  });
});

describe("a page of another origin", { timeout: 90_000 }, () => {
  test("reaches no handler and reads no response, however it sends a request", async () => {
    const before = await runs();
    expect(await run("evil.example", "attack")).toEqual({
      post: "failed",
      // A page cannot read an opaque response, not even its status.
      postWithoutCors: "opaque 0",
      get: "failed",
      getWithoutCors: "opaque 0",
      deletion: "failed",
      beacon: true,
      sandboxed: "failed",
      form: "loaded",
    });
    expect(await runs()).toBe(before);
  });

  test("cannot show the page of the endpoint in a frame, and neither can a page of the same origin", async () => {
    await using browser = await Chromium.start();
    await browser.open(`${endpoints()}/frame`);
    const isShown = "[...document.querySelectorAll('iframe')].map(({ contentDocument }) => contentDocument !== null)";
    // The second frame belongs to another page.
    expect(await browser.run(isShown)).toEqual([false, true]);
  });
});
