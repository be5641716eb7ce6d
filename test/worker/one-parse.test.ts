/** The body of a request is read and parsed once, whatever plugins an endpoint has. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { requestOf } from "../http/messages.ts";

const SOURCE = `
import { McpServer } from "./src/core/index.ts";
import { audit } from "./src/worker/access/audit/index.ts";
import { bearer } from "./src/worker/access/auth/index.ts";
import { durable } from "./src/worker/durable/index.ts";
import { definePlugin, edge } from "./src/worker/index.ts";
import { rates } from "./src/worker/access/rates/index.ts";

let parses = 0;
const parse = JSON.parse;
JSON.parse = (text, ...more) => {
  if (String(text).includes("params")) parses += 1;
  return parse(text, ...more);
};
const seen = [];
const server = new McpServer({ name: "once", version: "1.0.0" });
server.tool("write", {}, () => "written");
const verify = (token) => ({ subject: "ann", scopes: [token] });
const bound = { max: 100, perMs: 60_000 };
const app = edge(server, {
  use: [
    durable(),
    rates({ principal: bound, session: bound, tools: { "*": bound }, methods: { "tools/call": bound } }),
    audit({ to: (record) => void seen.push([record.kind, record.reason ?? record.tool, record.subject]) }),
    definePlugin({ name: "own()", attach: () => ({ authorize: ({ messages }) => void seen.push(["own", messages.length]) }) }),
    bearer({ issuer: "https://login.example.com", verify, needs: { tools: { write: ["write"] } } }),
  ],
});
app.get("/parses", ({ json }) => json({ parses, seen }));
export default app;
export class McpObject extends app.McpObject {}
`;

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: { source: SOURCE }, objects: ["McpObject"] });
});
afterAll(() => worker?.stop());

async function statusOf(scope: string): Promise<number> {
  const message = requestOf("modern", "tools/call", { name: "write", arguments: {} });
  const headers = {
    authorization: `Bearer ${scope}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "write",
  };
  const response = await fetch(worker.url("/mcp"), { method: "POST", headers, body: JSON.stringify(message) });
  await response.text();
  return response.status;
}

test("scopes, rates, audit and a plugin of the author cause no additional parsing of a request, whether it is served or refused", async () => {
  expect(await statusOf("write")).toBe(200);
  expect(await statusOf("read")).toBe(403);
  const { parses, seen } = (await (await fetch(worker.url("/parses"))).json()) as { parses: number; seen: unknown };
  expect(parses).toBe(2);
  expect(seen).toEqual([
    ["own", 1],
    ["call", "write", "ann"],
    ["own", 1],
    ["refusal", "insufficient_scope", "ann"],
  ]);
});
