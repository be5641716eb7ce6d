// @module-tag long
/** Messages of a hostile server: none of them ends the process of `mcp-edge bridge`, or leaves a request of the host open. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { ME } from "../client/places.ts";
import { CACHED, discovered, initialized, result } from "../client/scripted.ts";
import { NODE } from "../oracle/node.ts";
import { CLI } from "./run.ts";

const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const BIG = "x".repeat(3_000_000);
const ODD_VALUES = [
  "null",
  "[]",
  "{}",
  '""',
  "1e999",
  "-0",
  "true",
  '"\\ud800"',
  '{"__proto__":{}}',
  deep(20_000),
  `"${BIG}"`,
];
const WITH_VALUE = [
  (x: string) => x,
  (x: string) => `[${x},${x}]`,
  (x: string) => `{"jsonrpc":${x},"id":1,"result":{}}`,
  (x: string) => `{"jsonrpc":"2.0","id":${x},"result":{}}`,
  (x: string) => `{"jsonrpc":"2.0","method":${x}}`,
  (x: string) => `{"jsonrpc":"2.0","method":"notifications/progress","params":${x}}`,
  (x: string) => `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":${x}}}`,
  (x: string) =>
    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":${x}}}`,
  (x: string) => `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":${x},"data":${x}}}`,
  (x: string) => `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":${x}}}`,
  (x: string) => `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${x},"reason":${x}}}`,
  (x: string) =>
    `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":${x}}}`,
  (x: string) => `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":${x}}`,
  (x: string) =>
    `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":${x},"requestedSchema":${x}}}`,
  (x: string) =>
    `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":${x},"maxTokens":${x}}}`,
  (x: string) => `{"jsonrpc":"2.0","id":"q","method":"roots/list","params":{"x":${x}}}`,
  (x: string) => `{"jsonrpc":"2.0","id":"q","method":"no/such","params":{"x":${x}}}`,
];
/** Everything that a server sends beside the response to one call. */
const EVENTS = WITH_VALUE.flatMap((message) => ODD_VALUES.map(message));
/** Responses to calls. The id of the request replaces $. */
const ANSWERS = ODD_VALUES.flatMap((x) => [
  `{"jsonrpc":"2.0","id":$,"result":${x}}`,
  `{"jsonrpc":"2.0","id":$,"result":{"resultType":"complete","content":${x}}}`,
  `{"jsonrpc":"2.0","id":$,"result":{"resultType":"complete","content":[${x}]}}`,
  `{"jsonrpc":"2.0","id":$,"result":{"resultType":"complete","content":[],"structuredContent":${x}}}`,
  `{"jsonrpc":"2.0","id":$,"result":{"resultType":"complete","content":[{"type":${x},"text":${x}}]}}`,
  `{"jsonrpc":"2.0","id":$,"result":{"resultType":"complete","content":[],"_meta":${x}}}`,
  `{"jsonrpc":"2.0","id":$,"result":{"resultType":${x}}}`,
  `{"jsonrpc":"2.0","id":$,"result":{"resultType":"input_required","inputRequests":${x},"requestState":${x}}}`,
  `{"jsonrpc":"2.0","id":$,"result":{"resultType":"input_required","inputRequests":{"q":${x}}}}`,
  `{"jsonrpc":"2.0","id":$,"error":${x}}`,
  `{"jsonrpc":"2.0","id":$,"error":{"code":${x},"message":${x}}}`,
  `{"jsonrpc":"2.0","id":$,"error":{"code":-32000,"message":"m","data":${x}}}`,
]);

/** The number of the call in its name, or 0. */
function answerCall(response: ServerResponse, id: unknown, name: string): void {
  const number = Number(name.slice(1));
  if (name.startsWith("a")) {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(ANSWERS[number]?.replace("$", JSON.stringify(id)));
  } else {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${EVENTS[number]}\n\n`);
    const content = [{ type: "text", text: "fine" }];
    response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", content } })}\n\n`);
  }
}

const NAMES = [...EVENTS.keys()].map((n) => `e${n}`).concat([...ANSWERS.keys()].map((n) => `a${n}`));

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": ME,
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, sampling: {}, roots: {} },
};

test.each(["2025-11-25", "2026-07-28"])(
  "a host of %s gets a response to each of its calls from a hostile server",
  { timeout: 120_000 },
  async (version) => {
    const isModern = version === "2026-07-28";
    const server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      if (request.method === "GET") return response.writeHead(405).end();
      const message = text === "" ? {} : JSON.parse(text);
      if (message.method === "server/discover" && isModern) return result(response, message.id, discovered());
      if (message.method === "tools/list") return result(response, message.id, { ...CACHED, tools: [] });
      if (message.method === "initialize") return result(response, message.id, initialized(version));
      if (message.method === "tools/call") return answerCall(response, message.id, message.params.name);
      return response
        .writeHead(message.id === undefined || "result" in message || "error" in message ? 202 : 400)
        .end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const child = spawn(NODE, [CLI, "bridge", url], { stdio: ["pipe", "pipe", "pipe"] });
    const ended = once(child, "exit");
    let log = "";
    child.stderr.on("data", (data) => (log = (log + data).slice(-2_000)));
    const say = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const answered = new Set<unknown>();
    const lines = createInterface({ input: child.stdout });
    const capabilities = { elicitation: {}, sampling: {}, roots: {} };
    if (!isModern)
      say({ id: "i", method: "initialize", params: { protocolVersion: version, capabilities, clientInfo: ME } });
    NAMES.forEach((name, n) => {
      const meta = isModern ? { ...META, progressToken: n } : { progressToken: n };
      say({ id: n, method: "tools/call", params: { name, arguments: {}, _meta: meta } });
    });
    for await (const line of lines) {
      const { id, method } = JSON.parse(line);
      if (method === undefined && typeof id === "number") answered.add(id);
      else if (method !== undefined && id !== undefined) say({ id, error: { code: -32601, message: "no" } });
      if (answered.size === NAMES.length) break;
    }
    expect(child.exitCode, log).toBeNull();
    expect(NAMES.filter((_, n) => !answered.has(n))).toEqual([]);
    child.stdin.end();
    expect(await ended, log).toEqual([0, null]);
    server.closeAllConnections();
    server.close();
  },
);
