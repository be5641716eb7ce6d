/** Servers that send too much, too deep or too often. */
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { until } from "../http/wire.ts";
import { useClients } from "./join.ts";
import { discovered, initialized, result, scripted } from "./scripted.ts";

const join = useClients();
const LEGACY = { protocolVersions: ["2025-11-25"] };

function events(response: ServerResponse, ...messages: readonly (object | string)[]): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const message of messages)
    response.write(typeof message === "string" ? message : `data: ${JSON.stringify(message)}\n\n`);
  return response;
}

describe("a result with 20,000 nested arrays", () => {
  const deep = (id: unknown) =>
    `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete","content":[],"x":${"[".repeat(20_000)}${"]".repeat(20_000)}}}`;

  test.each(["application/json", "text/event-stream"])("is refused as %s, and the call may have run", async (type) => {
    const server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      response.writeHead(200, { "content-type": type });
      return response.end(type === "application/json" ? deep(message?.id) : `data: ${deep(message?.id)}\n\n`);
    });
    const { client } = await join(server.url);
    await expect(client.callTool("a")).rejects.toMatchObject({
      code: "answer-invalid",
      mayHaveRun: true,
      message: expect.stringContaining("nested deeper than 1000 levels"),
    });
    await client.close();
    // The judge of the messages is recursive itself, so its opinion is not asked for.
    await Promise.resolve(server[Symbol.asyncDispose]()).catch(() => undefined);
  });
});

test.each([0, 99_999_999_999, 2_147_483_647])(
  "a stream that requests a pause of %s ms is not opened in a loop",
  async (ms) => {
    let opened = 0;
    await using server = await scripted(({ method, message }, response) => {
      if (message?.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
      if (method === "POST") return response.writeHead(202).end();
      opened += 1;
      return events(response, `retry: ${ms}\nid: ${opened}\ndata: \n\n`).end();
    });
    const { events: seen } = await join(server.url, { ...LEGACY, onToolsChanged: () => undefined });
    await until("the stream ends", () => seen.some(({ type }) => type === "stream-reconnecting"));
    const [first] = seen.filter((event) => event.type === "stream-reconnecting");
    expect(first).toMatchObject({ delayMs: expect.any(Number) });
    const { delayMs } = first as { delayMs: number };
    expect([delayMs >= 250, delayMs <= 330_000]).toEqual([true, true]);
  },
);

test("the pauses of a stream that ends after each event grow, because it never stays open", async () => {
  let opened = 0;
  await using server = await scripted(({ method, message }, response) => {
    if (message?.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
    if (method === "POST") return response.writeHead(202).end();
    opened += 1;
    return events(
      response,
      `retry: 0\nid: ${opened}\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n`,
    ).end();
  });
  const { events: seen } = await join(server.url, { ...LEGACY, onToolsChanged: () => undefined });
  const pauses = () => seen.flatMap((event) => (event.type === "stream-reconnecting" ? [event.delayMs] : []));
  await until("three pauses", () => pauses().length >= 3);
  const [first = 0, , third = 0] = pauses();
  expect(third).toBeGreaterThan(first * 1.5);
});

describe("a list with an endless number of pages", () => {
  test("is read up to messageBytesMax", async () => {
    const tool = (page: number) => ({
      name: `t${page}`,
      description: "x".repeat(20_000),
      inputSchema: { type: "object" },
    });
    let pages = 0;
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      pages += 1;
      return result(response, message?.id, { ...CACHED_PAGE, tools: [tool(pages)], nextCursor: `c${pages}` });
    });
    const { client, events: seen } = await join(server.url, { messageBytesMax: 100_000 });
    expect(await client.tools().all()).toHaveLength(5);
    expect(seen.at(-1)).toEqual({
      type: "warning",
      message: "A list was cut off: it has more than 100000 bytes (messageBytesMax).",
    });
  });
});
const CACHED_PAGE = { resultType: "complete", ttlMs: 0, cacheScope: "public" };

test("an event id that cannot be sent back ends the call as a call that may have run", async () => {
  await using server = await scripted(({ message }, response) => {
    if (message?.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
    return message?.method === "tools/call"
      ? events(response, "id: ünïcode\ndata: \n\n").end()
      : response.writeHead(202).end();
  });
  const { client } = await join(server.url, LEGACY);
  await expect(client.callTool("a")).rejects.toMatchObject({ code: "stream-lost", mayHaveRun: true });
});

test("the error message of a refusal does not contain a header of the caller that the refusal repeats", async () => {
  await using server = await scripted(({ message }, response) => {
    if (message?.method === "server/discover") return result(response, message.id, discovered());
    return response
      .writeHead(400, { "content-type": "text/plain" })
      .end("The token s3cret-1 of tenant-7 is wrong: Custom s3cret-1");
  });
  const { client } = await join(server.url, { headers: { authorization: "Custom s3cret-1", "x-tenant": "tenant-7" } });
  const failure = await client.callTool("a").catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "http-status", response: { body: expect.stringContaining("[redacted]") } });
  expect(JSON.stringify([String(failure), failure])).not.toMatch(/s3cret-1|tenant-7/);
});

test("the error without an id with which SDK v1 refuses the probe is not reported as a warning", async () => {
  await using server = await scripted(({ message, method }, response) => {
    if (method !== "POST") return response.writeHead(405).end();
    if (message?.method === "initialize") return result(response, message.id, initialized("2025-11-25"));
    if (message?.method !== "server/discover") return response.writeHead(202).end();
    const refused = {
      jsonrpc: "2.0",
      error: { code: -32000, message: "Bad Request: Server not initialized" },
      id: null,
    };
    return response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify(refused));
  }, /error code -32000|\bid\b/);
  const { kinds } = await join(server.url);
  expect(kinds()).toEqual(["connected"]);
});
