/** Requests of a legacy server that a modern host cannot get through `mcp-edge bridge`. */
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { useClients } from "../client/join.ts";
import { initialized, result, scripted } from "../client/scripted.ts";
import { bridged } from "./bridged.ts";

const join = useClients();

test("a request with an unknown method is refused by the bridge, and the call continues", async () => {
  const refusals: unknown[] = [];
  let stream: ServerResponse | undefined;
  let call: unknown;
  const write = (message: object) => stream?.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
  await using server = await scripted(({ message, method }, response) => {
    if (method !== "POST") return response.writeHead(405).end();
    if (message?.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
    if (message?.method === "server/discover") return response.writeHead(404).end();
    if (message?.method === "tools/list") return result(response, message.id, { tools: [] });
    if (message?.method === "tools/call") {
      [stream, call] = [response.writeHead(200, { "content-type": "text/event-stream" }), message.id];
      return write({ id: "q", method: "evil/method", params: { message: "Agree?" } });
    }
    response.writeHead(202).end();
    if (message?.id !== "q") return undefined;
    refusals.push(message);
    write({ id: call, result: { content: [{ type: "text", text: "done" }] } });
    return stream?.end();
  });
  await using bridge = await bridged(server.url);
  const { client } = await join(bridge.transport, { protocolVersions: ["2026-07-28"] });
  expect(await client.callTool("t")).toMatchObject({ content: [{ text: "done" }] });
  expect(refusals).toEqual([expect.objectContaining({ error: expect.objectContaining({ code: -32601 }) })]);
});
