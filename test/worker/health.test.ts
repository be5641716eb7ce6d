/** `health()`: a route that says whether the Worker runs. */
import { describe, expect, test } from "vitest";
import { McpServer, ToolError } from "../../src/core/index.ts";
import { serveHttp } from "../../src/node/index.ts";
import { anonymous, authenticate, edge, type HealthOptions, health, type Use } from "../../src/worker/index.ts";
import { ModernClient } from "./client.ts";

interface Env {
  readonly HEALTH_TOKEN?: string;
}

function createServer(during: () => Promise<void> | void = () => undefined): McpServer<Env> {
  const server = new McpServer<Env>({ name: "watched", version: "1.2.3" });
  server.tool("fails", {}, () => {
    throw new ToolError("secret of the author");
  });
  server.tool("busy", {}, async () => {
    await during();
    return "done";
  });
  return server;
}

async function serve(
  options: HealthOptions<Env>,
  more: Use<Env>[] = [anonymous()],
  env: Env = { HEALTH_TOKEN: "right" },
) {
  const app = edge(createServer(), { use: [health(options), ...more] });
  const serving = await serveHttp(app, { port: 0, env, log: () => undefined });
  const get = (path = "/healthz", headers: Record<string, string> = {}, method = "GET") =>
    fetch(`${serving.origin}${path}`, { method, headers });
  return { serving, get, [Symbol.asyncDispose]: () => serving.close() };
}

const TOKEN = { authorization: "Bearer right" };

test("responds with only the status by default, to everyone, even if the endpoint refuses everyone", async () => {
  await using place = await serve({}, [authenticate(() => null)]);
  const response = await place.get("/healthz", TOKEN);
  expect(response.status).toBe(200);
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(await response.json()).toEqual({ status: "ok" });
  expect((await place.get("/healthz", {}, "POST")).status).toBe(404);
});

test("names the server and its protocol versions if the option server is set", async () => {
  const server = createServer();
  await using place = await serve({ server, path: "/up" });
  expect(await (await place.get("/up")).json()).toEqual({
    status: "ok",
    name: "watched",
    version: "1.2.3",
    protocolVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
  });
  expect((await place.get("/healthz")).status).toBe(404);
});

test("shows requests in progress and the last failure to a request with the token, and to no other", async () => {
  let begin = () => {};
  let finish = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const server = createServer(() => {
    begin();
    return finished;
  });
  const app = edge(server, { use: [health({ token: "HEALTH_TOKEN" }), anonymous()] });
  await using serving = await serveHttp(app, { port: 0, env: { HEALTH_TOKEN: "right" }, log: () => undefined });
  const read = async (headers: Record<string, string>) =>
    (await fetch(`${serving.origin}/healthz`, { headers })).json();
  const client = new ModernClient(`${serving.origin}/mcp`);
  await (await client.call("fails")).text();
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "made/\u001b[2J" });
  await (await fetch(`${serving.origin}/mcp`, { method: "POST", headers, body })).text();
  const busy = client.call("busy");
  await begun;
  const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  expect(await read(TOKEN)).toEqual({
    status: "ok",
    isolate: {
      inFlight: 1,
      ended: 2,
      failed: 2,
      lastError: { at, method: "made/\\u001b[2J", errorCode: -32_601 },
    },
  });
  await (await fetch(`${serving.origin}/mcp`, { method: "PUT" })).text();
  expect(await read(TOKEN)).toMatchObject({
    isolate: { lastRefusal: { at, reason: "method-not-allowed", status: 405 } },
  });
  finish();
  await (await busy).text();
  expect(await read({ authorization: "bearer right" })).toHaveProperty("isolate");
  for (const authorization of ["Bearer wrong", "right", "Bearer ", "Bearer right "]) {
    const shown = await read({ authorization });
    if (authorization.trim() !== "Bearer right") expect(shown).toEqual({ status: "ok" });
  }
  expect(await read({})).toEqual({ status: "ok" });
});

test.each([
  ["is not set", {}],
  ["is empty", { HEALTH_TOKEN: "" }],
])("does not show the state if the secret %s", async (_, env) => {
  await using place = await serve({ token: "HEALTH_TOKEN" }, [anonymous()], env);
  for (const authorization of ["Bearer ", "Bearer undefined"]) {
    expect(await (await place.get("/healthz", { authorization })).json()).toEqual({ status: "ok" });
  }
});

describe("options", () => {
  test.each(["/mcp", "/mcp/"])("the path %s of the endpoint is refused", (path) => {
    expect(() => edge(createServer(), { use: [health({ path })] })).toThrow(/the path of the endpoint/);
  });

  test.each(["/*", "/:name", "/up?x", "/up#x", "/{up}"])(
    "the path %s, which is a pattern or not a path, is refused",
    (path) => {
      expect(() => health({ path })).toThrow(/write a path without/);
    },
  );

  test("an unknown option and a path without a slash are refused", () => {
    expect(() => health({ tokens: "A" } as never)).toThrow(/Did you mean "token"/);
    expect(() => health({ path: "up" })).toThrow(/begin it with/);
  });
});
