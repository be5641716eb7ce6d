/** Middleware of Hono that an endpoint is given. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { clientOf, readAnswer, VERSIONS } from "./client.ts";

const SOURCE = `
import { Hono } from "hono";
import { McpServer } from "./src/core/index.ts";
import { durable } from "./src/worker/durable/index.ts";
import { edge } from "./src/worker/index.ts";

const server = new McpServer({ name: "middleware", version: "1.0.0" });
server.tool("hello", {}, () => "Hello!");
const stop = async (context, next) => (context.req.header("x-stop") ? context.text("stopped", 418) : next());
const mark = async (context, next) => {
  await next();
  context.header("x-marked", "yes");
};
const app = edge(server, { use: [stop, mark, durable()] });
export class McpObject extends app.McpObject {}
const mounted = new Hono().route("/below", app);
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
