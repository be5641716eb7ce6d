/** Requests of the server, cancellation and disconnection. */
import { describe, expect, test } from "vitest";
import { isMembers, type Members, notification, request } from "../http/messages.ts";
import { until } from "../http/wire.ts";
import { ModernClient, readAnswer } from "../worker/client.ts";
import { type Cuttable, idOf, newKey, progressOf, Session, useLab, WRONG } from "./support.ts";

const lab = useLab();

const VERSIONS = ["2025-03-26", "2025-06-18", "2025-11-25"] as const;
const ROOTS = { roots: [{ uri: "file:///a", name: "a" }] };

interface Asked {
  readonly stream: Cuttable;
  /** Id of the server's request. */
  readonly id: string | number;
}

/** Calls the tool that asks, and waits for its question. */
async function asked(session: Session, key = newKey(), id?: string | number): Promise<Asked> {
  const stream = await session.stream("ask", { key }, id);
  await stream.has("the question", ({ messages }) => messages.some(({ method }) => method === "roots/list"));
  const question = stream.messages.find(({ method }) => method === "roots/list");
  return { stream, id: question?.id as string | number };
}

function answer(id: string | number, result: Members = ROOTS): Members {
  return { jsonrpc: "2.0", id, result };
}

/** Text of the result that ends a stream. */
async function textOf(stream: Cuttable): Promise<unknown> {
  await stream.end();
  const result = stream.messages.at(-1)?.result;
  const [block] = isMembers(result) && Array.isArray(result.content) ? result.content : [];
  return isMembers(block) ? block.text : undefined;
}

/** Expects the HTTP response to a client's response: 202 without a body. */
async function accepted(response: Response): Promise<void> {
  expect([response.status, await response.text()]).toEqual([202, ""]);
}

describe("responses of a client to requests of the server", () => {
  test.each(VERSIONS)("a response on another POST gets 202, and the call continues (%s)", async (version) => {
    const session = await Session.open(await lab.url(), { version });
    const { stream, id } = await asked(session);
    await accepted(await session.send(answer(id)));
    expect(await textOf(stream)).toBe("file:///a");
  });

  test("an error response reaches the handler as an error", async () => {
    const session = await Session.open(await lab.url());
    const { stream, id } = await asked(session);
    await accepted(await session.send({ jsonrpc: "2.0", id, error: { code: -32603, message: "no roots today" } }));
    expect(await textOf(stream)).toMatch(/^no answer: /);
  });

  test("responses to several questions reach the right ones, in any order", async () => {
    const session = await Session.open(await lab.url());
    const [first, second] = [await asked(session), await asked(session)];
    expect(first.id).not.toBe(second.id);
    await accepted(await session.send(answer(second.id, { roots: [{ uri: "file:///second" }] })));
    await accepted(await session.send(answer(first.id, { roots: [{ uri: "file:///first" }] })));
    expect([await textOf(first.stream), await textOf(second.stream)]).toEqual(["file:///first", "file:///second"]);
  });

  test("a response that is sent twice counts once, and both get 202", async () => {
    const session = await Session.open(await lab.url());
    const { stream, id } = await asked(session);
    await accepted(await session.send(answer(id)));
    await accepted(await session.send(answer(id, { roots: [] }), WRONG));
    expect(await textOf(stream)).toBe("file:///a");
  });

  test("a response in another session does not answer the question", async () => {
    const [own, other] = [await Session.open(await lab.url()), await Session.open(await lab.url())];
    const { stream, id } = await asked(own);
    // Bypasses the tap: its oracle would take this for the question's answer.
    const past = other.with({}, `${lab.worker.origin}/mcp`);
    await accepted(await past.send(answer(id, { roots: [{ uri: "file:///foreign" }] })));
    await accepted(await own.send(answer(id)));
    expect(await textOf(stream)).toBe("file:///a");
  });

  test("a response reaches the call even if the connection was lost, and the result is on the resumed stream", async () => {
    const session = await Session.open(await lab.url());
    const { stream, id } = await asked(session, newKey(), "lost");
    stream.cut();
    await accepted(await session.send(answer(id)));
    const resumed = await session.get(idOf(stream.raw, ({ method }) => method === "roots/list"));
    expect(await textOf(resumed)).toBe("file:///a");
    expect(resumed.messages).toMatchObject([{ id: "lost" }]);
  });

  test("a response to an evicted object is accepted, and the call that asked ends as interrupted", {
    tags: "long",
  }, async () => {
    const session = await Session.open(await lab.url());
    const { stream, id } = await asked(session, newKey(), "evicted");
    await lab.worker.killAndRestart();
    const again = session.with({}, await lab.url());
    await accepted(await again.send(answer(id)));
    const resumed = await (await again.get(idOf(stream.raw, ({ method }) => method === "roots/list"))).end();
    expect(resumed.messages).toMatchObject([{ id: "evicted", error: { data: { reason: "interrupted" } } }]);
    expect(resumed.messages).toHaveLength(1);
  });

  test("a response that comes too late has no effect, and handler and client are notified of the timeout", async () => {
    const session = await Session.open(await lab.url("short"));
    const { stream, id } = await asked(session);
    expect(await textOf(stream)).toMatch(/^no answer: /);
    // 2025-11-25 lifecycle, Timeouts: the sender SHOULD issue a cancellation notification and stop waiting.
    const cancelled = stream.messages.filter(({ method }) => method === "notifications/cancelled");
    expect(cancelled).toMatchObject([{ params: { requestId: id } }]);
    expect(stream.messages.at(-1)).toHaveProperty("result");
    await accepted(await session.send(answer(id)));
    expect((await session.request("ping")).status).toBe(200);
  });

  test("no response is awaited from a client without the capability, and the handler gets an error at once", async () => {
    const session = await Session.open(await lab.url(), { capabilities: {} });
    const { messages, text } = await readAnswer(session.call("ask", { key: newKey() }));
    expect(text).toMatch(/^no answer: /);
    expect(messages.filter(({ method }) => method === "roots/list")).toEqual([]);
  });

  test("no response is awaited from a client that accepts only JSON, and the handler gets an error at once", async () => {
    const session = await Session.open(await lab.url());
    const message = request("tools/call", { name: "ask", arguments: { key: newKey() } }, "json");
    const { contentType, messages, text } = await readAnswer(session.send(message, { accept: "application/json" }));
    expect([contentType, messages.length]).toEqual(["application/json", 1]);
    expect(text).toMatch(/^no answer: /);
  });
});

function cancel(requestId: string | number): Members {
  return notification("notifications/cancelled", { requestId, reason: "the user left" });
}

describe("notifications/cancelled", () => {
  test.each(VERSIONS)("aborts the handler, and no message follows (%s)", async (version) => {
    const session = await Session.open(await lab.url(), { version });
    const [key, id] = [newKey(), newKey()];
    const stream = await session.stream("emit_and_hold", { key }, id);
    await stream.has("progress", ({ messages }) => messages.length === 1);
    await accepted(await session.send(cancel(id)));
    await lab.noted(key, "started aborted", "report");
    await stream.end();
    expect(stream.messages).toHaveLength(1);
  });

  test("suppresses later messages of the handler, even on a resumed stream", async () => {
    const session = await Session.open(await lab.url());
    const [key, id] = [newKey(), newKey()];
    const stream = await session.stream("count", { key, before: 1, after: 5 }, id);
    await stream.has("progress", ({ messages }) => messages.length === 1);
    await accepted(await session.send(cancel(id)));
    await stream.end();
    expect(progressOf(stream.messages)).toEqual([1]);
    expect(stream.messages).toHaveLength(1);
    const cursors = stream.events.flatMap((event) => event.id ?? []);
    const resumed = await session.get(cursors.at(-1));
    await resumed.end();
    expect(resumed.messages).toEqual([]);
  });

  test("has no effect for an unknown or finished request, or if it is malformed", async () => {
    const session = await Session.open(await lab.url());
    const [key, id] = [newKey(), newKey()];
    expect((await readAnswer(session.call("echo", { key: "over" }, "over"))).text).toBe("over");
    const running = await session.stream("count", { key, before: 1, after: 1 }, id);
    for (const message of [cancel("unknown"), cancel("over"), cancel(0)]) await accepted(await session.send(message));
    for (const params of [undefined, {}, { requestId: null }, { requestId: [id] }]) {
      await accepted(await session.send(notification("notifications/cancelled", params), WRONG));
    }
    await lab.tool("free", { key });
    expect(await textOf(running)).toBe(key);
  });

  test("affects only its own session, and distinguishes the number 1 from the string", async () => {
    const [own, other] = [await Session.open(await lab.url()), await Session.open(await lab.url())];
    const key = newKey();
    const streams = await Promise.all([
      own.stream("count", { key, before: 1, after: 0 }, 1),
      own.stream("count", { key, before: 1, after: 0 }, "1"),
      other.stream("count", { key, before: 1, after: 0 }, 1),
    ]);
    await accepted(await own.send(cancel(1)));
    await streams[0].end();
    await lab.tool("free", { key });
    expect(await textOf(streams[1])).toBe(key);
    expect(await textOf(streams[2])).toBe(key);
    expect(streams[0].messages.filter((message) => "id" in message)).toEqual([]);
  });

  test("reaches a call whose connection is lost", async () => {
    const session = await Session.open(await lab.url());
    const [key, id] = [newKey(), newKey()];
    const stream = await session.stream("emit_and_hold", { key }, id);
    await stream.has("progress", ({ messages }) => messages.length === 1);
    stream.cut();
    await accepted(await session.send(cancel(id)));
    await lab.noted(key, "started aborted", "report");
  });

  test("ends a response that is not a stream yet, without a message", async () => {
    const session = await Session.open(await lab.url());
    const [key, id] = [newKey(), newKey()];
    const pending = session.call("hold", { key }, id);
    await lab.noted(key, "started", "report");
    await accepted(await session.send(cancel(id)));
    expect((await readAnswer(pending)).messages).toEqual([]);
    await lab.noted(key, "started aborted", "report");
  });

  test("does not affect other members of a batch", async () => {
    const session = await Session.open(await lab.url(), { version: "2025-03-26" });
    const key = newKey();
    const hold = request("tools/call", { name: "hold", arguments: { key } }, "held");
    const pending = session.send([hold, request("ping", undefined, "other")]);
    await lab.noted(key, "started", "report");
    await accepted(await session.send(cancel("held")));
    expect((await readAnswer(pending)).messages).toEqual([{ jsonrpc: "2.0", id: "other", result: {} }]);
  });

  test("ends a call that waits for an answer, and cancels its question", async () => {
    const session = await Session.open(await lab.url());
    const { stream, id } = await asked(session, newKey(), "asks");
    await accepted(await session.send(cancel("asks")));
    await stream.end();
    expect(stream.messages.filter(({ result, error }) => result ?? error)).toEqual([]);
    await accepted(await session.send(answer(id)));
    expect((await session.request("ping")).status).toBe(200);
  });
});

/** Starts a call that is held, waits for its first message, and cuts its connection. */
async function departed(start: (signal: AbortSignal) => Promise<Response>, key: string): Promise<void> {
  const cutter = new AbortController();
  const response = await start(cutter.signal);
  const reader = response.body?.getReader();
  expect((await reader?.read())?.done).toBe(false);
  await lab.noted(key, "started", "report");
  cutter.abort();
}

describe("a client that disconnects", () => {
  test.each(VERSIONS)("does not cancel its call in %s: the result is kept for it", async (version) => {
    const session = await Session.open(await lab.url("quick"), { version });
    const [key, witness, id] = [newKey(), newKey(), newKey()];
    const stream = await session.stream("emit_and_hold", { key }, id);
    await stream.has("progress", ({ messages }) => messages.length === 1);
    stream.cut();
    // A modern client that disconnects later is noticed first, so this disconnection could have been noticed too.
    const modern = new ModernClient(await lab.url("quick"));
    await departed((signal) => modern.call("emit_and_hold", { key: witness }, { progressToken: 1, signal }), witness);
    await lab.noted(witness, "started aborted", "report");
    expect(await lab.tool("report", { key })).toBe("started");
    await lab.tool("release", { key });
    await lab.noted(key, "started finished", "report");
    const resumed = await session.get(idOf(stream.raw, ({ method }) => method === "notifications/progress"));
    expect(await textOf(resumed)).toBe(key);
    expect(resumed.messages).toMatchObject([{ id }]);
  });

  test("cancels its request in 2026-07-28: only the handler of that request is aborted", async () => {
    const modern = new ModernClient(await lab.url("quick"));
    const [gone, stays] = [newKey(), newKey()];
    const staying = readAnswer(modern.call("emit_and_hold", { key: stays }, { progressToken: "s" }));
    await lab.noted(stays, "started", "report");
    await departed((signal) => modern.call("emit_and_hold", { key: gone }, { progressToken: "g", signal }), gone);
    await lab.noted(gone, "started aborted", "report");
    expect(await lab.tool("report", { key: stays })).toBe("started");
    await lab.tool("release", { key: stays });
    const { messages, text } = await staying;
    expect(text).toBe(stays);
    // No more messages: nothing of the cancelled request appears on the other stream.
    expect(JSON.stringify(messages)).not.toContain(gone);
    expect(messages).toHaveLength(2);
  });

  test("cancels its request in 2026-07-28 even before the first byte", async () => {
    const modern = new ModernClient(await lab.url("quick"));
    const key = newKey();
    const cutter = new AbortController();
    const pending = modern.call("hold", { key }, { signal: cutter.signal }).catch(() => undefined);
    await lab.noted(key, "started", "report");
    cutter.abort();
    await pending;
    await lab.noted(key, "started aborted", "report");
  });

  test("cannot resume the stream in 2026-07-28", async () => {
    const modern = new ModernClient(await lab.url("quick"));
    const key = newKey();
    await departed((signal) => modern.call("emit_and_hold", { key }, { progressToken: 1, signal }), key);
    await until("aborted", async () => (await lab.tool("report", { key })) === "started aborted");
    const headers = { accept: "text/event-stream", "mcp-protocol-version": "2026-07-28", "last-event-id": "1" };
    expect((await lab.send({ method: "GET", headers })).status).toBe(405);
  });
});
