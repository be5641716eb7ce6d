// @module-tag long
/** Generated requests to another base URL, which the operator names with a binding: an API on the same machine, to try the tools. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";

expectLogs(/^the API could not be reached: /);

const FILE = join(import.meta.dirname, "../../packages/openapi/files/api.ts");
/** A server whose tool requests the API that its argument names, as if the operator had set it. */
const SOURCE = `
import { McpServer } from "mcp-edge";
import { edge } from "mcp-edge/worker";
import * as z from "zod";
import { api } from ${JSON.stringify(FILE)};

const server = new McpServer({ name: "local", version: "1.0.0" });
server.tool("call", { input: z.object({ url: z.any() }) }, ({ url }, ctx) =>
  api.call({ env: { API_URL: url }, signal: ctx.signal }, { path: "/items", query: { a: 1 } }));
server.tool("bound", {}, (_, ctx) => api.call(ctx, { path: "/items" }));
export default edge(server);
`;

let api: Server;
let requested: string[];
let worker: TestWorker;
const port = () => (api.address() as AddressInfo).port;
beforeAll(async () => {
  api = createServer(({ url = "" }, response) => {
    requested.push(url);
    if (url === "/moved/items?a=1") response.writeHead(302, { Location: "/items" });
    response.end("found");
  });
  await new Promise<void>((done) => api.listen(0, "127.0.0.1", done));
  worker = await startWorker({ entry: { source: SOURCE }, bindings: { API_URL: `http://127.0.0.1:${port()}/bound` } });
});
beforeEach(() => {
  requested = [];
});
afterAll(async () => {
  await worker?.stop();
  api.close();
});

async function call(tool: string, args: Readonly<Record<string, unknown>>) {
  const client = await connect(worker.url("/mcp"), { name: "test", version: "1.0.0" });
  const { isError = false, content } = await client.callTool(tool, args);
  await client.close();
  return { isError, text: content.map((block) => (block.type === "text" ? block.text : "")).join("") };
}

test("are sent to the base URL that the binding names", async () => {
  expect(await call("bound", {})).toMatchObject({ isError: false });
  for (const path of ["/v2", "/v2/"])
    expect(await call("call", { url: `http://127.0.0.1:${port()}${path}` })).toMatchObject({ isError: false });
  expect(await call("call", { url: `http://localhost:${port()}` })).toMatchObject({ isError: false });
  expect(requested).toEqual(["/bound/items", "/v2/items?a=1", "/v2/items?a=1", "/items?a=1"]);
});

test("follow no redirects there either", async () => {
  const { isError, text } = await call("call", { url: `http://127.0.0.1:${port()}/moved` });
  expect([isError, text]).toEqual([true, expect.stringContaining("could not be reached")]);
  expect(requested).toEqual(["/moved/items?a=1"]);
});

test.each(["http://api.example.com", "http://10.0.0.1/", "ftp://localhost/", "x", 5, "https://user:pw@a.example.com"])(
  "are refused for %j with what the operator has to do",
  async (url) => {
    const { isError, text } = await call("call", { url });
    expect([isError, text]).toEqual([
      true,
      expect.stringContaining("The operator of this server has to correct API_URL"),
    ]);
  },
);

test.each(["https://10.0.0.1/", "https://metadata.google.internal/"])(
  "are not sent to the private host %s",
  async (url) => {
    expect(await call("call", { url })).toMatchObject({
      isError: true,
      text: expect.stringContaining("could not be reached"),
    });
  },
);
