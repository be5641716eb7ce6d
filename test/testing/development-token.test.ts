/** Tokens of development users without a browser, from real workerd. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { developmentToken, newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { ModernClient, readAnswer } from "../worker/client.ts";

expectLogs(/^mcp-edge: The response does not belong to this sign-in of a development user\./);

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/people.ts",
    objects: { MCP: "McpObject" },
    bindings: { LOGIN_KEY: newKeys() },
  });
});
afterAll(() => worker?.stop());

/** Calls a tool with a token. */
async function call(token: string, tool: string) {
  const headers = { authorization: `Bearer ${token}` };
  return readAnswer(new ModernClient(worker.url("/mcp")).call(tool, {}, { headers }));
}

test("developmentToken() returns a token of the chosen user, for the scopes that every request needs", {
  tags: "long",
}, async () => {
  const token = await developmentToken(worker.url("/mcp"), "ada");
  expect(JSON.parse((await call(token, "who")).text ?? "")).toMatchObject({
    claims: { name: "Ada Lovelace", identity: { subject: "ada" } },
    scopes: ["read"],
  });
  expect((await call(token, "write")).status).toBe(403);
});

test("developmentToken() returns a token for the requested scopes", async () => {
  const token = await developmentToken(worker.url("/mcp"), "ada", { scope: "read write" });
  expect((await call(token, "write")).text).toBe("written");
});

describe("developmentToken()", () => {
  test.each<[string, string, RegExp]>([
    ["of a user who does not exist", "eve", /the user "eve" was not signed in: 400 .*Start again/],
    ["of a user who is not admitted", "grace", /the user "grace" was not signed in: 403 .*is not allowed to use Notes/],
  ])("rejects with the reason for a token %s", async (_, user, reason) => {
    await expect(developmentToken(worker.url("/mcp"), user)).rejects.toThrow(reason);
  });

  test("rejects with the reason for scopes that no user may grant", async () => {
    const asked = developmentToken(worker.url("/mcp"), "ada", { scope: '"' });
    await expect(asked).rejects.toThrow(/invalid_scope/);
  });

  test.each(["https://mcp.example.com/mcp", "http://192.168.0.2:8787/mcp", "http://localhost.evil.example/mcp"])(
    "rejects with the reason at %s, to which it sends no request",
    async (url) => {
      await expect(developmentToken(url, "ada")).rejects.toThrow(/is not on this machine/);
    },
  );

  test("rejects with the reason at a server without registration, and at a server without development users", {
    tags: "long",
  }, async () => {
    const start = (bindings: Record<string, string>) =>
      startWorker({
        entry: "test/worker/fixtures/authorization-server.ts",
        objects: { MCP: "McpObject" },
        bindings: { UPSTREAM: "http://127.0.0.1:1", ...bindings },
      });
    await using closed = await start({ CLOSED: "yes" });
    await expect(developmentToken(closed.url("/mcp"), "ada")).rejects.toThrow(/pass registration: true/);
    await using other = await start({});
    await expect(developmentToken(other.url("/mcp"), "ada")).rejects.toThrow(
      /did not offer its development users: 200 Sign in/,
    );
  });
});
