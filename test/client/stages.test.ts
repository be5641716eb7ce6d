/** D2 of a client: timeouts and transport failures name the stage that the request had reached. */
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { type ClientErrorStage, connect } from "../../src/client/index.ts";
import { useClients } from "./join.ts";
import { ME } from "./places.ts";
import { type Asked, discovered, initialized, result, scripted } from "./scripted.ts";

const join = useClients();
const LEGACY = { protocolVersions: ["2025-11-25"] };

/** Starts an event stream and leaves it open. */
function open(response: ServerResponse, text: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" }).write(text);
}

/** Answers the requests that open a legacy connection, and passes `tools/call` and GET on. */
function legacy(answer: (asked: Asked, response: ServerResponse) => unknown) {
  return (asked: Asked, response: ServerResponse): unknown => {
    const { method, message } = asked;
    if (message?.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
    const isCall = method === "GET" || message?.method === "tools/call";
    return isCall ? answer(asked, response) : response.writeHead(202).end();
  };
}

test.each([
  ["never answers", () => undefined, "timeout"],
  ["closes the connection", (_: unknown, response: ServerResponse) => response.destroy(), "unreachable"],
])("D2: opening a connection to a server that %s fails at the stage of connecting", async (_, answer, code) => {
  await using server = await scripted(answer);
  const connecting = connect(server.url, { ...ME, ...LEGACY, timeoutMs: 300 });
  await expect(connecting).rejects.toMatchObject({ code, stage: "connect" });
});

test.each<[string, (asked: Asked, response: ServerResponse) => unknown, string, ClientErrorStage]>([
  ["a call without a response", () => undefined, "timeout", "request"],
  ["a call whose connection breaks", (_, response) => response.destroy(), "unreachable", "request"],
  ["a call that is refused", (_, response) => response.writeHead(403).end(), "http-status", "request"],
  ["a call whose stream brings nothing", (_, response) => open(response, ": open\n\n"), "timeout", "stream"],
  [
    "a call whose stream ends",
    (_, response) => {
      open(response, ": open\n\n");
      response.end();
    },
    "stream-lost",
    "stream",
  ],
  [
    "a call whose stream cannot be resumed",
    ({ method }, response) => {
      if (method === "GET") return response.writeHead(503).end();
      open(response, "id: 1\nretry: 10\ndata: \n\n");
      return response.end();
    },
    "stream-lost",
    "resume",
  ],
  [
    "a call whose stream was resumed and then brings nothing",
    ({ method }, response) => {
      open(response, "id: 1\nretry: 10\ndata: \n\n");
      if (method === "POST") response.end();
    },
    "timeout",
    "stream",
  ],
])("D2: the error of %s names the stage", async (_, answer, code, stage) => {
  await using server = await scripted(legacy(answer));
  const { client } = await join(server.url, { ...LEGACY, reconnectsMax: 2 });
  // Only the calls that get no answer last so long.
  const failed = client.callTool("any", {}, { timeoutMs: 2_000 });
  await expect(failed).rejects.toMatchObject({ code, stage });
  if (code === "timeout") await expect(failed).rejects.toThrow(`Stage: ${stage}.`);
});

test("D2: a round that follows a stream starts at its request again", async () => {
  let calls = 0;
  await using server = await scripted(({ message }, response) => {
    if (message?.method === "server/discover") return result(response, message.id, discovered());
    calls += 1;
    if (calls > 1) return response.destroy();
    const value = { resultType: "input_required", requestState: "s" };
    open(response, `data: ${JSON.stringify({ jsonrpc: "2.0", id: message?.id, result: value })}\n\n`);
    return response.end();
  });
  const { client } = await join(server.url);
  await expect(client.callTool("any")).rejects.toMatchObject({ code: "unreachable", stage: "request" });
  expect(calls).toBe(2);
});

test.each([
  [
    "fails",
    "question-failed",
    () => {
      throw new Error("nobody is there");
    },
  ],
  ["takes too long", "total-timeout", () => new Promise<never>(() => undefined)],
])("D2: a question whose handler %s fails the call at the stage of the question", async (_, code, onElicit) => {
  const params = { mode: "form", message: "Name?", requestedSchema: { type: "object", properties: {} } };
  await using server = await scripted(({ message }, response) => {
    if (message?.method === "server/discover") return result(response, message.id, discovered());
    const inputRequests = { name: { method: "elicitation/create", params } };
    return result(response, message?.id, { resultType: "input_required", inputRequests });
  });
  const { client } = await join(server.url, { onElicit, totalTimeoutMs: 1_000 });
  await expect(client.callTool("any")).rejects.toMatchObject({ code, stage: "question" });
});
