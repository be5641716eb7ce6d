/** Middleware of Hono that an endpoint is given. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { clientOf, readAnswer, VERSIONS } from "./client.ts";

const SOURCE = `
import { Hono } from "hono";
import { McpServer } from "./src/core/index.ts";
import { durable } from "./src/worker/durable/index.ts";
import { health } from "./src/worker/health/index.ts";
import { edge } from "./src/worker/index.ts";

const server = new McpServer({ name: "middleware", version: "1.0.0" });
server.tool("hello", {}, () => "Hello!");
const stop = async (context, next) => (context.req.header("x-stop") ? context.text("stopped", 418) : next());
const mark = async (context, next) => {
  await next();
  context.header("x-marked", "yes", { append: true });
};
const app = edge(server, { use: [stop, mark, durable(), health()] });
export class McpObject extends app.McpObject {}
const mounted = new Hono().route("/below", app).route("/below", edge(server, { path: "/second" }));
mounted.get("/below/page", (context) => context.text("a page"));
export default {
  fetch: (request, env, context) => (new URL(request.url).pathname.startsWith("/below") ? mounted : app).fetch(request, env, context),
};`;

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: { source: SOURCE }, objects: ["McpObject"] });
});
afterAll(() => worker?.stop());

test.each(VERSIONS)("every call of a client of %s passes through it, including in a mounted app", async (version) => {
  for (const path of ["/mcp", "/below/mcp"]) {
    const client = await clientOf(version, worker.url(path));
    const response = await client.call("hello");
    expect(response.headers.get("x-marked")).toBe("yes");
    expect((await readAnswer(response)).text).toBe("Hello!");
    const stopped = await client.call("hello", {}, { headers: { "x-stop": "yes" } });
    expect([stopped.status, await stopped.text()]).toEqual([418, "stopped"]);
  }
});

test("a route of a plugin passes through it once", async () => {
  for (const path of ["/healthz", "/below/healthz"]) {
    const { status, headers } = await fetch(worker.url(path));
    expect([status, headers.get("x-marked")]).toEqual([200, "yes"]);
  }
});

test("routes that the parent app adds later do not pass through it", async () => {
  const client = await clientOf("2026-07-28", worker.url("/below/second"));
  const response = await client.call("hello", {}, { headers: { "x-stop": "yes" } });
  expect([response.status, response.headers.get("x-marked")]).toEqual([200, null]);
  expect((await readAnswer(response)).text).toBe("Hello!");
  const page = await fetch(worker.url("/below/page"), { headers: { "x-stop": "yes" } });
  expect([page.status, await page.text(), page.headers.get("x-marked")]).toEqual([200, "a page", null]);
});
