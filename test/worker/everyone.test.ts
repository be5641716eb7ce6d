/** An endpoint without `auth`: beyond this machine, its log says that everyone may call. */
import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { request as message } from "../http/messages.ts";

const SOURCE = `
import { McpServer } from "./src/core/index.ts";
import { anonymous, authenticate, edge } from "./src/worker/index.ts";
const log = [];
for (const level of ["log", "warn", "error"]) console[level] = (...said) => log.push(said.join(" "));
const server = new McpServer({ name: "everyone", version: "1.0.0" });
server.tool("hello", {}, (_, ctx) => (ctx.auth ? "Hello, " + ctx.auth.subject : "Hello!"));
const options = {
  "/open": {},
  "/intended": { use: [anonymous()] },
  "/checked": { use: [authenticate(() => ({ issuer: "test", subject: "ann" }))] },
  "/mistaken": { use: ["nobody"] },
};
const apps = Object.entries(options).map(([path, more]) => [path, edge(server, { path, ...more })]);
export default {
  fetch(request, env, context) {
    const { pathname } = new URL(request.url);
    if (pathname === "/log") return Response.json(log);
    const [, app] = apps.find(([path]) => path === pathname);
    return app.fetch(request, env, context);
  },
};
`;

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: { source: SOURCE } });
});
afterAll(() => worker?.stop());

/** Calls the tool at a host that the test chooses. Returns the response as text. */
function callAt(host: string, path: string): Promise<string> {
  const headers = { "Content-Type": "application/json", Accept: "application/json", Host: host };
  return new Promise((resolve, reject) => {
    const sent = request(worker.url(path), { method: "POST", headers }, async (response) => {
      resolve((await response.toArray()).join(""));
    });
    sent.on("error", reject).end(JSON.stringify(message("tools/call", { name: "hello" })));
  });
}

const log = async () => (await (await fetch(worker.url("/log"))).json()) as string[];

test("nothing is logged for hosts of this machine", async () => {
  for (const host of ["localhost:8787", "127.0.0.1", "[::1]:8787", "mcp.localhost"]) {
    expect(await callAt(host, "/open")).toContain("Hello!");
  }
  expect(await log()).toEqual([]);
});

test("nothing is logged for an endpoint that authenticates, or that allows everyone on purpose", async () => {
  expect(await callAt("mcp.example.com", "/checked")).toContain("Hello, ann");
  expect(await callAt("mcp.example.com", "/intended")).toContain("Hello!");
  expect(await log()).toEqual([]);
});

test("for any other endpoint the log says once that everyone may call, and what to write", async () => {
  for (const host of ["mcp.example.com", "localhost", "other.example.com"]) {
    expect(await callAt(host, "/open")).toContain("Hello!");
  }
  expect(await log()).toEqual(["mcp-edge: everyone may call. If that is intended, add anonymous() to the option use."]);
});

test("a string in place of a plugin is refused, and no caller is admitted", async () => {
  expect(await callAt("localhost", "/mistaken")).toContain(
    "[option-invalid] edge(): use[0] is a value of type string; write a plugin such as durable(), or Hono middleware.",
  );
});
