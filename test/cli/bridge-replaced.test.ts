/** Errors of a server that look as if it had been replaced by one of another version while `mcp-edge bridge` is connected. */
import { expect, test } from "vitest";
import { useClients } from "../client/join.ts";
import { CACHED, DONE, discovered, error, initialized, json, result, scripted } from "../client/scripted.ts";
import { bridged } from "./bridged.ts";

const LEGACY_HOST = { protocolVersions: ["2025-11-25"] };
const join = useClients();

test("a call runs once if its tool returns -32600, and other calls continue", async () => {
  const calls: unknown[] = [];
  const sessions: unknown[] = [];
  let opened = 0;
  let answerSlow = () => {};
  await using server = await scripted(({ message, method, headers }, response) => {
    if (method !== "POST") return response.writeHead(405).end();
    if (message?.id === undefined) return response.writeHead(202).end();
    if (message.method === "initialize") {
      opened += 1;
      return result(response, message.id, initialized("2025-11-25"), { "mcp-session-id": `s${opened}` });
    }
    calls.push(message.params?.name);
    sessions.push(headers["mcp-session-id"]);
    if (message.params?.name === "pay") {
      return json(response, 200, {
        jsonrpc: "2.0",
        id: message.id,
        error: { code: -32600, message: "The amount is not valid." },
      });
    }
    answerSlow = () => result(response, message.id, { content: [{ type: "text", text: "done" }] });
  });
  await using bridge = await bridged(server.url);
  const { client } = await join(bridge.transport, LEGACY_HOST);
  const slow = client.callTool("slow");
  const failure = await client.callTool("pay").catch((reason: unknown) => reason);
  expect(failure).toMatchObject({ code: -32600, message: "The amount is not valid." });
  answerSlow();
  expect(await slow).toEqual({ content: [{ type: "text", text: "done" }] });
  expect(calls.toSorted()).toEqual(["pay", "slow"]);
  await client.callTool("pay").catch(() => undefined);
  expect(sessions).toEqual(["s1", "s1", "s1"]);
});

test("every call of a host is sent again if the server was replaced by a modern one, and the earlier calls end", async () => {
  let isModern = false;
  let answerEarly = () => {};
  await using server = await scripted(({ message, headers, method }, response) => {
    if (method !== "POST") return response.writeHead(405).end();
    if (message?.id === undefined) return response.writeHead(202).end();
    const requested = headers["mcp-protocol-version"];
    if (isModern && requested !== "2026-07-28") {
      return error(response, 400, message.id, -32022, { supported: ["2026-07-28"], requested: requested ?? "x" });
    }
    if (message.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
    if (message.method === "server/discover") return result(response, message.id, discovered());
    if (message.method === "tools/list") return result(response, message.id, { ...CACHED, tools: [] });
    if (message.params?.name !== "early") return result(response, message.id, isModern ? DONE : { content: [] });
    answerEarly = () => result(response, message.id, { content: [{ type: "text", text: "early" }] });
  }, /error code -320(22|00) is not defined/);
  await using bridge = await bridged(server.url);
  const { client } = await join(bridge.transport, LEGACY_HOST);
  const early = client.callTool("early");
  await client.callTool("first");
  isModern = true;
  const calls = ["a", "b", "c", "d"].map((name) => client.callTool(name));
  expect(await Promise.all(calls)).toEqual(calls.map(() => ({ content: [] })));
  answerEarly();
  expect(await early).toEqual({ content: [{ type: "text", text: "early" }] });
});
