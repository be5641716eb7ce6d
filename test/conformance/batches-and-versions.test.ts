/** Batches, the version header and version negotiation in 2025-03-26 and 2025-06-18. */
import { describe, expect, test } from "vitest";
import {
  CONTENT,
  type Headers,
  initialize,
  isMembers,
  LEGACY_VERSIONS,
  type Members,
  NEWEST_LEGACY,
  notification,
  request,
} from "../http/messages.ts";
import type { Answer } from "../http/wire.ts";
import { readAnswer } from "../worker/client.ts";
import { type Cuttable, type Endpoint, newKey, progressOf, Session, useLab, WRONG } from "./support.ts";

const lab = useLab();
const OLD = "2025-03-26";

function send(message: unknown, headers: Headers, endpoint?: Endpoint): Promise<Answer> {
  return lab.send({ method: "POST", headers: { ...CONTENT, ...headers }, body: JSON.stringify(message) }, endpoint);
}

const ping = (id: string | number) => request("ping", undefined, id);
const pong = (id: string | number) => ({ jsonrpc: "2.0", id, result: {} });

/** The responses to a batch, sorted by id. */
function byId(messages: readonly Members[]): Members[] {
  return messages.filter(({ id }) => id !== undefined).toSorted((a, b) => `${a.id}`.localeCompare(`${b.id}`));
}

describe("batches to a server of 2025-03-26", () => {
  test("a batch gets a response to each request, but not to notifications", async () => {
    const session = await Session.open(await lab.url(), { version: OLD });
    const batch = [ping("a"), notification("notifications/initialized"), request("no/such", {}, "b"), ping(3)];
    const { status, contentType, messages } = await readAnswer(session.send(batch));
    expect([status, contentType]).toEqual([200, "application/json"]);
    expect(byId(messages)).toMatchObject([pong(3), pong("a"), { id: "b", error: { code: -32601 } }]);
    expect(messages).toHaveLength(3);
  });

  test("a batch of only notifications or only responses gets 202 without a body", async () => {
    const session = await Session.open(await lab.url(), { version: OLD });
    const cancel = notification("notifications/cancelled", { requestId: "none" });
    const response = await session.send([notification("notifications/initialized"), cancel]);
    expect([response.status, await response.text()]).toEqual([202, ""]);
    const answered = await session.send([{ jsonrpc: "2.0", id: "nobody", result: {} }], WRONG);
    expect([answered.status, await answered.text()]).toEqual([202, ""]);
  });

  test("a batch of responses answers several questions", async () => {
    const session = await Session.open(await lab.url(), { version: OLD });
    const calls = [
      await session.stream("ask", { key: newKey() }, 1),
      await session.stream("ask", { key: newKey() }, 2),
    ];
    const questions: unknown[] = [];
    for (const call of calls) {
      await call.has("the question", ({ messages }) => messages.length > 0);
      questions.push(call.messages[0]?.id);
    }
    const answers = questions.map((id, at) => ({ jsonrpc: "2.0", id, result: { roots: [{ uri: `file:///${at}` }] } }));
    expect((await session.send(answers)).status).toBe(202);
    for (const [at, call] of calls.entries()) {
      await call.end();
      expect(call.messages.at(-1)).toMatchObject({ id: at + 1, result: { content: [{ text: `file:///${at}` }] } });
    }
  });

  test.each([
    ["with initialize", [initialize(OLD, 1), ping(2)], 400],
    ["with only initialize", [initialize(OLD, 1)], 400],
    ["without members", [], 400],
    ["that repeats an id", [ping(1), ping(1)], 400],
  ])("a batch %s is rejected with 400 -32600, and opens no session", async (_, batch, status) => {
    for (const headers of [{}, { "mcp-protocol-version": OLD }]) {
      const answer = await send(batch, headers);
      expect([answer.status, answer.messages]).toMatchObject([status, [{ error: { code: -32600 } }]]);
      expect(answer.headers).not.toHaveProperty("mcp-session-id");
    }
  });

  test("a batch with an invalid member gets an error for that member, and the other members are served", async () => {
    const session = await Session.open(await lab.url(), { version: OLD });
    const batch = [ping("a"), 5, { jsonrpc: "1.0", id: "x", method: "ping" }, [ping("nested")], ping("b")];
    const answer = await send(batch, session.headers);
    const messages = [answer.messages[0]].flat().filter(isMembers);
    expect(byId(messages).filter(({ result }) => result)).toEqual([pong("a"), pong("b")]);
    expect(messages.filter(({ error }) => error)).toMatchObject(
      batch.slice(1, 4).map(() => ({ error: { code: -32600 } })),
    );
    expect(JSON.stringify(messages)).not.toContain("nested");
  });
});

/** A batch of calls that stream: each reports 1 and 2 and is held in between. */
function streaming(keys: readonly string[]): Members[] {
  return keys.map((key) => {
    const params = { name: "count", arguments: { key, before: 1, after: 1 }, _meta: { progressToken: key } };
    return request("tools/call", params, key);
  });
}

async function batchStream(session: Session, batch: readonly Members[]): Promise<Cuttable> {
  const stream = await session.post([...batch, ping("quick")]);
  await stream.has("both have begun", ({ messages }) => progressOf(messages).length === 2);
  return stream;
}

describe("responses to a batch in 2025-03-26", () => {
  test("are on one stream with the progress of all calls, each response once", async () => {
    const session = await Session.open(await lab.url(), { version: OLD });
    const keys = [newKey(), newKey()];
    const stream = await batchStream(session, streaming(keys));
    for (const key of keys) await lab.tool("free", { key });
    await stream.end();
    expect(stream.status).toBe(200);
    expect(byId(stream.messages).map(({ id }) => id)).toEqual([...keys, "quick"].toSorted());
    for (const key of keys) {
      const own = stream.messages.filter(({ params }) => isMembers(params) && params.progressToken === key);
      expect(progressOf(own)).toEqual([1, 2]);
    }
    expect(stream.messages).toHaveLength(7);
  });

  test("can be resumed where the stream was cut, without loss or repeats", async () => {
    const session = await Session.open(await lab.url(), { version: OLD });
    const keys = [newKey(), newKey()];
    const stream = await batchStream(session, streaming(keys));
    stream.cut();
    for (const key of keys) await lab.tool("free", { key });
    const resumed = await (await session.get(stream.events.at(-1)?.id)).end();
    const all = [...stream.messages, ...resumed.messages];
    expect(byId(all).map(({ id }) => id)).toEqual([...keys, "quick"].toSorted());
    expect(all).toHaveLength(7);
  });

  test("are errors for each open request if the object was lost", { tags: "long" }, async () => {
    const session = await Session.open(await lab.url(), { version: OLD });
    const keys = [newKey(), newKey()];
    const stream = await batchStream(session, streaming(keys));
    const answered = byId(stream.messages).map(({ id }) => id);
    await lab.worker.killAndRestart();
    const resumed = await (await session.with({}, await lab.url()).get(stream.events.at(-1)?.id)).end();
    const errors = byId(resumed.messages);
    for (const message of errors) expect(message).toMatchObject({ error: { data: { reason: "interrupted" } } });
    // Each request has exactly one outcome, before or after the loss.
    expect([...answered, ...errors.map(({ id }) => id)].toSorted()).toEqual([...keys, "quick"].toSorted());
  });
});

describe("a request without a version header", () => {
  test("is treated as 2025-03-26: without a session a batch is served, but with a later header it is refused", async () => {
    for (const endpoint of ["plain", "full"] as const) {
      const bare = await send([ping(1), ping(2)], {}, endpoint);
      expect([bare.status, bare.messages]).toEqual([200, [[pong(1), pong(2)]]]);
      const later = await send([ping(1), ping(2)], { "mcp-protocol-version": "2025-06-18" }, endpoint);
      expect([later.status, later.messages]).toMatchObject([400, [{ error: { code: -32600 } }]]);
    }
  });

  test("has the negotiated version if it belongs to a session", async () => {
    const batches: Record<string, number> = {};
    for (const version of LEGACY_VERSIONS) {
      const session = await Session.open(await lab.url(), { version });
      const bare = { "mcp-session-id": session.id };
      batches[version] = (await send([ping(1)], bare)).status;
      expect((await send(ping(2), bare)).messages).toEqual([pong(2)]);
    }
    expect(batches).toEqual({ "2024-11-05": 400, "2025-03-26": 200, "2025-06-18": 400, "2025-11-25": 400 });
  });
});

describe("the header MCP-Protocol-Version since 2025-06-18", () => {
  test.each(["2024-11-05", "2025-06-18", "2025-11-25"])(
    "makes %s refuse batches, and none of their members runs",
    async (version) => {
      const session = await Session.open(await lab.url(), { version });
      const key = newKey();
      const call = request("tools/call", { name: "count", arguments: { key, before: 0, after: 0 } }, 1);
      for (const batch of [[call], [call, ping(2)], [notification("notifications/initialized")]]) {
        const answer = await send(batch, { ...session.headers, "mcp-protocol-version": version });
        expect([answer.status, answer.messages]).toMatchObject([400, [{ error: { code: -32600 } }]]);
      }
      expect(await lab.tool("noted", { key })).toBe("");
    },
  );

  test.each(["2025-06-18", "2025-11-25"])(
    "is optional in a session: in %s later requests are served with and without it",
    async (version) => {
      const session = await Session.open(await lab.url(), { version });
      expect((await session.request("tools/list")).status).toBe(200);
      // A server that knows the version otherwise, as this one does from its session, need not assume 2025-03-26.
      expect((await session.with({ "mcp-protocol-version": undefined }).request("tools/list")).status).toBe(200);
    },
  );

  test.each(["garbage", "1.0", "2025-13-45", "2099-01-01", "2025-06-18x", "2025-06-18, 2025-11-25"])(
    "causes 400 for POST, GET and DELETE with the unsupported value %s, without side effects",
    async (value) => {
      const session = await Session.open(await lab.url(), { version: "2025-06-18" });
      const headers = { "mcp-session-id": session.id, "mcp-protocol-version": value };
      const posted = await send(ping(1), headers);
      expect([posted.status, posted.messages]).toMatchObject([400, [{ error: { code: -32600 } }]]);
      expect((await send(notification("notifications/initialized"), headers)).status).toBe(400);
      expect((await lab.send({ method: "GET", headers: { ...headers, accept: "text/event-stream" } })).status).toBe(
        400,
      );
      expect((await lab.send({ method: "DELETE", headers })).status).toBe(400);
      expect((await session.request("ping")).status).toBe(200);
    },
  );
});

describe("version negotiation in initialize", () => {
  test.each(LEGACY_VERSIONS)("serves the requested version %s", async (version) => {
    for (const endpoint of ["full", "plain"] as const) {
      const { status, messages } = await send(initialize(version), {}, endpoint);
      expect([status, messages]).toMatchObject([200, [{ id: 1, result: { protocolVersion: version } }]]);
    }
  });

  test.each(["2023-01-01", "2099-01-01", "1.0.0", "2024-11-04", "2026-07-28", "", "latest"])(
    "offers the newest version if the requested version is %j, which is unknown or older",
    async (version) => {
      for (const endpoint of ["full", "plain"] as const) {
        const { status, messages } = await send(initialize(version), {}, endpoint);
        expect([status, messages]).toMatchObject([200, [{ id: 1, result: { protocolVersion: NEWEST_LEGACY } }]]);
      }
    },
  );

  test.each([[undefined], [null], [20251125], [["2025-11-25"]]])(
    "refuses the request as malformed if its version is %j, which is not a version",
    async (version) => {
      const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: "c", version: "1" } };
      const { messages, headers } = await send(request("initialize", params, 1), {});
      expect(messages).toMatchObject([{ id: 1, error: { code: -32602 } }]);
      expect(headers).not.toHaveProperty("mcp-session-id");
    },
  );
});
