/** Redirects, streams that fail early, batches, and limits of the client over Streamable HTTP. */
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { until } from "../http/wire.ts";
import { useClients } from "./join.ts";
import { ME } from "./places.ts";
import { type Asked, discovered, error, initialized, result, type Scripted, scripted } from "./scripted.ts";

const join = useClients();

const CHANGING = { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } };
const CHANGED = 'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n';
const LEGACY = { protocolVersions: ["2025-11-25"] };

/** Starts a legacy server. `answer` returns true for a request that it has handled itself. */
async function legacy(
  answer: (asked: Asked, response: ServerResponse) => unknown,
  version = "2025-11-25",
): Promise<Scripted> {
  let sessions = 0;
  return scripted(async (asked, response) => {
    if (await answer(asked, response)) return;
    const { method, message } = asked;
    if (message?.method === "initialize") {
      sessions += 1;
      return result(response, message.id, initialized(version, CHANGING), { "mcp-session-id": `s${sessions}` });
    }
    if (method !== "POST") return response.writeHead(405).end();
    if (message?.id === undefined || !message.method) return response.writeHead(202).end();
    if (message.method === "server/discover") return error(response, 200, message.id, -32601);
    result(response, message.id, message.method === "tools/call" ? { content: [] } : {});
  });
}

/** Responds with a stream, and ends it unless it must stay open. */
function stream(response: ServerResponse, text: string, isOpen = false): true {
  response.writeHead(200, { "content-type": "text/event-stream" }).write(text);
  if (!isOpen) response.end();
  return true;
}

function redirect(response: ServerResponse, status: number, location: string): true {
  response.writeHead(status, { location }).end();
  return true;
}

describe("redirects", () => {
  test("a redirect of a call is not followed to a host that does not exist, and the call is not sent again", async () => {
    const absent = await scripted(() => undefined);
    await absent[Symbol.asyncDispose]();
    await using server = await legacy(
      ({ message }, response) => message?.method === "tools/call" && redirect(response, 303, absent.url),
    );
    const { client } = await join(server.url);
    const call = client.callTool("pay");
    await expect(call).rejects.toMatchObject({ code: "http-status", mayHaveRun: true, response: { status: 303 } });
    await expect(call).rejects.toThrow(absent.url);
    expect(server.asked.filter((each) => each === "POST tools/call")).toHaveLength(1);
  });

  test("a redirect to another origin fails, and the other origin gets no request", async () => {
    await using other = await scripted((_, response) => response.writeHead(400).end());
    await using server = await scripted((_, response) => redirect(response, 307, other.url));
    const connecting = connect(server.url, { ...ME, headers: { "x-api-key": "secret" } });
    await expect(connecting).rejects.toMatchObject({ code: "http-status", response: { status: 307 } });
    expect(other.asked).toEqual([]);
  });

  test("a redirect of HTTP+SSE to another origin fails, and the other origin gets no request", async () => {
    await using other = await scripted((_, response) => response.writeHead(400).end());
    await using server = await scripted(({ method }, response) =>
      method === "GET" ? redirect(response, 307, other.url) : response.writeHead(405).end(),
    );
    const connecting = connect(server.url, { ...ME, headers: { "x-api-key": "secret" } });
    await expect(connecting).rejects.toMatchObject({ code: "http-status", response: { status: 405 } });
    expect(server.asked).toContain("GET");
    expect(other.asked).toEqual([]);
  });

  test("a redirect within the origin that keeps the method is followed with all headers", async () => {
    const paths: unknown[] = [];
    await using server = await scripted(({ url, headers, message }, response) => {
      if (url === "/mcp") return redirect(response, 308, "/mcp/");
      paths.push([url, headers["x-api-key"]]);
      result(response, message?.id, discovered());
    });
    await join(server.url, { headers: { "x-api-key": "secret" } });
    expect(paths).toEqual([["/mcp/", "secret"]]);
  });

  test("a redirect to itself is followed at most three times", async () => {
    await using server = await scripted((_, response) => redirect(response, 307, "/mcp"));
    await expect(connect(server.url, { ...ME, ...LEGACY })).rejects.toMatchObject({
      code: "http-status",
      response: { status: 307 },
    });
    expect(server.asked).toHaveLength(4);
  });
});

describe("the listening stream of a legacy session", () => {
  test("is tried again when the first attempt has a transient failure", async () => {
    let gets = 0;
    let changes = 0;
    await using server = await legacy(({ method }, response) => {
      if (method !== "GET") return false;
      gets += 1;
      return gets === 1 ? response.writeHead(503).end() : stream(response, CHANGED, true);
    });
    const onToolsChanged = () => {
      changes += 1;
    };
    const { kinds } = await join(server.url, { ...LEGACY, onToolsChanged });
    await until("the change arrives", () => changes > 0);
    expect(kinds().slice(1)).toEqual(["stream-reconnecting", "stream-resumed"]);
  });

  test("is opened by a later subscription after the client had given up", async () => {
    let isDown = true;
    const updated: string[] = [];
    const update = { jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "x:1" } };
    await using server = await legacy(({ method }, response) => {
      if (method !== "GET") return false;
      return isDown ? response.writeHead(400).end() : stream(response, `data: ${JSON.stringify(update)}\n\n`, true);
    });
    const { client, kinds } = await join(server.url, { ...LEGACY, onResourceUpdated: (uri) => updated.push(uri) });
    await until("the stream is given up", () => kinds().includes("stream-lost"));
    isDown = false;
    await client.subscribe("x:1");
    await until("the update arrives", () => updated.includes("x:1"));
  });

  test("is opened again after each disconnect that follows an event, even without event ids", {
    tags: "long",
  }, async () => {
    let gets = 0;
    await using server = await legacy(({ method }, response) => {
      if (method !== "GET") return false;
      gets += 1;
      return stream(response, CHANGED);
    });
    const { kinds } = await join(server.url, { ...LEGACY, reconnectsMax: 1, onToolsChanged: () => undefined });
    await until("the stream was opened four times", () => gets >= 4);
    expect(kinds()).not.toContain("stream-lost");
  });
});

describe("the listen stream of a modern server", () => {
  /** Starts a modern server that handles its listen requests with `listen`. */
  const modern = (listen: (asked: Asked, response: ServerResponse, count: number) => unknown) => {
    let count = 0;
    return scripted((asked, response) => {
      const { message } = asked;
      if (message?.method === "server/discover")
        return result(response, message.id, discovered(undefined, { tools: { listChanged: true } }));
      count += 1;
      return listen(asked, response, count);
    });
  };

  test("is tried again when the first attempt has a transient failure", async () => {
    await using server = await modern(({ message }, response, count) => {
      if (count < 3) return response.writeHead(503).end();
      const params = { _meta: { "io.modelcontextprotocol/subscriptionId": message?.id }, notifications: {} };
      const acknowledged = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params };
      return stream(response, `data: ${JSON.stringify(acknowledged)}\n\n`, true);
    });
    const { kinds } = await join(server.url, { onToolsChanged: () => undefined });
    await until("the stream is open", () => kinds().includes("stream-resumed"));
    expect(kinds().slice(1)).toEqual(["stream-reconnecting", "stream-reconnecting", "stream-resumed"]);
  });

  test("is not tried again when the server refuses it", async () => {
    await using server = await modern(({ message }, response) => error(response, 200, message?.id, -32601));
    const { kinds } = await join(server.url, { onToolsChanged: () => undefined });
    await until("the stream is given up", () => kinds().includes("stream-lost"));
    expect(kinds()).not.toContain("stream-reconnecting");
  });
});

test("every message of a batch in an event is read", async () => {
  const logged: unknown[] = [];
  await using server = await legacy(({ message }, response) => {
    if (message?.method !== "tools/call") return false;
    const log = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } };
    const answer = { jsonrpc: "2.0", id: message.id, result: { content: [] } };
    return stream(response, `data: ${JSON.stringify([log, answer, log])}\n\n`);
  }, "2025-03-26");
  const { client } = await join(server.url, { onLog: ({ data }) => logged.push(data) });
  expect(await client.callTool("any")).toEqual({ content: [] });
  expect(logged).toEqual(["x", "x"]);
});

describe("an answer to a question that the server does not accept", () => {
  const asking = () =>
    legacy(({ message }, response) => {
      if (message?.method === "tools/call") {
        return stream(response, 'data: {"jsonrpc":"2.0","id":9,"method":"roots/list"}\n\n', true);
      }
      // The POST of the answer stays without a response.
      return message?.id === 9;
    });

  test("does not stop the time limit of the call", async () => {
    await using server = await asking();
    const { client } = await join(server.url, { ...LEGACY, roots: [] });
    const call = client.callTool("any", {}, { timeoutMs: 300, totalTimeoutMs: 20_000 });
    await expect(call).rejects.toMatchObject({ code: "timeout" });
  });

  test("is abandoned after timeoutMs, and reported", async () => {
    await using server = await asking();
    const { client, events } = await join(server.url, { ...LEGACY, roots: [], timeoutMs: 300 });
    const call = client.callTool("any", {}, { timeoutMs: 60_000 }).catch(() => undefined);
    const expected = expect.stringMatching(/response to roots\/list could not be sent: .*timeout/);
    await until("the warning arrives", () => events.some(({ type }) => type === "warning"));
    expect(events.at(-1)).toEqual({ type: "warning", message: expected });
    await client.close();
    await call;
  });
});

test("a subscription that a new session refuses is reported and removed, and the other subscriptions are restored", async () => {
  const subscribed: string[] = [];
  await using server = await legacy(({ method, headers, message }, response) => {
    const session = headers["mcp-session-id"];
    if (method === "POST" && message?.method === "tools/call" && session === "s1") return response.writeHead(404).end();
    if (message?.method !== "resources/subscribe") return false;
    const { uri } = message.params as { uri: string };
    subscribed.push(`${uri} in ${session}`);
    if (session === "s2" && uri === "x:1") {
      error(response, 200, message.id, -32002);
      return true;
    }
    return false;
  });
  const { client, events } = await join(server.url, LEGACY);
  await client.subscribe("x:1");
  await client.subscribe("x:2");
  expect(await client.callTool("any")).toEqual({ content: [] });
  expect(subscribed).toEqual(["x:1 in s1", "x:2 in s1", "x:1 in s2", "x:2 in s2"]);
  expect(events).toContainEqual({ type: "warning", message: expect.stringContaining("x:1") });
  await client.subscribe("x:1").catch(() => undefined);
  expect(subscribed).toHaveLength(5);
});

test("close() ends the pending calls even if no headers can be created", async () => {
  let isExpired = false;
  await using server = await legacy(({ message }) => message?.method === "tools/call");
  const headers = async () => {
    if (isExpired) throw new Error("login expired");
    return {};
  };
  const { client } = await join(server.url, { ...LEGACY, headers });
  const call = client.callTool("any").catch((reason: unknown) => reason);
  await until("the call has arrived", () => server.asked.includes("POST tools/call"));
  isExpired = true;
  await client.close();
  expect(await call).toMatchObject({ code: "closed" });
});
