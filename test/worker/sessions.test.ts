import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { initialize, LEGACY_VERSIONS, type Members, request } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { DELIBERATELY_BAD, type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { WireOracle } from "../oracle/oracle.ts";
import { LegacyClient, ModernClient, readAnswer } from "./client.ts";

expectLogs(/^mcp-edge: This server is not configured correctly\./);

const LAB = {
  entry: "test/worker/fixtures/lab-sessions.ts",
  objects: ["McpObject", "QuickObject"],
} as const;

const closing: (() => Promise<unknown>)[] = [];
let oracle = new WireOracle();

async function closeAll(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

/** A Worker for one test. */
async function start(keys: string | undefined): Promise<Workerd> {
  const worker = await Workerd.start({ ...LAB, bindings: keys === undefined ? {} : { MCP_KEYS: keys } });
  closing.push(() => worker.stop());
  return worker;
}

/** The Worker's address through a new tap. */
async function tapped(worker: Workerd): Promise<string> {
  const tap = await startHttpTap(`${worker.origin}/mcp`, { oracle });
  closing.push(() => tap.close());
  return tap.url;
}

describe("a session", () => {
  let worker: Workerd;
  let tap: HttpTap;
  let url = "";

  beforeAll(async () => {
    worker = await Workerd.start({ ...LAB, bindings: { MCP_KEYS: newKeys() } });
  });
  afterAll(() => worker.stop());

  beforeEach(async () => {
    tap = await startHttpTap(`${worker.origin}/mcp`);
    url = tap.url;
  });
  afterEach(async () => {
    await tap.close();
    tap.oracle.expectClean();
  });

  test.each(LEGACY_VERSIONS)("is negotiated, used and deleted in %s", async (version) => {
    const client = await LegacyClient.open(url, { version });
    expect(client.greeting.protocolVersion).toBe(version);
    expect(client.sessionId).toMatch(/^[\x21-\x7e]{1,256}$/);
    expect((await client.notify("notifications/initialized")).status).toBe(202);
    expect(await readAnswer(client.call("echo", { key: "k" }))).toMatchObject({ status: 200, text: "k" });
    expect(await readAnswer(client.request("tools/list"))).toMatchObject({ status: 200 });
    const deleted = await client.delete();
    expect(deleted.ok).toBe(true);
    expect((await client.request("tools/list")).status).toBe(404);
    expect((await client.delete()).status).toBe(404);
    // Bypasses the tap: older schemas have no error without an id, but the transport has one for an answer to a
    // notification.
    const past = client.at(`${worker.origin}/mcp`);
    expect((await past.notify("notifications/cancelled", { requestId: "a" })).status).toBe(404);
  });

  test.each(["1999-01-01", "2099-12-31", "2026-07-28", "latest", ""])(
    "is offered 2025-11-25 when it requests %j",
    async (version) => {
      const client = await LegacyClient.open(url, { version });
      expect(client.greeting.protocolVersion).toBe("2025-11-25");
      expect(await readAnswer(client.call("echo", { key: "k" }))).toMatchObject({ text: "k" });
    },
  );

  test("keeps its version without the header", async () => {
    for (const version of LEGACY_VERSIONS) {
      const client = await LegacyClient.open(url, { version });
      const options = { progressToken: 1, headers: { "mcp-protocol-version": undefined } };
      const { messages } = await readAnswer(client.call("emit_twice", {}, options));
      const [progress] = messages;
      expect(progress).toMatchObject({ method: "notifications/progress" });
      // `message` was added in 2025-03-26.
      expect(JSON.stringify(progress).includes('"message":"one"')).toBe(version !== "2024-11-05");
    }
  });

  test("stores nothing when it is opened", async () => {
    const before = worker.storedObjects("McpObject");
    await Promise.all(LEGACY_VERSIONS.map((version) => LegacyClient.open(url, { version, silent: true })));
    await Promise.all(
      LEGACY_VERSIONS.map((version) => LegacyClient.open(url, { version, silent: true, token: "alice" })),
    );
    expect(worker.storedObjects("McpObject")).toEqual(before);
  });

  test("has a unique id", async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => LegacyClient.open(url, { silent: true })));
    expect(new Set(clients.map(({ sessionId }) => sessionId)).size).toBe(20);
  });

  test("is not affected by the end of another session", async () => {
    const [left, right] = await Promise.all([LegacyClient.open(url), LegacyClient.open(url)]);
    expect((await left.delete()).ok).toBe(true);
    expect((await left.request("ping")).status).toBe(404);
    expect(await readAnswer(right.call("echo", { key: "still here" }))).toMatchObject({ text: "still here" });
  });

  test("never gets the result of another session's request with the same id", async () => {
    const clients = await Promise.all([LegacyClient.open(url), LegacyClient.open(url)]);
    const modern = new ModernClient(url);
    const keys = ["same id, left", "same id, right"];
    const running = clients.map((client, index) => readAnswer(client.call("hold", { key: keys[index] }, { id: 1 })));
    for (const key of keys) {
      await until(`${key} runs`, async () => (await readAnswer(modern.call("report", { key }))).text === "started");
    }
    for (const key of keys.toReversed()) await modern.call("release", { key });
    const answers = await Promise.all(running);
    expect(answers.map(({ text }) => text)).toEqual(keys);
    expect(answers.map(({ messages }) => messages.at(-1)?.id)).toEqual([1, 1]);
  });

  test("serves another request that reuses the id of a request in flight", async () => {
    const client = await LegacyClient.open(url);
    const key = "reused id";
    const first = readAnswer(client.call("hold", { key }, { id: 1 }));
    const modern = new ModernClient(url);
    await until("the first runs", async () => (await readAnswer(modern.call("report", { key }))).text === "started");
    expect(await readAnswer(client.call("echo", { key: "second" }, { id: 1 }))).toMatchObject({ text: "second" });
    await client.call("release", { key });
    expect(await first).toMatchObject({ text: key });
  });

  test("serves many concurrent calls, each with its own result", async () => {
    const client = await LegacyClient.open(url);
    const keys = Array.from({ length: 25 }, (_, index) => `call ${index}`);
    const answers = await Promise.all(keys.map((key) => readAnswer(client.call("echo", { key }))));
    expect(answers.map(({ text }) => text)).toEqual(keys);
  });

  test.each([undefined, {}])("responds to a ping with params %j before notifications/initialized", async (params) => {
    const client = await LegacyClient.open(url, { silent: true });
    const { status, messages } = await readAnswer(client.request("ping", params, { id: 0 }));
    expect([status, ...messages]).toEqual([200, { jsonrpc: "2.0", id: 0, result: {} }]);
  });

  test("responds to a ping while a handler runs", async () => {
    const client = await LegacyClient.open(url);
    const key = "held during ping";
    const held = readAnswer(client.call("hold", { key }));
    const modern = new ModernClient(url);
    await until("the handler runs", async () => (await readAnswer(modern.call("report", { key }))).text === "started");
    const { messages } = await readAnswer(client.request("ping", undefined, { id: "p" }));
    expect(messages).toEqual([{ jsonrpc: "2.0", id: "p", result: {} }]);
    expect(await readAnswer(modern.call("report", { key }))).toMatchObject({ text: "started" });
    await client.call("release", { key });
    expect(await held).toMatchObject({ text: key });
  });

  test("returns the result or an error for a call that DELETE overtakes", async () => {
    const client = await LegacyClient.open(url);
    const modern = new ModernClient(url);
    const key = "deleted meanwhile";
    const held = readAnswer(client.call("hold", { key }, { id: "overtaken" }));
    await until("the handler runs", async () => (await readAnswer(modern.call("report", { key }))).text === "started");
    expect((await client.delete()).ok).toBe(true);
    expect((await client.request("ping")).status).toBe(404);
    await modern.call("release", { key });
    const { status, messages } = await held;
    expect([200, 404]).toContain(status);
    expect(messages).toEqual([expect.objectContaining({ id: "overtaken" })]);
  });

  test("refuses a second initialize", async () => {
    const client = await LegacyClient.open(url);
    const again = await client.send(initialize("2025-11-25", "again"), { [DELIBERATELY_BAD]: "1" });
    expect(again.status).toBe(400);
    expect(again.headers.get("mcp-session-id")).toBeNull();
    expect(await again.json()).toMatchObject({ id: "again", error: { code: -32600 } });
    expect(await readAnswer(client.call("echo", { key: "k" }))).toMatchObject({ text: "k" });
  });

  test("is not ended by a DELETE with an unknown version", async () => {
    const client = await LegacyClient.open(url);
    const headers = { "mcp-session-id": client.sessionId ?? "", "mcp-protocol-version": "garbage" };
    expect((await fetch(url, { method: "DELETE", headers })).status).toBe(400);
    expect(await readAnswer(client.call("echo", { key: "k" }))).toMatchObject({ status: 200, text: "k" });
  });

  test("declares only what it can provide", async () => {
    const client = await LegacyClient.open(url);
    expect(client.greeting.capabilities).toHaveProperty("tools");
    // There is no standalone stream here, so no notification could be delivered.
    expect(JSON.stringify(client.greeting.capabilities)).not.toMatch(/"(listChanged|subscribe)":true/);
    expect(client.greeting.serverInfo).toMatchObject({ name: "patient", version: "1.0.0" });
  });

  describe("with a principal", () => {
    test("is not available to another principal", async () => {
      const alice = await LegacyClient.open(url, { token: "alice" });
      expect(await readAnswer(alice.call("whoami"))).toMatchObject({ status: 200, text: "alice" });
      for (const foreign of [alice.as("bob"), alice.as(undefined)]) {
        expect((await foreign.call("whoami")).status).toBe(404);
        expect((await foreign.notify("notifications/initialized")).status).toBe(404);
        expect((await foreign.delete()).status).toBe(404);
      }
      expect(await readAnswer(alice.call("whoami"))).toMatchObject({ status: 200, text: "alice" });
    });

    test("is not woken by another principal", async () => {
      const before = worker.storedObjects("McpObject");
      const alice = await LegacyClient.open(url, { token: "alice", silent: true });
      expect((await alice.as("bob").call("whoami")).status).toBe(404);
      expect((await alice.as("bob").delete()).status).toBe(404);
      expect(worker.storedObjects("McpObject")).toEqual(before);
    });

    test("causes 401 for an invalid token before it is looked up", async () => {
      const alice = await LegacyClient.open(url, { token: "alice" });
      const refused = await alice.as("stolen").call("whoami");
      expect(refused.status).toBe(401);
      expect(refused.headers.get("www-authenticate")).toMatch(/^Bearer\b/i);
    });

    test("is bound to the first principal that uses it if it was opened anonymously", async () => {
      const anonymous = await LegacyClient.open(url);
      expect(await readAnswer(anonymous.call("whoami"))).toMatchObject({ status: 200, text: "anonymous" });
      expect(await readAnswer(anonymous.as("alice").call("whoami"))).toMatchObject({ status: 200, text: "alice" });
      expect((await anonymous.as("bob").call("whoami")).status).toBe(404);
      expect((await anonymous.call("whoami")).status).toBe(404);
      expect((await anonymous.delete()).status).toBe(404);
      expect(await readAnswer(anonymous.as("alice").call("whoami"))).toMatchObject({ status: 200, text: "alice" });
    });

    test("is bound to only one of two concurrent principals", async () => {
      for (let round = 0; round < 5; round += 1) {
        const anonymous = await LegacyClient.open(url, { silent: true });
        const both = await Promise.all(["alice", "bob"].map((token) => readAnswer(anonymous.as(token).call("whoami"))));
        expect(both.map(({ status }) => status).toSorted()).toEqual([200, 404]);
      }
    });
  });
});

describe("kill -9", () => {
  afterEach(closeAll);

  test("does not affect a session that was only opened, used, deleted or bound", { tags: "long" }, async () => {
    oracle = new WireOracle();
    const worker = await start(newKeys());
    const before = await tapped(worker);
    const opened = await LegacyClient.open(before, { silent: true });
    const used = await LegacyClient.open(before, { version: "2025-06-18" });
    const deleted = await LegacyClient.open(before);
    const deletedUnused = await LegacyClient.open(before, { silent: true });
    const bound = await LegacyClient.open(before);
    expect(await readAnswer(used.call("echo", { key: "k" }))).toMatchObject({ text: "k" });
    expect((await deleted.delete()).ok).toBe(true);
    expect((await deletedUnused.delete()).ok).toBe(true);
    expect(await readAnswer(bound.as("alice").call("whoami"))).toMatchObject({ text: "alice" });

    await worker.killAndRestart();
    const after = await tapped(worker);
    expect(await readAnswer(opened.at(after).call("echo", { key: "opened" }))).toMatchObject({ text: "opened" });
    expect(await readAnswer(used.at(after).call("echo", { key: "used" }))).toMatchObject({ text: "used" });
    expect((await deleted.at(after).request("ping")).status).toBe(404);
    expect((await deleted.at(after).delete()).status).toBe(404);
    expect((await deletedUnused.at(after).request("ping")).status).toBe(404);
    expect(await readAnswer(bound.at(after).as("alice").call("whoami"))).toMatchObject({ text: "alice" });
    expect((await bound.at(after).as("bob").call("whoami")).status).toBe(404);
    expect((await bound.at(after).call("whoami")).status).toBe(404);
    oracle.expectClean();
  });
});

describe("sealing keys of sessions", () => {
  afterEach(closeAll);

  test.each([undefined, "", " "])(
    "are reported to every request if they are missing (%j)",
    { tags: "long" },
    async (keys) => {
      const url = `${(await start(keys)).origin}/mcp`;
      for (const answer of [await new ModernClient(url).request("tools/list"), await fetch(url)]) {
        expect([answer.status, await answer.json()]).toMatchObject([
          500,
          { error: { data: { reason: "misconfigured", problems: [expect.stringContaining("[keys-missing]")] } } },
        ]);
      }
    },
  );

  test.each(["too-short"])("cause 503 only for sessions if they are not valid (%j)", { tags: "long" }, async (keys) => {
    oracle = new WireOracle();
    const worker = await start(keys);
    const url = await tapped(worker);
    const healthy = await start(newKeys());
    const other = await LegacyClient.open(await tapped(healthy));
    const refusals = [
      await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify(initialize("2025-11-25", 1)),
      }),
      await other.at(url).request("tools/list", undefined, { id: 2 }),
      await other.at(url).send(request("ping", undefined, 3)),
    ];
    const ids: unknown[] = [];
    for (const refusal of refusals) {
      expect(refusal.status).toBe(503);
      expect(refusal.headers.get("mcp-session-id")).toBeNull();
      const text = await refusal.text();
      const error: Members = JSON.parse(text);
      expect(error).toMatchObject({ jsonrpc: "2.0", error: { code: -32603 } });
      expect(text).not.toMatch(/MCP_KEYS|McpObject|too-short|\.[jt]s:\d+/);
      ids.push(error.id);
    }
    expect((await other.at(url).delete()).status).toBe(503);
    expect(await readAnswer(new ModernClient(url).call("echo", { key: "k" }))).toMatchObject({
      status: 200,
      text: "k",
    });
    // basic/index, Responses: an error carries the id of its request.
    expect(ids).toEqual([1, 2, 3]);
    oracle.expectClean();
  });

  test("open values that older keys of the list sealed, and no value that a removed key sealed", {
    tags: "long",
  }, async () => {
    oracle = new WireOracle();
    const [older, newer] = [newKeys(), newKeys()];
    const first = await LegacyClient.open(await tapped(await start(older)));
    const rotated = await tapped(await start(`${newer},${older}`));
    const second = await LegacyClient.open(rotated);
    expect(await readAnswer(first.at(rotated).call("echo", { key: "old id" }))).toMatchObject({ text: "old id" });
    expect(await readAnswer(second.call("echo", { key: "new id" }))).toMatchObject({ text: "new id" });
    const dropped = await tapped(await start(newer));
    expect((await first.at(dropped).request("ping")).status).toBe(404);
    // The new key seals since it was added as the first one.
    expect(await readAnswer(second.at(dropped).call("echo", { key: "new id" }))).toMatchObject({ text: "new id" });
    oracle.expectClean();
  });
});
