/** Servers whose responses are valid JSON, and nevertheless not what a client expects. */
import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { type ClientEvent, connect } from "../../src/client/index.ts";
import { oauth } from "../../src/client/oauth/index.ts";
import { createTransportPair } from "../../src/core/connection/transport-pair.ts";
import type { JSONRPCMessage } from "../../src/core/protocol/jsonrpc.ts";
import { useClients } from "./join.ts";
import { ME } from "./places.ts";
import { DONE, discovered, initialized, result, scripted } from "./scripted.ts";

const join = useClients();
const PAGE = { resultType: "complete", ttlMs: 0, cacheScope: "public" };

/** A modern server that handles each request after the first with `answer`. */
function answering(answer: (asked: number) => object, expected?: RegExp) {
  let asked = 0;
  return scripted(({ message }, response) => {
    if (message?.method === "server/discover") {
      return result(response, message.id, discovered(undefined, { tools: {}, resources: {}, prompts: {} }));
    }
    asked += 1;
    return result(response, message?.id, answer(asked));
  }, expected);
}

describe("lists from a server", () => {
  test.each([
    ["tools", [null]],
    ["prompts", [5]],
    ["resources", [[]]],
  ])("a list of %s with the item %j is refused with an error about it", async (kind, items) => {
    await using server = await answering(() => ({ ...PAGE, [kind]: items }), /./);
    const { client } = await join(server.url);
    const listing = kind === "tools" ? client.tools() : kind === "prompts" ? client.prompts() : client.resources();
    await expect(listing.all()).rejects.toMatchObject({
      code: "answer-invalid",
      message: expect.stringContaining(`no valid list "${kind}"`),
    });
  });

  test.each([[null], [7], [{}]])("a list with the cursor %j ends after its first page", async (nextCursor) => {
    await using server = await answering((asked) => ({ ...PAGE, prompts: [{ name: `p${asked}` }], nextCursor }), /./);
    const { client } = await join(server.url);
    expect(await client.prompts().all()).toEqual([{ name: "p1" }]);
  });

  test("a list is read up to messageBytesMax if only its cursors are long", async () => {
    await using server = await answering((asked) => ({ ...PAGE, tools: [], nextCursor: `${asked}`.repeat(40_000) }));
    const { client, events } = await join(server.url, { messageBytesMax: 100_000 });
    expect(await client.tools().all()).toEqual([]);
    expect(server.asked.filter((each) => each === "POST tools/list")).toHaveLength(3);
    expect(events.at(-1)).toMatchObject({ message: expect.stringContaining("(messageBytesMax)") });
  });
});

test("a round of more than 10,000 questions is refused without answering any of them", { tags: "long" }, async () => {
  let answered = 0;
  const ask = { method: "elicitation/create", params: { message: "?", requestedSchema: { type: "object" } } };
  const inputRequests = Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`q${at}`, ask]));
  await using server = await answering(() => ({ resultType: "input_required", inputRequests }), /./);
  const onElicit = async () => {
    answered += 1;
    return { action: "decline" } as const;
  };
  const { client } = await join(server.url, { onElicit });
  await expect(client.callTool("a")).rejects.toMatchObject({
    code: "answer-invalid",
    mayHaveRun: true,
    message: expect.stringContaining("10001 questions"),
  });
  expect(answered).toBe(0);
});

test.each(["http://[bad", "http://user:secret@127.0.0.1/mcp"])(
  "a redirect to %s causes an error that says that it is not followed",
  async (location) => {
    await using server = await scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return response.writeHead(307, { location }).end();
    });
    const { client } = await join(server.url);
    await expect(client.callTool("a")).rejects.toMatchObject({
      code: "http-status",
      mayHaveRun: true,
      message: expect.stringContaining("is not followed"),
    });
  },
);

test("a server on a pipe that asks and does not read the answers does not pause the time limit of a call", async () => {
  const [serverEnd, clientEnd] = createTransportPair();
  serverEnd.onmessage = (message: JSONRPCMessage) => {
    const { id, method } = message as { id: number; method?: string };
    if (method === "initialize") {
      void serverEnd.send({ jsonrpc: "2.0", id, result: initialized("2025-11-25") });
    } else if (method === "tools/call") {
      for (let at = 0; at < 1_000; at += 1) void serverEnd.send({ jsonrpc: "2.0", id: at, method: "roots/list" });
    }
  };
  await serverEnd.start();
  // What the client sends as an answer is never taken.
  const send = clientEnd.send.bind(clientEnd);
  clientEnd.send = (message) => ("method" in message ? send(message) : new Promise<never>(() => undefined));
  const events: ClientEvent[] = [];
  const options = {
    ...ME,
    protocolVersions: ["2025-11-25"],
    roots: [],
    onEvent: (event: ClientEvent) => events.push(event),
  };
  const client = await connect(clientEnd, options);
  await expect(client.callTool("a", {}, { timeoutMs: 100 })).rejects.toMatchObject({ code: "timeout" });
  await client.close();
});

describe("an error", () => {
  test.each([
    ["cannot be sent", JSON.stringify({ accessToken: "s3cret\nx", issuer: "http://127.0.0.1" })],
    ["cannot be read", "s3cret"],
    ["is not a record", '["s3cret"]'],
  ])("does not contain a stored token that %s, and the user signs in again", async (_, stored) => {
    const sent: unknown[] = [];
    await using server = await scripted(({ headers }, response) => {
      sent.push(headers.authorization);
      return response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    });
    const store = {
      get: async () => stored,
      set: async () => undefined,
      exclusive: <T>(_key: string, work: () => Promise<T>) => work(),
    };
    const redirect = { url: "http://127.0.0.1:1/", open: () => Promise.reject(new Error("no page")) };
    const failure = await connect(server.url, { ...ME, auth: oauth({ redirect, store }) }).catch((error) => error);
    expect(failure).toMatchObject({ code: "sign-in-failed", reason: "redirect-failed" });
    expect(String(failure)).not.toContain("s3cret");
    expect(sent[0]).toBeUndefined();
  });

  test.each([{ authorization: "Bearer s3cret\nx" }, { "bad name": "s3cret" }, { "x-key": "s3cret-é→" }])(
    "does not contain the header %j of the caller, which is not valid in a request",
    async (headers) => {
      await using server = await scripted(({ message }, response) => result(response, message?.id, discovered()));
      const failure = await connect(server.url, { ...ME, headers: headers as never }).catch((error: unknown) => error);
      expect(failure).toMatchObject({ name: "KitError", code: "options-invalid" });
      expect(String(failure) + String((failure as Error).cause)).not.toContain("s3cret");
      expect(server.asked).toEqual([]);
    },
  );
});

test("a resume token with an address that is not a string is refused", async () => {
  await using server = await answering(() => DONE);
  const { client } = await join(server.url);
  const token = btoa(JSON.stringify([{ toString: 1 }, "2025-11-25", "s", 1, "tools/call", "e"]));
  await expect(client.resume(token)).rejects.toMatchObject({ code: "options-invalid" });
});

describe("a call to an HTTP+SSE server", () => {
  /** Handles everything except calls as usual. `call` handles the POST of a call, and writes to the stream. */
  function overSse(call: (response: ServerResponse, answer: () => void) => unknown) {
    let stream: ServerResponse | undefined;
    const say = (message: object) => stream?.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    return scripted(({ method, message, url }, response) => {
      if (method === "GET") {
        stream = response.writeHead(200, { "content-type": "text/event-stream" });
        return stream.write("event: endpoint\ndata: /messages\n\n");
      }
      if (url === "/mcp") return response.writeHead(405).end();
      const id = message?.id;
      if (message?.method === "tools/call") {
        return call(response, () => void say({ jsonrpc: "2.0", id, result: { content: [] } }));
      }
      response.writeHead(202).end();
      if (message?.method === "initialize") say({ jsonrpc: "2.0", id, result: initialized("2024-11-05") });
      return undefined;
      // The oracle looks for a JSON-RPC response in the HTTP response to its request.
    }, /answers no request that was seen/);
  }

  test("may have run if its POST is redirected", async () => {
    await using server = await overSse((response) => response.writeHead(303, { location: "/done" }).end());
    const { client } = await join(server.url);
    await expect(client.callTool("pay")).rejects.toMatchObject({ code: "http-status", mayHaveRun: true });
  });

  test("has its result even if there is no response to its POST", async () => {
    await using server = await overSse((_, answer) => answer());
    const { client } = await join(server.url);
    expect(await client.callTool("a", {}, { timeoutMs: 3_000 })).toEqual({ content: [] });
  });
});
