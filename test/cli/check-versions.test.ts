/** `mcp-edge check` with servers that refuse `initialize` or `server/discover` as an unknown method. */
import { expect, test } from "vitest";
import { CACHED, discovered, json, result, scripted } from "../client/scripted.ts";
import { cli } from "./run.ts";

test("a modern server that refuses initialize as unknown is checked in its version", async () => {
  await using server = await scripted(({ message, method }, response) => {
    if (method !== "POST") return response.writeHead(405).end();
    const { id, method: asked } = message ?? {};
    if (asked === "server/discover") return result(response, id, discovered());
    if (asked === "tools/list") return result(response, id, { ...CACHED, tools: [] });
    const code = asked === "tools/call" ? -32602 : -32601;
    return json(response, 200, { jsonrpc: "2.0", id, error: { code, message: "unknown" } });
  });
  const { code, stdout } = await cli(["check", server.url, "--no-suite", "--json"]);
  const { rows } = JSON.parse(stdout) as { rows: { version: string; name: string; status: string; detail: string }[] };
  expect(rows.filter(({ name, status }) => name === "connect" && status === "passed")).toEqual([
    expect.objectContaining({ version: "2026-07-28" }),
  ]);
  expect(rows.find(({ version }) => version === "2025-11-25")).toMatchObject({
    status: "not-applicable",
    detail: "the server does not support this version: The server returned error -32601: unknown",
  });
  expect(code).toBe(0);
});

test("a server that refuses every version fails, with the reason", async () => {
  await using server = await scripted(({ message, method }, response) => {
    if (method !== "POST") return response.writeHead(405).end();
    return json(response, 200, { jsonrpc: "2.0", id: message?.id, error: { code: -32601, message: "unknown" } });
  });
  const { code, stderr } = await cli(["check", server.url, "--no-suite"]);
  expect(stderr).toContain("none of the protocol versions that mcp-edge supports");
  expect(stderr).toContain("error -32601: unknown");
  expect(code).toBe(3);
});
