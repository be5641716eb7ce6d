/** Results for clients whose users cannot be asked: what the client lacks, and what its user can do. */
import { afterEach, describe, expect, test } from "vitest";
import { type HandlerContext, McpServer, QuestionError } from "../../src/core/index.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { replay } from "../../src/worker/replay/index.ts";
import type { ReplayPart } from "../../src/worker/services.ts";
import { type Era, requestOf, standardHeaders } from "../http/messages.ts";
import { ALL_VERSIONS, closePeers, type Json, MODERN_VERSION, openPeer } from "./peer.ts";

afterEach(closePeers);

type Ask = (ctx: HandlerContext) => unknown;

const FORM = { type: "object", properties: { name: { type: "string" } } } as const;
const PARAMS = { messages: [{ role: "user", content: { type: "text", text: "Hi" } }], maxTokens: 10 } as const;

/** Questions, and the capability that each needs. */
const QUESTIONS: Readonly<Record<string, { readonly ask: Ask; readonly lacks: string }>> = {
  "a form": { ask: (ctx) => ctx.elicit("Name?", FORM), lacks: "elicitation" },
  "the client's model": { ask: (ctx) => ctx.sample(PARAMS), lacks: "sampling" },
  "the roots": { ask: (ctx) => ctx.listRoots(), lacks: "roots" },
};

const REMEDY = "Use a client that supports it, or turn it on in the client's settings.";

function createServer(ask: Ask): { server: McpServer; reports: unknown[] } {
  const reports: unknown[] = [];
  const server = new McpServer({ name: "asking", version: "1.0.0", onError: (error) => void reports.push(error) });
  const handle = async (ctx: HandlerContext) => String(await ask(ctx));
  server.tool("ask", {}, (_, ctx) => handle(ctx));
  server.prompt("ask", {}, (_, ctx) => handle(ctx));
  server.resource("ask://it", {}, (_, ctx) => handle(ctx));
  server.method("example.com/ask", async (_, ctx) => ({ text: await handle(ctx) }));
  return { server, reports };
}

/** Everything that a person or a model reads in a response. */
const textOf = (answer: unknown) => JSON.stringify(answer);

describe.each(ALL_VERSIONS)("in %s", (version) => {
  test.each(Object.entries(QUESTIONS))(
    "the error of a tool that asks for %s contains what the client lacks and what to do",
    async (_, { ask, lacks }) => {
      const { server, reports } = createServer(ask);
      const peer = await openPeer(server, version);
      const answer = await peer.request("tools/call", { name: "ask", arguments: {} });
      expect(textOf(answer)).toContain(`needs the client capability ${lacks}`);
      expect(textOf(answer)).toContain(REMEDY);
      if (version === MODERN_VERSION) {
        expect(answer).toMatchObject({ error: { code: -32021, data: { requiredCapabilities: { [lacks]: {} } } } });
      } else {
        expect(answer).toMatchObject({ result: { isError: true } });
        expect(reports).toEqual([expect.any(QuestionError)]);
      }
      expect(peer.questions).toEqual([]);
    },
  );

  test.each([
    ["prompts/get", { name: "ask" }],
    ["resources/read", { uri: "ask://it" }],
    // In the modern version, only the three requests of the protocol can ask.
    ...(version === MODERN_VERSION ? [] : [["example.com/ask", {}] as const]),
  ] as const)("the error of %s contains what the client lacks and what to do", async (method, params) => {
    const { server } = createServer((ctx) => ctx.elicit("Name?", FORM));
    const peer = await openPeer(server, version);
    const answer = await peer.request(method, params as Json);
    expect(answer).toMatchObject({
      error: { message: expect.stringContaining("needs the client capability elicitation") },
    });
    expect(textOf(answer)).toContain(REMEDY);
  });
});

test.each([
  ["refused", { onRequest: () => Promise.reject(new Error("no")) }, "the client answered its question with an error"],
  ["timeout", { limits: { elicitTimeoutMs: 30 } }, "nobody answered its question in time"],
  [
    "invalid-answer",
    { onRequest: () => ({ action: "maybe" }), judgeClient: false },
    "the client's answer was not valid",
  ],
])("the error of a tool whose question ends with %s contains the reason", async (_, options, says) => {
  const { server } = createServer((ctx) => ctx.elicit("Name?", FORM));
  const peer = await openPeer(server, "2025-11-25", { capabilities: { elicitation: {} }, ...options });
  const answer = await peer.request("tools/call", { name: "ask", arguments: {} });
  expect(answer).toMatchObject({ result: { isError: true } });
  expect(textOf(answer)).toContain(says);
});

test("the message of a QuestionError that the author created is not sent to clients", async () => {
  const { server } = createServer(() => {
    throw new QuestionError("refused", "the password is 1234");
  });
  const peer = await openPeer(server, "2025-11-25");
  const answers = [
    await peer.request("tools/call", { name: "ask", arguments: {} }),
    await peer.request("prompts/get", { name: "ask" }),
  ];
  expect(textOf(answers)).not.toContain("password");
});

describe.each<readonly [string, Era, boolean, string]>([
  ["without sessions", "legacy", false, "questions cannot be asked over this connection"],
  ["of the modern era, without replay", "modern", false, "questions cannot be asked over this connection"],
  ["of the modern era, with replay", "modern", true, "needs the client capability elicitation"],
])("over HTTP %s", (_, era, hasReplay, says) => {
  test("the error of a tool that asks contains why it cannot ask", async () => {
    const { server } = createServer((ctx) => ctx.elicit("Name?", FORM));
    const rounds = hasReplay ? { replay: (replay() as ReplayPart).rounds } : {};
    const handle = createHttpHandler(server, { ...rounds, onError: () => undefined });
    const message = requestOf(era, "tools/call", { name: "ask", arguments: {} });
    const own = era === "modern" ? (standardHeaders(message) as Record<string, string>) : {};
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...own };
    const init = { method: "POST", headers, body: JSON.stringify(message) };
    const answer = await (await handle(new Request("https://mcp.example.com/mcp", init), {})).text();
    expect(answer).toContain(says);
  });
});
