/** The requests to objects that a call with a token costs. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Issuer, newKey, type SigningKey, signJwt } from "../harness/issuer.ts";
import { expectLogs } from "../harness/logs.ts";
import { proofOf, thumbprint } from "../harness/proofs.ts";
import { LegacyClient, ModernClient, readAnswer } from "../worker/client.ts";

expectLogs(/^mcp-edge: tokens must have the issuer/);

let issuer: Issuer;
let worker: TestWorker;
let key: SigningKey;
let own: SigningKey;

beforeAll(async () => {
  issuer = await Issuer.start();
  key = await newKey("ES256", "one");
  own = await newKey("ES256", undefined);
  issuer.published = [key.jwk];
  const entry = "test/costs/auth-worker.ts";
  worker = await startWorker({ entry, objects: ["McpObject"], bindings: { ISSUER: issuer.url } });
});
afterAll(async () => {
  await worker?.stop();
  await issuer?.stop();
});

const requests = async () => Number(await (await fetch(worker.url("/requests"))).text());
let before = 0;
beforeEach(async () => {
  before = await requests();
});

const tokenWith = (more: object) => {
  const exp = Math.floor(Date.now() / 1000) + 300;
  return signJwt(key, { iss: issuer.url, aud: worker.url("/mcp"), sub: "alice", exp, ...more });
};
const call = (headers: Record<string, string>) =>
  readAnswer(new ModernClient(worker.url("/mcp")).call("who", {}, { headers }));

test("a modern call with bearer() makes no object request, whether it is accepted or refused", async () => {
  const token = await tokenWith({});
  expect((await call({ authorization: `Bearer ${token}` })).text).toBe("alice");
  expect((await call({ authorization: "Bearer other" })).status).toBe(401);
  expect((await call({})).status).toBe(401);
  expect((await requests()) - before).toBe(0);
});

test("a modern call with a bound token makes one object request, and none if its proof is refused", async () => {
  const token = await tokenWith({ cnf: { jkt: await thumbprint(own) } });
  const dpop = await proofOf(own, token, worker.url("/mcp"));
  expect((await call({ authorization: `DPoP ${token}`, dpop })).text).toBe("alice");
  expect((await requests()) - before).toBe(1);
  const old = await proofOf(own, token, worker.url("/mcp"), { iat: 1 });
  expect((await call({ authorization: `DPoP ${token}`, dpop: old })).status).toBe(401);
  expect((await requests()) - before).toBe(1);
});

test("a refused request to a session makes no object request", async () => {
  const session = await LegacyClient.open(worker.url("/mcp"), { token: await tokenWith({}) });
  const opened = await requests();
  const headers = { "mcp-session-id": session.sessionId ?? "", "mcp-protocol-version": "2025-11-25" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "who" } });
  const content = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const post = { method: "POST", headers: { ...content, ...headers, authorization: "Bearer other" }, body };
  expect((await fetch(worker.url("/mcp"), post)).status).toBe(401);
  expect((await requests()) - opened).toBe(0);
});
