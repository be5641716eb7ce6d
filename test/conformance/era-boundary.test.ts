/** Legacy and modern requests at one URL. */
import { describe, expect, test } from "vitest";
import {
  CAPABILITIES_KEY,
  CONTENT,
  type Headers,
  initialize,
  isMembers,
  LEGACY_VERSIONS,
  type Members,
  MODERN_VERSION,
  meta,
  NEWEST_LEGACY,
  PROTOCOL_VERSION_KEY,
  post,
  request,
  requestOf,
  standardHeaders,
} from "../http/messages.ts";
import type { Answer } from "../http/wire.ts";
import { ModernClient, readAnswer } from "../worker/client.ts";
import { type Endpoint, newKey, Session, useLab } from "./support.ts";

const lab = useLab();

function send(message: unknown, headers: Headers, endpoint?: Endpoint): Promise<Answer> {
  return lab.send({ method: "POST", headers: { ...CONTENT, ...headers }, body: JSON.stringify(message) }, endpoint);
}

function only(answer: Answer): Members {
  const [message] = answer.messages;
  expect(answer.messages).toHaveLength(1);
  return isMembers(message) ? message : {};
}

function errorOf(answer: Answer): Members {
  const { error } = only(answer);
  return isMembers(error) ? error : {};
}

const SESSIONLESS = { "mcp-session-id": undefined };

describe("a modern-only server", () => {
  test.each(LEGACY_VERSIONS)("refuses initialize of %s, naming its versions", async (version) => {
    const answer = await send(initialize(version, 5), {}, "modern");
    expect([answer.status, only(answer)]).toMatchObject([400, { jsonrpc: "2.0", id: 5 }]);
    // versioning: it SHOULD name the versions in any error it returns to an initialize, because a user reads the text.
    expect(errorOf(answer).message).toContain(MODERN_VERSION);
    expect(answer.headers).not.toHaveProperty("mcp-session-id");
  });

  test("serves a request of the version that it names", async () => {
    expect(await readAnswer(new ModernClient(await lab.url("modern")).call("which"))).toMatchObject({ text: "modern" });
  });

  test("refuses other legacy requests, and a legacy version with -32022", async () => {
    const lone = await send(request("tools/list", undefined, 1), { "mcp-protocol-version": NEWEST_LEGACY }, "modern");
    expect(lone.status).toBe(400);
    const params = { _meta: meta({ [PROTOCOL_VERSION_KEY]: NEWEST_LEGACY }) };
    const message = request("tools/list", params, 2);
    const named = await send(message, { ...standardHeaders(message), "mcp-protocol-version": NEWEST_LEGACY }, "modern");
    expect([named.status, errorOf(named)]).toMatchObject([
      400,
      { code: -32022, data: { requested: NEWEST_LEGACY, supported: [MODERN_VERSION] } },
    ]);
  });
});

describe("GET and DELETE of modern clients", () => {
  test.each(["GET", "DELETE"])(
    "return 405 at a modern-only server: %s with and without session headers",
    async (method) => {
      for (const headers of [
        {},
        { "mcp-session-id": "x", "last-event-id": "1" },
        { "mcp-protocol-version": "2025-11-25" },
      ]) {
        const answer = await lab.send({ method, headers: { accept: "text/event-stream", ...headers } }, "modern");
        expect([answer.status, answer.headers.allow]).toEqual([405, expect.stringMatching(/\bPOST\b/)]);
        expect(answer.headers.allow).not.toMatch(/GET|DELETE/);
        expect(answer.headers).not.toHaveProperty("mcp-session-id");
      }
    },
  );

  test.each(["GET", "DELETE"])(
    "return 405 at a dual-era server, and do not affect any of its sessions: %s",
    async (method) => {
      const session = await Session.open(await lab.url());
      for (const id of [undefined, session.id]) {
        const headers = { accept: "text/event-stream", "mcp-protocol-version": MODERN_VERSION, "mcp-session-id": id };
        const answer = await lab.send({ method, headers });
        expect([answer.status, answer.headers.allow]).toEqual([405, expect.stringMatching(/\bPOST\b/)]);
      }
      expect((await session.request("ping")).status).toBe(200);
    },
  );
});

describe("Mcp-Session-Id and Last-Event-ID", () => {
  test.each(["garbage", "", "live", "deleted"])("Mcp-Session-Id (%s) is ignored and not returned", async (kind) => {
    const session = await Session.open(await lab.url());
    if (kind === "deleted") await session.delete();
    const id = kind === "live" || kind === "deleted" ? session.id : kind;
    for (const message of [requestOf("modern", "tools/list"), requestOf("modern", "server/discover")]) {
      const answer = await lab.send(post("modern", { message, headers: { "mcp-session-id": id } }));
      expect(answer.status).toBe(200);
      expect(only(answer)).toMatchObject({ id: 7, result: { resultType: "complete" } });
      expect(answer.headers).not.toHaveProperty("mcp-session-id");
    }
    const refusal = await lab.send(post("modern", { body: "[]", headers: { "mcp-session-id": id } }));
    expect([refusal.status, refusal.headers["mcp-session-id"]]).toEqual([400, undefined]);
  });

  test("Last-Event-ID is ignored on modern requests: no replay, and no event has an id", async () => {
    const session = await Session.open(await lab.url());
    const old = await (await session.stream("emit_twice", {})).end();
    const params = { name: "emit_twice", arguments: {}, _meta: meta({ progressToken: "p" }) };
    const message = request("tools/call", params, "new");
    for (const id of [old.events[0]?.id, "garbage"]) {
      const answer = await lab.send(post("modern", { message, headers: { "last-event-id": id } }));
      expect([answer.status, answer.contentType]).toEqual([200, "text/event-stream"]);
      expect(answer.messages).toHaveLength(3);
      expect(answer.messages.at(-1)).toMatchObject({ id: "new" });
      expect(answer.text).not.toMatch(/^(id|retry):/m);
    }
  });
});

describe("requests of one era in the other", () => {
  test("a modern request inside a legacy session is served statelessly and does not affect the session", async () => {
    const session = await Session.open(await lab.url(), { version: "2025-06-18" });
    const message = requestOf("modern", "tools/list", {}, "modern");
    const answer = await lab.send(post("modern", { message, headers: { "mcp-session-id": session.id } }));
    expect(only(answer)).toMatchObject({ id: "modern", result: { resultType: "complete" } });
    const { messages } = await readAnswer(session.request("tools/list", undefined, "legacy"));
    expect(messages[0]).toMatchObject({ id: "legacy", result: { tools: expect.anything() } });
    expect(messages[0]?.result).not.toHaveProperty("resultType");
  });

  test("a modern request inside a legacy session does not use the state of the session", async () => {
    const alice = await Session.open(await lab.url(), { token: "alice" });
    const message = requestOf("modern", "tools/call", { name: "whoami" });
    const answer = await lab.send(post("modern", { message, headers: { "mcp-session-id": alice.id } }));
    // A session of another principal is not a reason for 404 either, because it is not looked up.
    expect(only(answer)).toMatchObject({ result: { content: [{ text: "anonymous" }] } });
  });

  test.each(["ping", "logging/setLevel", "resources/subscribe", "initialize"])(
    "the legacy method %s is unknown in modern form, even inside a session",
    async (method) => {
      const session = await Session.open(await lab.url());
      const params: Members = {
        level: "info",
        uri: "test://watched",
        protocolVersion: NEWEST_LEGACY,
        capabilities: {},
      };
      const message = requestOf("modern", method, { ...params, clientInfo: { name: "c", version: "1" } }, 3);
      for (const id of [undefined, session.id]) {
        const answer = await lab.send(post("modern", { message, headers: { "mcp-session-id": id } }));
        expect([answer.status, errorOf(answer).code, only(answer).id]).toEqual([404, -32601, 3]);
        expect(answer.headers).not.toHaveProperty("mcp-session-id");
      }
    },
  );

  test.each(["server/discover", "subscriptions/listen"])(
    "the modern method %s in a legacy session is rejected with -32601",
    async (method) => {
      const session = await Session.open(await lab.url());
      const { status, messages } = await readAnswer(session.request(method, {}, 4));
      expect([status, messages[0]]).toMatchObject([200, { id: 4, error: { code: -32601 } }]);
    },
  );

  test("a legacy request without its session returns 400 while a modern client is served", async () => {
    const modern = new ModernClient(await lab.url());
    expect(await readAnswer(modern.call("which"))).toMatchObject({ text: "full" });
    const lone = await send(request("tools/list", undefined, 1), { "mcp-protocol-version": NEWEST_LEGACY });
    expect([lone.status, errorOf(lone).code]).toEqual([400, -32600]);
    expect(await readAnswer(modern.call("which"))).toMatchObject({ text: "full" });
  });
});

describe("headers and body of different eras", () => {
  test("a 2026-07-28 header without _meta is rejected with 400 -32602, inside and outside of a session", async () => {
    const session = await Session.open(await lab.url());
    for (const id of [undefined, session.id]) {
      for (const params of [undefined, {}, { _meta: {} }, { _meta: { progressToken: 1 } }]) {
        const message = request("tools/list", params, 6);
        const answer = await send(message, { ...standardHeaders(message), "mcp-session-id": id });
        expect([answer.status, errorOf(answer).code, only(answer).id]).toEqual([400, -32602, 6]);
      }
    }
  });

  test("a 2026-07-28 header with a _meta that lacks one field is refused, naming the field", async () => {
    for (const key of [PROTOCOL_VERSION_KEY, CAPABILITIES_KEY]) {
      const message = request("tools/list", { _meta: meta({ [key]: undefined }) }, 6);
      const answer = await send(message, standardHeaders(message));
      expect([answer.status, errorOf(answer).code]).toEqual([400, -32602]);
      expect(errorOf(answer).message).toContain(key);
    }
  });

  test.each(LEGACY_VERSIONS)("a %s header with modern _meta causes 400 -32020, even in a session", async (version) => {
    const session = await Session.open(await lab.url(), { version });
    const message = requestOf("modern", "tools/list", {}, 8);
    for (const id of [undefined, session.id]) {
      const headers = { ...standardHeaders(message), "mcp-protocol-version": version, "mcp-session-id": id };
      const answer = await send(message, headers);
      expect([answer.status, errorOf(answer).code, only(answer).id]).toEqual([400, -32020, 8]);
    }
  });

  test("modern _meta without a header is rejected with 400 -32020, because the body determines the era", async () => {
    const message = requestOf("modern", "tools/list", {}, 8);
    const answer = await send(message, { ...standardHeaders(message), "mcp-protocol-version": undefined });
    expect([answer.status, errorOf(answer).code]).toEqual([400, -32020]);
  });

  test("initialize without modern _meta opens a legacy session, whatever modern headers it has", async () => {
    const answer = await send(initialize(NEWEST_LEGACY, 1), { "mcp-method": "initialize", "mcp-name": "x" });
    expect([answer.status, only(answer).result]).toMatchObject([200, { protocolVersion: NEWEST_LEGACY }]);
    expect(answer.headers["mcp-session-id"]).toMatch(/^[\x21-\x7e]+$/);
  });

  test("initialize with the 2026-07-28 header and no _meta is refused as a modern request and does not open a session", async () => {
    const answer = await send(initialize(NEWEST_LEGACY, 1), { "mcp-protocol-version": MODERN_VERSION });
    expect([answer.status, errorOf(answer).code]).toEqual([400, -32602]);
    expect(answer.headers).not.toHaveProperty("mcp-session-id");
  });

  test("initialize that requests 2026-07-28 in the legacy form returns the newest legacy version", async () => {
    const answer = await send(initialize(MODERN_VERSION, 1), {});
    expect([answer.status, only(answer).result]).toMatchObject([200, { protocolVersion: NEWEST_LEGACY }]);
  });

  test("a modern version that is not served is rejected with 400 -32022 and a list of the modern versions only", async () => {
    const message = request("tools/list", { _meta: meta({ [PROTOCOL_VERSION_KEY]: "2099-01-01" }) }, 9);
    const answer = await send(message, {
      ...standardHeaders(message),
      "mcp-protocol-version": "2099-01-01",
      ...SESSIONLESS,
    });
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toMatchObject({
      code: -32022,
      data: { requested: "2099-01-01", supported: [MODERN_VERSION] },
    });
  });
});

describe("requests of both eras at the same time", () => {
  test("get responses of their own era and version, all 120 of them", { tags: "long" }, async () => {
    const url = await lab.url();
    const sessions = await Promise.all(LEGACY_VERSIONS.map((version) => Session.open(url, { version })));
    const modern = new ModernClient(url);
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, at) => {
        const [key, session] = [newKey(), sessions[at % 5]];
        // Ids collide on purpose.
        const id = at % 7;
        const call = session
          ? session.call("emit_twice", { key }, id)
          : modern.call("emit_twice", { key }, { id, progressToken: id });
        return readAnswer(call).then((answer) => ({ ...answer, at, id }));
      }),
    );
    for (const { at, id, status, messages, text } of answers) {
      expect([status, text, messages.length]).toEqual([200, "done", 3]);
      expect(messages.at(-1)?.id).toBe(id);
      const result = messages.at(-1)?.result;
      expect(isMembers(result) && result.resultType).toBe(at % 5 === 4 ? "complete" : undefined);
      for (const { params } of messages.slice(0, 2)) {
        expect(params).toMatchObject({ progressToken: id });
        // `message` was added in 2025-03-26.
        expect(isMembers(params) && "message" in params).toBe(at % 5 !== 0);
      }
    }
  });

  test("do not affect each other if they cause errors", async () => {
    const url = await lab.url();
    const session = await Session.open(url);
    const modern = new ModernClient(url);
    const rounds = await Promise.all(
      Array.from({ length: 20 }, async () => [
        await readAnswer(session.request("no/such", undefined, 1)),
        await readAnswer(modern.request("no/such", {}, { id: 1 })),
      ]),
    );
    for (const [legacy, other] of rounds) {
      expect([legacy?.status, other?.status]).toEqual([200, 404]);
      for (const answer of [legacy, other])
        expect(answer?.messages).toMatchObject([{ id: 1, error: { code: -32601 } }]);
    }
  });
});
