/** Sign-in at servers of older versions: sessions, streams that are resumed, and HTTP+SSE. */
import type { ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { connect } from "../../../src/client/index.ts";
import { oauth } from "../../../src/client/oauth/index.ts";
import { ME } from "../places.ts";
import { type Asked, initialized, result, type Scripted, scripted } from "../scripted.ts";
import type { Authority } from "./authority.ts";
import { start } from "./lab.ts";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

/** Starts an MCP server that accepts the tokens of an authority. `answer` gets the requests with a valid token. */
async function guarded(
  authority: Authority,
  answer: (asked: Asked, response: ServerResponse) => unknown,
  faults?: RegExp,
): Promise<Scripted> {
  const server = await scripted((asked, response) => {
    const token = String(asked.headers.authorization).replace("Bearer ", "");
    if (authority.access.has(token)) return answer(asked, response);
    response.writeHead(401, authority.unauthorized().headers).end();
  }, faults);
  authority.resourceMetadata = { resource: server.url };
  open.push(server);
  return server;
}

async function join(server: Scripted, authority: Authority) {
  const auth = oauth({ redirect: authority.browser() });
  const client = await connect(server.url, { ...ME, auth, onEvent: () => undefined });
  open.push({ [Symbol.asyncDispose]: () => client.close() });
  return client;
}

test("a stream that breaks after its token has expired is resumed with a refreshed token, and the call runs once", async () => {
  const authority = await start();
  const server = await guarded(authority, ({ method, message, headers }, response) => {
    if (message?.method === "server/discover") return response.writeHead(400).end();
    if (message?.method === "initialize") {
      return result(response, message.id, initialized("2025-11-25"), { "mcp-session-id": "s1" });
    }
    if (message?.method === "tools/call") {
      response.writeHead(200, { "content-type": "text/event-stream" }).end("id: 1\nretry: 1\ndata:\n\n");
      authority.expire();
      return;
    }
    if (method === "GET" && headers["last-event-id"] === "1") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`id: 2\ndata: {"jsonrpc":"2.0","id":3,"result":{"content":[]}}\n\n`);
      return;
    }
    response.writeHead(method === "POST" ? 202 : 405).end();
  });
  const client = await join(server, authority);
  expect(await client.callTool("add")).toEqual({ content: [] });
  expect(server.asked.filter((each) => each === "POST tools/call")).toHaveLength(1);
  expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);
});

test("the end of a session causes neither a refresh nor a sign-in", async () => {
  const authority = await start();
  const server = await guarded(authority, ({ message }, response) => {
    if (message?.method === "server/discover") return response.writeHead(400).end();
    if (message?.id === undefined) return response.writeHead(202).end();
    result(response, message.id, initialized("2025-11-25"), { "mcp-session-id": "s1" });
  });
  const client = await join(server, authority);
  authority.expire();
  await client.close();
  expect(server.asked.at(-1)).toBe("DELETE");
  expect(authority.granted).toEqual(["authorization_code"]);
});

test("HTTP+SSE carries the token in the GET and in every POST, and a refused POST is sent again with a new token", async () => {
  const authority = await start();
  let stream: ServerResponse | undefined;
  const server = await guarded(
    authority,
    ({ method, message, url }, response) => {
      if (method === "GET") {
        stream = response.writeHead(200, { "content-type": "text/event-stream" });
        stream.write("event: endpoint\ndata: /messages\n\n");
        return;
      }
      if (url !== "/messages") return response.writeHead(405).end();
      response.writeHead(202).end();
      const answer = message?.method === "initialize" ? initialized("2024-11-05") : { content: [] };
      if (message?.id !== undefined) {
        stream?.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id: message.id, result: answer })}\n\n`);
      }
      // The responses belong to other requests than the request on which they arrive.
    },
    /answers no request that was seen/,
  );
  const client = await join(server, authority);
  authority.expire();
  expect(await client.callTool("add")).toEqual({ content: [] });
  expect(client.server.transport).toBe("http-sse");
  expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);
});
