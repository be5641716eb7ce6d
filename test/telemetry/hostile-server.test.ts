/** `clientTelemetry()` and a server that makes up error codes, methods of questions and traces. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { clientTelemetry, type Measurement } from "../../src/telemetry/index.ts";
import { until } from "../../src/testing/until.ts";
import { openTelemetry, type Recorded, takeSpans } from "./recorded.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const _meta = { traceparent: `00-${TRACE}-${SPAN}-01` };

let failures = 0;

/** Returns the messages with which the server responds to a request. */
function respond(id: unknown, method: string, tool: unknown): object[] {
  const serverInfo = { name: "hostile", version: "1.0.0" };
  if (method === "initialize")
    return [{ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } }];
  if (tool !== "asks") return [{ id, error: { code: -1000 - failures++, message: "Made up." } }];
  return [
    { id: "unknown", method: "made/up", params: { _meta } },
    {
      id: "known",
      method: "elicitation/create",
      params: { message: "Sure?", requestedSchema: { type: "object", properties: {} }, _meta },
    },
    { id, result: { content: [] } },
  ];
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return void response.writeHead(405).end();
  const { id, method, params } = JSON.parse(await text(request));
  if (id === undefined || method === undefined) return void response.writeHead(202).end();
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const message of respond(id, method, params?.name))
    response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  response.end();
}

const server = createServer((request, response) => void serve(request, response));
beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
afterAll(() => void server.close());

async function connected(metrics: (measurement: Measurement) => void = () => undefined) {
  const client = await connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, {
    name: "probe",
    version: "1.0.0",
    protocolVersions: ["2025-06-18"],
    onEvent: () => undefined,
    onElicit: () => ({ action: "decline" }),
    use: [clientTelemetry({ openTelemetry, metrics })],
  });
  takeSpans();
  return client;
}

test("error codes that the server makes up are in spans, and not in metrics", async () => {
  const measured: Measurement[] = [];
  const client = await connected((measurement) => void measured.push(measurement));
  for (const _ of [1, 2]) await client.callTool("fails").catch(() => undefined);
  await client.close();
  const calls = measured.filter(({ name }) => name === "mcp.client.operation.duration");
  expect(calls.map(({ attributes }) => attributes["error.type"])).toEqual(["_OTHER", "_OTHER"]);
  expect(JSON.stringify(calls)).not.toContain("rpc.response.status_code");
  expect(takeSpans().map(({ attributes }) => attributes["error.type"])).toEqual(["-1000", "-1001"]);
});

test("questions do not choose the name of a span, nor its trace", async () => {
  const client = await connected();
  await client.callTool("asks");
  const asked: Recorded[] = [];
  await until("both questions are answered", () => {
    asked.push(...takeSpans().filter(({ kind }) => kind === "server"));
    return asked.length >= 2;
  });
  await client.close();
  expect(asked.map(({ name }) => name).sort()).toEqual(["_OTHER", "elicitation/create"]);
  for (const { links, traceId } of asked) {
    expect(links).toEqual([SPAN]);
    expect(traceId).not.toBe(TRACE);
  }
});
