// @module-tag long
/** What happens to requests and links while a session is reopened, the era is detected, or the client is closed. */
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import type { Client, ClientOptions, ServerFacts } from "../../src/client/index.ts";
import { until } from "../http/wire.ts";
import { useClients } from "./join.ts";
import { MODERN } from "./places.ts";
import { type Asked, error, initialized, result, type Scripted, scripted } from "./scripted.ts";

const enter = useClients();

const NEWEST_LEGACY = { protocolVersions: ["2025-11-25"] };
const KNOWN_MODERN = {
  serverFacts: { protocolVersion: MODERN, transport: "streamable-http", capabilities: { tools: {} } } as ServerFacts,
};

async function join(server: Scripted, options: Partial<ClientOptions> = {}): Promise<Client> {
  return (await enter(server.url, options)).client;
}

/** Starts a legacy server that numbers its sessions. Requests for which `answer` returns undefined are handled as usual. */
function sessions(
  answer: (asked: Asked, response: ServerResponse, session: unknown) => unknown,
  faults?: RegExp,
): Promise<Scripted> {
  let count = 0;
  return scripted(async (asked, response) => {
    const { method, headers, message } = asked;
    const given = await answer(asked, response, headers["mcp-session-id"]);
    if (given !== undefined || response.headersSent) return undefined;
    if (message?.method === "server/discover") return error(response, 200, message.id, -32601);
    if (message?.method === "initialize") {
      count += 1;
      return result(response, message.id, initialized("2025-11-25"), { "mcp-session-id": `s${count}` });
    }
    if (method === "GET") return response.writeHead(405).end();
    if (message?.method === "tools/call") return result(response, message.id, { content: [] });
    return response.writeHead(202).end();
  }, faults);
}

const stream = (response: ServerResponse, text: string) =>
  response.writeHead(200, { "content-type": "text/event-stream" }).write(text);

/** A promise, and the function that resolves it. */
function signal(): { readonly given: Promise<void>; give(): void } {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

describe("while a session is reopened", () => {
  test("a request waits for the new session", async () => {
    const open = signal();
    await using server = await sessions(async ({ message }, response, session) => {
      if (message?.method === "tools/call" && session === "s1") return response.writeHead(404).end();
      if (message?.method === "initialize" && server.asked.includes("POST tools/call")) await open.given;
      return undefined;
    });
    const client = await join(server, NEWEST_LEGACY);
    const first = client.callTool("a");
    await until(
      "a new session is requested",
      () => server.asked.at(-1) === "POST initialize" && server.asked.length > 3,
    );
    const second = client.callTool("b");
    await expect(client.callTool("c", {}, { timeoutMs: 50 })).rejects.toMatchObject({ code: "timeout" });
    open.give();
    expect(await Promise.all([first, second])).toEqual([{ content: [] }, { content: [] }]);
    expect(server.asked.filter((each) => each === "POST initialize")).toHaveLength(2);
  });

  test("a question of the old session gets its answer in the old session", async () => {
    const asked: ServerResponse[] = [];
    await using server = await sessions(({ message }, response, session) => {
      if (message?.params?.name === "ask") {
        asked.push(response);
        return stream(response, ": open\n\n");
      }
      if (message?.method === "tools/call" && session === "s1") return response.writeHead(404).end();
      if (message && message.method === undefined && message.id === 9) {
        response.writeHead(202).end();
        const answer = { jsonrpc: "2.0", id: 2, result: { content: [{ type: "text", text: session }] } };
        return asked[0]?.end(`data: ${JSON.stringify(answer)}\n\n`);
      }
      return undefined;
    });
    const client = await join(server, { ...NEWEST_LEGACY, roots: [] });
    const asking = client.callTool("ask");
    await until("the call has arrived", () => asked.length === 1);
    await client.callTool("a");
    asked[0]?.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: 9, method: "roots/list" })}\n\n`);
    expect(await asking).toMatchObject({ content: [{ text: "s1" }] });
  });
});

describe("facts that say modern", () => {
  test("stay in use if the era cannot be detected, and the next request detects it again", async () => {
    let isReady = false;
    await using server = await sessions(({ message }, response) => {
      if (message?.method === "server/discover" || message?.params?._meta) return response.writeHead(404).end();
      if (message?.method === "initialize" && !isReady) return response.writeHead(503).end();
      return undefined;
    });
    const client = await join(server, { ...KNOWN_MODERN, resetTimeoutOnProgress: false });
    const failure = { code: "http-status", response: { status: 503 } };
    await expect(client.callTool("a")).rejects.toMatchObject(failure);
    await expect(client.callTool("a")).rejects.toMatchObject(failure);
    isReady = true;
    expect(await client.callTool("a")).toEqual({ content: [] });
    expect(client.server.protocolVersion).toBe("2025-11-25");
  });

  test("do not make a call run twice when a legacy server returns an error", async () => {
    await using server = await sessions(({ message }, response) =>
      message?.method === "tools/call" ? error(response, 200, message.id, -32603) : undefined,
    );
    const client = await join(server, KNOWN_MODERN);
    await expect(client.callTool("pay")).rejects.toMatchObject({ code: -32603 });
    expect(server.asked.filter((each) => each === "POST tools/call")).toHaveLength(1);
    expect(client.server.protocolVersion).toBe("2025-11-25");
  });

  test("do not replace the error of a call by a failure to detect the era", async () => {
    await using server = await sessions(({ message }, response) => {
      if (message?.method === "server/discover") return response.writeHead(503).end();
      return message?.method === "tools/call" ? error(response, 200, message.id, -32603) : undefined;
    });
    const client = await join(server, KNOWN_MODERN);
    await expect(client.callTool("pay")).rejects.toMatchObject({ code: -32603 });
  });

  test.each([
    ["with -32022", 1, -32022, undefined],
    // Servers of older versions have no other id for a message that they did not read.
    ["without reading it", null, -32000, /id is null|\/id|-32000/],
  ])("allow repeating a call that a legacy server refused %s", async (_, id, code, faults) => {
    await using server = await sessions(({ message }, response, session) => {
      if (message?.method !== "tools/call" || session !== undefined) return undefined;
      return error(response, 400, id && message.id, code, { supported: ["2025-11-25"], requested: MODERN });
    }, faults);
    const client = await join(server, KNOWN_MODERN);
    expect(await client.callTool("pay")).toEqual({ content: [] });
  });
});

test("a call runs once if a legacy server returns the code that modern servers use for headers", async () => {
  await using server = await sessions(
    ({ message }, response) =>
      message?.method === "tools/call" ? error(response, 200, message.id, -32020) : undefined,
    /error code -32020/,
  );
  const client = await join(server, NEWEST_LEGACY);
  await expect(client.callTool("pay")).rejects.toMatchObject({ code: -32020 });
  expect(server.asked.filter((each) => each === "POST tools/call")).toHaveLength(1);
});

describe("connect()", () => {
  test("fails when a stream of HTTP+SSE names no address in time, and closes the stream", async () => {
    let open = 0;
    await using server = await scripted(({ method }, response) => {
      if (method !== "GET") return response.writeHead(400).end("bad");
      open += 1;
      response.on("close", () => {
        open -= 1;
      });
      return stream(response, ": nothing\n\n");
    });
    await expect(join(server, { timeoutMs: 200 })).rejects.toMatchObject({ response: { status: 400 } });
    expect(server.asked).toContain("GET");
    await until("the stream is closed", () => open === 0);
  });

  test("fails when notifications/initialized gets no response in time", async () => {
    await using server = await sessions(({ message }) => message?.method === "notifications/initialized" || undefined);
    await expect(join(server, { ...NEWEST_LEGACY, timeoutMs: 200 })).rejects.toMatchObject({ code: "timeout" });
    await until("the session is ended", () => server.asked.includes("DELETE"));
  });

  test("reports a refusal of notifications/initialized, and succeeds", async () => {
    await using server = await sessions(({ message }, response) =>
      message?.method === "notifications/initialized" ? response.writeHead(400).end() : undefined,
    );
    const warnings: unknown[] = [];
    const client = await join(server, { ...NEWEST_LEGACY, onEvent: (event) => warnings.push(event) });
    expect(warnings[0]).toMatchObject({ type: "warning", message: expect.stringContaining("HTTP status 400") });
    expect(await client.callTool("a")).toEqual({ content: [] });
    expect(server.asked).not.toContain("GET");
  });
});

describe("close()", () => {
  test("ends a call of a session that was replaced", async () => {
    await using server = await sessions(({ message }, response, session) => {
      if (message?.params?.name === "long") return true;
      if (message?.method === "tools/call" && session === "s1") return response.writeHead(404).end();
      return undefined;
    });
    const client = await join(server, NEWEST_LEGACY);
    const long = client.callTool("long").catch((reason: unknown) => reason);
    await until("the call has arrived", () => server.asked.includes("POST tools/call"));
    await client.callTool("a");
    await client.close();
    expect(await long).toMatchObject({ code: "closed" });
  });

  test("does not leave a stream of HTTP+SSE open after a session could not be reopened", async () => {
    let [isGone, open, opened] = [false, 0, 0];
    await using server = await sessions(({ method, message }, response, session) => {
      if (message?.method === "tools/call") isGone = true;
      if (method === "POST" && isGone) return response.writeHead(session ? 404 : 405).end();
      if (method !== "GET") return undefined;
      [open, opened] = [open + 1, opened + 1];
      response.on("close", () => {
        open -= 1;
      });
      return stream(response, "event: endpoint\ndata: /other\n\n");
    });
    const client = await join(server, NEWEST_LEGACY);
    await expect(client.callTool("a")).rejects.toMatchObject({ code: "session-lost" });
    expect(opened).toBe(1);
    await until("the stream is closed", () => open === 0);
  });

  test("ends the opening of a session", async () => {
    await using server = await sessions(({ message }, response) => {
      if (message?.method === "tools/call") return response.writeHead(404).end();
      // The session is opened, but never confirmed.
      return (message?.method === "notifications/initialized" && server.asked.includes("POST tools/call")) || undefined;
    });
    const client = await join(server, NEWEST_LEGACY);
    const call = client.callTool("a").catch((reason: unknown) => reason);
    const confirmed = () => server.asked.filter((each) => each === "POST notifications/initialized").length === 2;
    await until("the session is confirmed", confirmed);
    await client.close();
    expect(await call).toMatchObject({ code: "session-lost", cause: { code: "closed" } });
  });
});
