/** What requests share in an isolate is not lost when the request that began it is cancelled. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { newKey, signJwt } from "../harness/issuer.ts";
import { expectLogs } from "../harness/logs.ts";
import { initialize } from "../http/messages.ts";
import { Outside } from "./outside.ts";

expectLogs(/^mcp-edge: tokens must have the issuer/);

const outside = new Outside();
let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/cancelled-requests.ts",
    objects: { MCP: "McpObject", TOKENS: "TokenObject" },
    twin: true,
    outbound: outside.answer,
  });
});
afterAll(() => worker?.stop());

/** Sends a request that the other isolate serves. */
async function send(path: string, headers: Record<string, string> = {}, init: RequestInit = {}) {
  const response = await fetch(worker.url(path), { ...init, headers: { "X-Twin": "yes", ...headers } });
  return { status: response.status, text: await response.text() };
}

test("the keys of an issuer arrive for other requests if the request that fetched them is cancelled", async () => {
  const key = await newKey("ES256", "key");
  const jwks_uri = "https://issuer.example/keys";
  const metadata = { issuer: "https://issuer.example", jwks_uri };
  outside.publish("https://issuer.example/.well-known/oauth-authorization-server", () => Response.json(metadata));
  const { isAsked, release } = outside.hold(jwks_uri, () => Response.json({ keys: [key.jwk] }));
  const claims = { iss: "https://issuer.example", aud: "https://mcp.example/mcp", sub: "ada", exp: 9e9 };
  const headers = {
    Authorization: `Bearer ${await signJwt(key, claims)}`,
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
  };
  const init = { method: "POST", body: JSON.stringify(initialize("2025-11-25")) };
  expect((await send("/mcp", { ...headers, "X-Abandon-When": isAsked }, init)).text).toBe("abandoned");
  const later = send("/mcp", headers, init);
  release();
  expect((await later).status).toBe(200);
  expect(outside.requests.filter(({ url }) => url === jwks_uri)).toHaveLength(1);
});

test.each(["/memory", "/object"])(
  "the lock of a token store is released if its request is cancelled: %s",
  async (path) => {
    const work = `https://work.example${path}`;
    const { isAsked } = outside.hold(work, () => new Response("never"));
    expect((await send(`${path}?work=${work}`, { "X-Abandon-When": isAsked })).text).toBe("abandoned");
    outside.publish(`${work}/next`, () => new Response("done"));
    expect(await send(`${path}?work=${work}/next`)).toEqual({ status: 200, text: "done" });
  },
);
