/** Data about the client and the end of its requests that handlers and hooks get, over HTTP. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { LEGACY_VERSIONS, type Members, meta, notification, request } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { type Client, clientOf, LegacyClient, ModernClient, Reading, readAnswer, VERSIONS } from "./client.ts";

expectLogs(/^mcp-edge: "example\.com\/hang" failed .* KitError: Method "example\.com\/hang" did not finish/);

let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/hooks.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

const at = (path: string) => worker.worker.url(path);
const json = async (path: string) => (await fetch(at(path))).json();
const takeEnds = async () => (await json("/ends")) as Members[];
beforeEach(takeEnds);

/** Opens a session with this client info. */
async function introduce(clientInfo: Members, capabilities: Members = {}, version = "2025-11-25") {
  const params = { protocolVersion: version, capabilities, clientInfo };
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify(request("initialize", params));
  const { headers: answered } = await fetch(at("/mcp"), { method: "POST", headers, body });
  const id = answered.get("mcp-session-id") ?? "";
  const call = async (name: string, more: Members = {}) => {
    const body = JSON.stringify(request("tools/call", { name, arguments: {}, ...more }));
    return readAnswer(fetch(at("/mcp"), { method: "POST", headers: { ...headers, "mcp-session-id": id }, body }));
  };
  return { id, call, client: async () => JSON.parse((await call("client")).text ?? "null") as Members };
}

describe("the client in a legacy session", () => {
  test.each(LEGACY_VERSIONS)("has only the name and version from initialize (%s)", async (version) => {
    const { client } = await introduce({ name: "näme 漢", version: "1.2.3-β", title: "not kept" }, {}, version);
    const info = { name: "näme 漢", version: "1.2.3-β" };
    expect(await client()).toEqual({ info, ...info, capabilities: {}, protocolVersion: version });
  });

  test("has the capabilities `experimental` and `roots.listChanged`", async () => {
    const info = { name: "able", version: "1" };
    const all = { experimental: { "example.com/feature": {} }, roots: { listChanged: true }, sampling: {} };
    expect(await (await introduce(info, all)).client()).toMatchObject({
      capabilities: { experimental: {}, roots: { listChanged: true }, sampling: {} },
    });
    const some = await (await introduce(info, { roots: { listChanged: false } })).client();
    expect(some.capabilities).toEqual({ roots: {} });
  });

  test("has its name and version truncated if they are too long, so that the id stays within 256 characters", async () => {
    const { id, client } = await introduce({ name: "😀".repeat(2_000), version: "v".repeat(2_000) });
    expect(id).toMatch(/^[\x21-\x7e]{250,256}$/);
    expect(await client()).toMatchObject({ name: "😀".repeat(15), version: "v".repeat(34) });
  });

  test("has its name and version after the object was evicted, and in a task", { tags: "long" }, async () => {
    const { call, client } = await introduce({ name: "lasting", version: "2" });
    await client();
    await worker.worker.evict("McpObject");
    expect(await client()).toMatchObject({ name: "lasting", version: "2" });
    const created = (await call("client", { task: {} })).messages.at(-1)?.result as { task: { taskId: string } };
    const [object = ""] = await worker.worker.objects("McpObject", "task");
    expect(object).not.toBe("");
    await until("the task has ended", async () =>
      JSON.stringify(await worker.worker.storage("McpObject", object)).includes("completed"),
    );
    expect(JSON.stringify(await worker.worker.storage("McpObject", object))).toContain("lasting");
    expect(created.task.taskId).toBeTypeOf("string");
  });

  test("has its name and version in a session over HTTP+SSE, truncated in the same way", async () => {
    const leave = new AbortController();
    const headers = { accept: "text/event-stream" };
    const stream = new Reading(await fetch(at("/mcp"), { headers, signal: leave.signal }));
    await stream.has("the endpoint", ({ raw }) => /^data: .*\n/m.test(raw));
    const [, endpoint = ""] = /^data: (.*)$/m.exec(stream.raw) ?? [];
    const post = async (message: Members) => {
      const headers = { "content-type": "application/json" };
      await fetch(at(endpoint), { method: "POST", headers, body: JSON.stringify(message) });
    };
    const clientInfo = { name: "n".repeat(1_000), version: "1.0" };
    await post(request("initialize", { protocolVersion: "2024-11-05", capabilities: {}, clientInfo }, 1));
    await stream.has("the handshake", ({ raw }) => raw.includes("protocolVersion"));
    await post(request("tools/call", { name: "client", arguments: {} }, 2));
    await stream.has("the client", ({ raw }) => raw.includes('"id":2'));
    expect(stream.raw).toContain(`{\\"name\\":\\"${"n".repeat(91)}\\",\\"version\\":\\"1.0\\"}`);
    leave.abort();
  });

  test("a session id without client info is rejected with 404 if it was not created here", async () => {
    const { id } = await introduce({ name: "a", version: "1" });
    for (const other of [id.slice(0, 124), id.slice(0, 130), `${id}AAAA`, `B${id.slice(1)}`]) {
      const client = (await LegacyClient.open(at("/mcp"))).request(
        "ping",
        {},
        { headers: { "mcp-session-id": other } },
      );
      expect((await client).status).toBe(404);
    }
  });
});

describe("the end of a request over HTTP", () => {
  const places = VERSIONS.flatMap((version) => [["/mcp", version] as const, ["/stateless", version] as const]);

  test.each(places)("is reported once, with its subject and outcome (%s, %s)", async (path, version) => {
    const client: Client = await clientOf(version, at(path));
    await takeEnds();
    await readAnswer(client.call("client"));
    await readAnswer(client.request("prompts/get", { name: "hello" }));
    await readAnswer(client.request("resources/read", { uri: "hooked://a" }));
    await readAnswer(client.request("resources/read", { uri: "hooked://none" }));
    await readAnswer(client.request("example.com/add", { a: 1, b: 2 }));
    await readAnswer(client.request("example.com/none"));
    await readAnswer(client.request("tools/list"));
    if (client.era === "legacy") await readAnswer(client.request("ping"));
    const notFound = client.era === "legacy" ? -32002 : -32602;
    const ends = await takeEnds();
    expect(ends).toMatchObject([
      { method: "tools/call", tool: "client", arguments: {}, outcome: "ok" },
      { method: "prompts/get", prompt: "hello", outcome: "ok" },
      { method: "resources/read", uri: "hooked://a", outcome: "ok" },
      { method: "resources/read", uri: "hooked://none", outcome: "error", errorCode: notFound },
      { method: "example.com/add", outcome: "ok" },
      { method: "example.com/none", outcome: "error", errorCode: -32601 },
      { method: "tools/list", outcome: "ok" },
      ...(client.era === "legacy" ? [{ method: "ping", outcome: "ok" }] : []),
    ]);
    expect(ends.filter(({ outcome, errorCode }) => outcome === "ok" && errorCode !== undefined)).toEqual([]);
    const knows = client.era === "modern" || path === "/mcp";
    expect(new Set(ends.map(({ client }) => client))).toEqual(new Set([knows ? "ladder" : undefined]));
  });

  test("is not reported as a success if its client cancelled the call in a session", async () => {
    const client = await LegacyClient.open(at("/mcp"));
    await takeEnds();
    const called = client.call("wait", {}, { id: "cancelled" });
    await until("it has started", async () => (await json("/started/cancelled")) === true);
    await client.notify("notifications/cancelled", { requestId: "cancelled" });
    await readAnswer(called);
    expect(await takeEnds()).toMatchObject([{ method: "tools/call", requestId: "cancelled", outcome: "cancelled" }]);
  });

  test("is not reported as a success if its modern client has disconnected", { tags: "long" }, async () => {
    const leave = new AbortController();
    const called = new ModernClient(at("/stateless")).call("wait", {}, { id: "left", signal: leave.signal });
    called.catch(() => undefined);
    await until("it has started", async () => (await json("/started/left")) === true);
    leave.abort();
    const ends: Members[] = [];
    await until("its end is reported", async () => ends.push(...(await takeEnds())) > 0);
    expect(ends).toMatchObject([{ method: "tools/call", requestId: "left", outcome: "cancelled" }]);
  });
});

describe("custom methods and notifications over HTTP", () => {
  const places = VERSIONS.flatMap((version) => [["/mcp", version] as const, ["/stateless", version] as const]);

  test.each(places)(
    "a notification handler gets context, bindings, principal and client (%s, %s)",
    async (path, version) => {
      const method = "notifications/example.com/tick";
      const headers = { "x-subject": "anna" };
      await json("/heard");
      if (version === "2026-07-28") {
        const params = { count: 1, _meta: meta() };
        const all = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers };
        const versioned = { ...all, "mcp-protocol-version": version, "mcp-method": method };
        const body = JSON.stringify(notification(method, params));
        expect((await fetch(at(path), { method: "POST", headers: versioned, body })).status).toBe(202);
      } else {
        const client = await LegacyClient.open(at(path), { version });
        expect((await client.send(notification(method, { count: 1 }), headers)).status).toBe(202);
      }
      const heard: unknown[] = [];
      await until("the notification is handled", async () => heard.push(...((await json("/heard")) as unknown[])) > 0);
      // Stateless clients of the first two versions send no version header.
      const assumed = path === "/stateless" && version < "2025-06-18" ? "2025-03-26" : version;
      expect(heard).toEqual([[1, `at ${path}`, "anna", assumed, expect.arrayContaining(["MCP_KEYS"])]]);
    },
  );

  test.each(places)(
    "a method that never returns ends with -32603 and the reason timeout (%s, %s)",
    async (path, version) => {
      const client = await clientOf(version, at(path));
      const answer = await readAnswer(client.request("example.com/hang"));
      expect(answer.messages.at(-1)).toMatchObject({ error: { code: -32603, data: { reason: "timeout" } } });
    },
  );
});
