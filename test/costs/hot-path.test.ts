/** How a plain request uses the platform: counts that do not depend on the machine, unlike times. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import type { Uses } from "./watched-globals.ts";

let worker: Workerd;
let tap: HttpTap;
let stateless: HttpTap;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/costs/hot-path-worker.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
  tap = await startHttpTap(`${worker.origin}/mcp`);
  stateless = await startHttpTap(`${worker.origin}/stateless`, { oracle: tap.oracle });
});
afterAll(async () => {
  await tap.close();
  await stateless.close();
  await worker.stop();
  tap.oracle.expectClean();
});

const MODERN = "2026-07-28";
const _meta = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const NOTHING: Uses = {
  timers: 0,
  abortControllers: 0,
  streams: 0,
  decrypted: 0,
  held: 0,
  stringified: expect.any(Number),
};

async function send(message: object, headers: Record<string, string>, url = tap.url): Promise<Response> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
  expect(answer.status).toBe(200);
  return answer;
}

const call = { name: "forecast-7", arguments: { city: "Oslo" } };
const modern = (method: string, name = "") => ({
  "MCP-Protocol-Version": MODERN,
  "Mcp-Method": method,
  ...(name === "" ? {} : { "Mcp-Name": name }),
});
const modernCall = (name: string) =>
  send({ method: "tools/call", params: { ...call, name, _meta } }, modern("tools/call", name));
const modernList = () => send({ method: "tools/list", params: { _meta } }, modern("tools/list"));

/** Returns the header with the id of a new session. */
async function openSession(): Promise<Record<string, string>> {
  const clientInfo = { name: "hot path", version: "1.0.0" };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
  const opened = await send({ method: "initialize", params }, {});
  await opened.text();
  return { "Mcp-Session-Id": opened.headers.get("Mcp-Session-Id") ?? "" };
}

/** Returns the counts of one request, after it was sent once before. */
async function usesOf(request: () => Promise<Response>): Promise<Uses> {
  await (await request()).text();
  await fetch(`${worker.origin}/uses`);
  expect(await (await request()).text()).toMatch(/sun|forecast-7|aborted/);
  return (await fetch(`${worker.origin}/uses`)).json() as Promise<Uses>;
}

test("a modern call starts no timer and creates neither a stream nor an AbortController", async () => {
  const uses = await usesOf(() => modernCall("forecast-7"));
  expect(uses).toEqual(NOTHING);
  // Its result and its id.
  expect(uses.stringified).toBeLessThan(250);
});

test("a list of fifty tools is not encoded again", async () => {
  const uses = await usesOf(modernList);
  expect(uses).toEqual(NOTHING);
  expect(uses.stringified).toBeLessThan(20);
});

test("a legacy call without a session creates no more objects than a modern call", async () => {
  const params = { method: "tools/call", params: call };
  const uses = await usesOf(() => send(params, { "MCP-Protocol-Version": "2025-11-25" }, stateless.url));
  expect(uses).toEqual(NOTHING);
});

test("a session call starts no timer and does not keep its object awake; other isolates open its id once", {
  tags: "long",
}, async () => {
  const session = await openSession();
  const oneCall = () => send({ method: "tools/call", params: call }, session);
  expect(await usesOf(oneCall)).toEqual(NOTHING);
  await worker.killAndRestart();
  await fetch(`${worker.origin}/uses`);
  await (await oneCall()).text();
  expect(await (await fetch(`${worker.origin}/uses`)).json()).toMatchObject({ decrypted: 1, timers: 0, held: 0 });
  expect(await usesOf(oneCall)).toEqual(NOTHING);
  expect(await usesOf(() => send({ method: "tools/list" }, session))).toEqual(NOTHING);
});

test("a slow call starts the timer after which its response becomes a stream", async () => {
  const uses = await usesOf(() => modernCall("slow"));
  // One timer is the handler's own; the signal is created because the handler uses it.
  expect(uses).toEqual({ ...NOTHING, timers: 2, abortControllers: 1 });
});

test("an object is kept awake for a slow session call", async () => {
  const session = await openSession();
  const uses = await usesOf(() => send({ method: "tools/call", params: { ...call, name: "slow" } }, session));
  expect(uses).toMatchObject({ held: 1 });
});
