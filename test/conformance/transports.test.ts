/** Content types, methods, bodies, CORS, notifications and ids. */
import { describe, expect, test } from "vitest";
import {
  type Era,
  initialize,
  isMembers,
  type Members,
  nested,
  notification,
  post,
  request,
  requestOf,
} from "../http/messages.ts";
import { type Answer, type Ask, sendUnfinished } from "../http/wire.ts";
import { readAnswer } from "../worker/client.ts";
import { type Endpoint, newKey, progressOf, Session, useLab } from "./support.ts";

const lab = useLab();
const ERAS: readonly Era[] = ["legacy", "modern"];

type Changes = Parameters<typeof post>[1] & { readonly method?: string };

/** A POST that a server without sessions serves in either era, apart from the given changes. */
function sent(era: Era, changes: Changes = {}, endpoint: Endpoint = "plain"): Promise<Answer> {
  const headers = { ...(era === "legacy" ? { "mcp-session-id": undefined } : {}), ...changes.headers };
  return lab.send(post(era, { ...changes, headers }), endpoint);
}

function only(answer: Answer): Members {
  const [message] = answer.messages;
  expect(answer.messages).toHaveLength(1);
  return isMembers(message) ? message : {};
}

function expectError(answer: Answer, status: number, code: number, id?: unknown): void {
  expect([answer.status, answer.contentType]).toEqual([status, "application/json"]);
  const { error, ...envelope } = only(answer);
  expect(envelope).toEqual({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }) });
  expect(error).toMatchObject({ code, message: expect.stringMatching(/./) });
}

function expectServed(answer: Answer, contentType: string): void {
  expect([answer.status, answer.contentType]).toEqual([200, contentType]);
  expect(only(answer)).toMatchObject({ id: 7, result: { tools: expect.anything() } });
}

/** A refusal may contain the id of the refused request, or none. */
function withoutId(answer: Answer): Answer {
  const { id, ...message } = only(answer);
  expect([undefined, 7]).toContain(id);
  return { ...answer, messages: [message] };
}

describe.each(ERAS)("the header Accept (%s)", (era) => {
  test.each(["text/html", "application/xml", "image/*", "application/json;q=0, text/event-stream;q=0"])(
    "causes 406 if it allows neither format: %s",
    async (accept) => {
      expectError(withoutId(await sent(era, { headers: { accept } })), 406, -32600);
    },
  );

  test("allows both formats if it is missing or */*", async () => {
    for (const accept of [undefined, "*/*"]) expectServed(await sent(era, { headers: { accept } }), "application/json");
  });

  test("decides the format of the response if it allows only one", async () => {
    expectServed(await sent(era, { headers: { accept: "application/json" } }), "application/json");
    expectServed(await sent(era, { headers: { accept: "text/event-stream" } }), "text/event-stream");
  });

  test("gets one JSON object if it allows only JSON, even from a call that reports progress", async () => {
    const _meta = isMembers(requestOf(era, "x").params) ? (requestOf(era, "x").params as Members)._meta : {};
    const params = { name: "emit_twice", arguments: {}, _meta: { ...(_meta as Members), progressToken: 1 } };
    const answer = await sent(era, { message: request("tools/call", params), headers: { accept: "application/json" } });
    expect([answer.status, answer.contentType]).toEqual([200, "application/json"]);
    expect(only(answer)).toMatchObject({ id: 7, result: { content: [{ text: "done" }] } });
  });
});

describe.each(ERAS)("the header Content-Type (%s)", (era) => {
  test.each([undefined, "text/plain", "text/json", "application/x-www-form-urlencoded", "application/json-rpc", "*/*"])(
    "causes 415 with a wrong value: %s",
    async (type) => {
      expectError(withoutId(await sent(era, { headers: { "content-type": type } })), 415, -32600);
    },
  );

  test("is accepted with a charset, or in another case", async () => {
    for (const type of ["application/json; charset=utf-8", "Application/JSON"]) {
      expectServed(await sent(era, { headers: { "content-type": type } }), "application/json");
    }
  });
});

describe.each(ERAS)("the body (%s)", (era) => {
  test.each([
    ["empty", ""],
    ["truncated", '{"jsonrpc":"2.0","id":1,"method":"pi'],
    ["with a trailing comma", '{"jsonrpc":"2.0","id":1,"method":"ping",}'],
    ["two messages", '{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}'],
    ["NaN", '{"jsonrpc":"2.0","id":NaN,"method":"ping"}'],
    ["not UTF-8", Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}', "latin1")],
  ])("is rejected with -32700 without an id if it is malformed JSON: %s", async (_, body) => {
    expectError(await sent(era, { body }), 400, -32700);
  });

  test.each(["null", "5", '"ping"', "{}", '{"id":1,"method":"ping"}', '{"jsonrpc":"1.0","id":1,"method":"ping"}'])(
    "is rejected with -32600 if it is JSON but not a message: %s",
    async (body) => {
      const answer = await sent(era, { body });
      expect([answer.status, only(answer)]).toMatchObject([400, { error: { code: -32600 } }]);
    },
  );

  test("is served at exactly the limit, and one more byte causes 413", async () => {
    const text = JSON.stringify(requestOf(era, "tools/list"));
    expectServed(await sent(era, { body: text.padEnd(1000) }, "small"), "application/json");
    for (const chunked of [false, true]) {
      expectError(withoutId(await sent(era, { body: text.padEnd(1001), chunked }, "small")), 413, -32600);
    }
  });

  test("is refused before it is sent if its announced length is too large", async () => {
    const { body: _, ...ask } = post(era, { headers: { "content-length": "1000000000", "mcp-session-id": undefined } });
    expect(await sendUnfinished(lab.worker.origin, { ...ask, path: "/small/mcp" })).toBe(413);
  });

  test("nested up to the limit is served, and one more level causes -32600", async () => {
    const deep = (depth: number): string => {
      const params = requestOf(era, "tools/list").params as Members;
      const inside = { ...(isMembers(params._meta) ? params._meta : {}), "com.example/deep": 0 };
      // The message, its params and their _meta are three levels.
      const text = JSON.stringify({ ...requestOf(era, "tools/list"), params: { ...params, _meta: inside } });
      return text.replace('"com.example/deep":0', `"com.example/deep":${nested(depth - 3)}`);
    };
    expectServed(await sent(era, { body: deep(64) }), "application/json");
    const answer = await sent(era, { body: deep(65) });
    expect([answer.status, only(answer)]).toMatchObject([400, { error: { code: -32600 } }]);
  });

  test("is rejected with -32600 without an id if its id is null, fractional or missing", async () => {
    for (const id of [null, 1.5, -0.1, true, {}, [1]]) {
      expectError(await sent(era, { message: requestOf(era, "tools/list", {}, id) }), 400, -32600);
    }
  });

  test("gets a response with the same id for 0, the empty string, a negative number or a numeric string", async () => {
    for (const id of [0, "", -1, "1", "null", Number.MAX_SAFE_INTEGER]) {
      expect(only(await sent(era, { message: requestOf(era, "tools/list", {}, id) }))).toMatchObject({
        id,
        result: {},
      });
    }
  });

  test("gets 202 with an empty body if it is a notification, even an unknown or malformed one", async () => {
    for (const message of [
      notification("notifications/initialized"),
      notification("notifications/no/such"),
      notification("notifications/cancelled", { requestId: {} }),
      notification("tools/call", { name: "no such tool" }),
    ]) {
      const answer = await sent(era, { message });
      expect([answer.status, answer.text]).toEqual([202, ""]);
      expect(answer.headers["content-length"] ?? "0").toBe("0");
    }
  });
});

describe("a request id that is used again", () => {
  test("gets a separate response for each of two concurrent modern requests", async () => {
    const call = (key: string): Ask => {
      return post("modern", { message: requestOf("modern", "tools/call", { name: "echo", arguments: { key } }, 1) });
    };
    const answers = await Promise.all(["left", "right"].map((key) => lab.send(call(key), "plain")));
    expect(answers.map(only)).toMatchObject(
      ["left", "right"].map((text) => ({ id: 1, result: { content: [{ text }] } })),
    );
  });

  test("is accepted in another request, after the first is pending or finished", async () => {
    const session = await Session.open(await lab.url());
    const key = newKey();
    const running = await session.stream("count", { key, before: 1, after: 0 }, 1);
    expect(await readAnswer(session.call("echo", { key: "beside" }, 1))).toMatchObject({ status: 200, text: "beside" });
    await lab.tool("free", { key });
    await running.end();
    expect(running.messages.at(-1)).toMatchObject({ id: 1, result: { content: [{ text: key }] } });
    expect(await readAnswer(session.call("echo", { key: "again" }, 1))).toMatchObject({ status: 200, text: "again" });
  });

  test("joins the running request if the request is the same", async () => {
    const session = await Session.open(await lab.url());
    const key = newKey();
    const first = await session.stream("count", { key, before: 1, after: 1 }, "same");
    await lab.noted(key, "waiting");
    const second = await session.stream("count", { key, before: 1, after: 1 }, "same");
    await lab.tool("free", { key });
    await second.end();
    expect(second.messages.at(-1)).toMatchObject({ id: "same", result: { content: [{ text: key }] } });
    expect(progressOf(second.messages)).toEqual([1, 2]);
    expect(await lab.tool("noted", { key })).toBe("waiting");
    first.cut();
  });

  test("gets the same response if the request is the same, even before there is a stream", async () => {
    const session = await Session.open(await lab.url());
    const key = newKey();
    const calls = [1, 2].map(() => readAnswer(session.call("hold", { key }, "same")));
    await lab.noted(key, "started", "report");
    await lab.tool("release", { key });
    const [one, two] = await Promise.all(calls);
    expect(one?.messages).toEqual(two?.messages);
    expect(one?.messages).toMatchObject([{ id: "same", result: {} }]);
  });
});

const names = (value: string | undefined): string[] => (value ?? "").toLowerCase().split(/\s*,\s*/);

describe("HTTP methods", () => {
  test.each(["PUT", "PATCH", "PROPFIND"])("return 405 with Allow if unsupported: %s", async (method) => {
    const { body = "" } = post("modern");
    const legacy = await lab.send({ method, headers: { "content-type": "application/json" }, body });
    expect(legacy.status).toBe(405);
    expect(names(legacy.headers.allow)).toEqual(expect.arrayContaining(["get", "post", "delete"]));
    // GET and DELETE are for legacy sessions only.
    const modern = await lab.send({ ...post("modern"), method, body });
    expect([modern.status, names(modern.headers.allow)]).toEqual([405, ["post"]]);
    const plain = await lab.send({ ...post("modern"), method, body }, "plain");
    expect([plain.status, names(plain.headers.allow)]).toEqual([405, expect.arrayContaining(["post"])]);
    expect(names(plain.headers.allow)).not.toEqual(expect.arrayContaining(["get"]));
  });

  test("include HEAD, which returns 405 with Allow and without a body", async () => {
    for (const endpoint of ["full", "plain"] as const) {
      const answer = await lab.send({ method: "HEAD", headers: { accept: "text/event-stream" } }, endpoint);
      expect([answer.status, answer.text]).toEqual([405, ""]);
      expect(names(answer.headers.allow)).toContain("post");
    }
  });

  test("include OPTIONS, which without an Origin lists the methods and has no body", async () => {
    const answer = await lab.send({ method: "OPTIONS", headers: {} });
    expect([200, 204]).toContain(answer.status);
    expect(answer.text).toBe("");
    expect(names(answer.headers.allow)).toEqual(expect.arrayContaining(["get", "post", "delete"]));
  });
});

describe("CORS", () => {
  const page = "http://localhost:6274";
  const sentHeaders = ["authorization", "content-type", "mcp-session-id", "mcp-protocol-version", "last-event-id"];
  const modernHeaders = ["mcp-method", "mcp-name", "mcp-param-region"];

  test.each(["POST", "GET", "DELETE"])(
    "allows the method %s and every header that MCP uses in a preflight",
    async (method) => {
      const wanted = [...sentHeaders, ...modernHeaders];
      const headers = {
        origin: page,
        "access-control-request-method": method,
        "access-control-request-headers": wanted.join(","),
      };
      const answer = await lab.send({ method: "OPTIONS", headers });
      expect([200, 204]).toContain(answer.status);
      expect(answer.headers["access-control-allow-origin"]).toBe(page);
      expect(names(answer.headers["access-control-allow-methods"])).toContain(method.toLowerCase());
      expect(names(answer.headers["access-control-allow-headers"])).toEqual(expect.arrayContaining(wanted));
      expect(names(answer.headers.vary)).toContain("origin");
    },
  );

  test("lets a page read the session id, on success and on a refusal", async () => {
    const opened = await lab.send(
      post("legacy", {
        message: initialize(),
        headers: { origin: page, "mcp-session-id": undefined, "mcp-protocol-version": undefined },
      }),
    );
    const refusal = await lab.send(post("legacy", { headers: { origin: page, "mcp-session-id": "garbage" } }));
    expect([opened.status, refusal.status]).toEqual([200, 404]);
    for (const { headers } of [opened, refusal]) {
      expect(headers["access-control-allow-origin"]).toBe(page);
      expect(names(headers["access-control-expose-headers"])).toContain("mcp-session-id");
    }
  });

  test("lets a page read a stream as well as JSON", async () => {
    const answer = await sent("modern", { headers: { origin: page, accept: "text/event-stream" } });
    expectServed(answer, "text/event-stream");
    expect(answer.headers["access-control-allow-origin"]).toBe(page);
  });

  test("adds no headers without an Origin", async () => {
    const answer = await sent("modern");
    expect(Object.keys(answer.headers).filter((name) => name === "access-control-allow-origin")).toEqual([]);
  });
});
