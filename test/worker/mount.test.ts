import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Workerd } from "../harness/workerd.ts";
import { LEGACY_VERSIONS } from "../http/messages.ts";
import { type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { clientOf, LegacyClient, ModernClient, readAnswer, VERSIONS } from "./client.ts";

let worker: Workerd;
let oracle: WireOracle;
let tools: HttpTap;
let other: HttpTap;

beforeAll(async () => {
  worker = await Workerd.start({ entry: "test/worker/fixtures/many.ts" });
});
afterAll(() => worker.stop());

beforeEach(async () => {
  oracle = new WireOracle();
  tools = await startHttpTap(`${worker.origin}/tools/mcp`, { oracle });
  other = await startHttpTap(`${worker.origin}/other/endpoint`, { oracle });
});
afterEach(async () => {
  await tools.close();
  await other.close();
});

describe("endpoints mounted in an app", () => {
  test.each(VERSIONS)("serve their own server, each at its own path (%s)", async (version) => {
    for (const { url, name } of [
      { url: tools.url, name: "tools" },
      { url: other.url, name: "other" },
    ]) {
      expect(await readAnswer((await clientOf(version, url)).call("which"))).toMatchObject({ status: 200, text: name });
    }
    oracle.expectClean();
  });

  test("do not affect the app's own routes", async () => {
    const page = await fetch(`${worker.origin}/`);
    expect(await page.text()).toBe("the author's own page");
    for (const path of ["/mcp", "/tools", "/tools/other", "/endpoint", "/other/mcp"]) {
      const response = await fetch(`${worker.origin}${path}`, { method: "POST", body: "{}" });
      expect([path, response.status]).toEqual([path, 404]);
    }
  });

  test.each(["POST", "GET", "DELETE", "OPTIONS"])("serve %s without additional routes", async (method) => {
    const response = await fetch(`${worker.origin}/tools/mcp`, { method });
    expect(response.status).not.toBe(404);
  });

  test("do not share their rules", async () => {
    const headers = { origin: "https://any.example" };
    expect((await fetch(`${worker.origin}/open/mcp`, { method: "OPTIONS", headers })).ok).toBe(true);
    expect((await fetch(`${worker.origin}/tools/mcp`, { method: "OPTIONS", headers })).status).toBe(403);
  });
});

describe("an endpoint without sessions", () => {
  test.each(LEGACY_VERSIONS)("gives %s no session id and requires none", async (version) => {
    const client = await LegacyClient.open(tools.url, { version });
    expect(client.greeting.protocolVersion).toBe(version);
    expect(client.sessionId).toBeUndefined();
    expect(await readAnswer(client.call("echo", { key: "k" }))).toMatchObject({ status: 200, text: "k" });
    expect(await readAnswer(client.request("ping"))).toMatchObject({ status: 200 });
    oracle.expectClean();
  });

  test("declares no notifications and no log level", async () => {
    const client = await LegacyClient.open(tools.url);
    expect(client.greeting.capabilities).toHaveProperty("tools");
    expect(JSON.stringify(client.greeting.capabilities)).not.toMatch(/"(listChanged|subscribe)":true|"logging"/);
    oracle.expectClean();
  });

  test("declares no notifications to a modern client", async () => {
    const { messages } = await readAnswer(new ModernClient(tools.url).request("server/discover"));
    expect(messages).toMatchObject([{ result: { capabilities: { tools: {} } } }]);
    expect(JSON.stringify(messages)).not.toMatch(/"(listChanged|subscribe)":true/);
    oracle.expectClean();
  });

  test.each(VERSIONS)("still streams a call's own progress (%s)", async (version) => {
    const client = await clientOf(version, tools.url);
    const answer = await readAnswer(client.call("emit_down", {}, { progressToken: 0 }));
    expect(answer.contentType).toBe("text/event-stream");
    expect(answer.messages).toHaveLength(3);
    oracle.expectClean();
  });

  test("serves a call without a preceding initialize", async () => {
    const response = fetch(tools.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "which" } }),
    });
    expect(await readAnswer(response)).toMatchObject({ status: 200, text: "tools" });
    oracle.expectClean();
  });
});
