import { afterEach, describe, expect, test } from "vitest";
import {
  elicitUrlQuestion,
  type HandlerContext,
  inputRequired,
  KitError,
  McpServer,
  QuestionError,
  readElicitUrlResult,
  type UrlElicitation,
} from "../../src/core/index.ts";
import {
  ALL_VERSIONS,
  closePeers,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  type PeerOptions,
  resultOf,
} from "./peer.ts";

afterEach(closePeers);

const able = { elicitation: { form: {}, url: {} } };
const PAY: UrlElicitation = { message: "Please pay", url: "https://pay.example/1" };
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Asks inside a tool and returns the result or the typed error, and what was sent. */
async function ask(version: string, { message, url, ...more }: UrlElicitation, options: PeerOptions) {
  const caught = (error: unknown) => {
    if (error instanceof QuestionError) return { reason: error.reason, says: error.message };
    if (error instanceof KitError) return { kit: error.code, says: error.message };
    throw error;
  };
  const run = async (_: unknown, ctx: HandlerContext) =>
    JSON.stringify(await ctx.elicitUrl(message, url, more).catch(caught));
  const server = new McpServer({ name: "shop", version: "1.0.0" }).tool("pay", {}, run);
  const peer = await openPeer(server, version, options);
  const [block] = resultOf(await peer.request("tools/call", { name: "pay" })).content as { text: string }[];
  return { value: JSON.parse(block?.text ?? "") as Json, questions: peer.questions };
}

describe("URL elicitation in 2025-11-25", () => {
  test.each(["accept", "decline", "cancel"])("the action %s is returned as a value with the id", async (action) => {
    const given = { ...PAY, elicitationId: "order-7" };
    const { value, questions } = await ask("2025-11-25", given, {
      capabilities: able,
      onRequest: () => ({ action }),
    });
    expect(value).toEqual({ action, elicitationId: "order-7" });
    expect(questions).toMatchObject([{ method: "elicitation/create" }]);
    expect(questions[0]?.params).toEqual({ mode: "url", ...given });
  });

  test("a new id is generated each time if none is given", async () => {
    const options: PeerOptions = { capabilities: able, onRequest: () => ({ action: "accept" }) };
    const runs = [await ask("2025-11-25", PAY, options), await ask("2025-11-25", PAY, options)];
    const ids = runs.map(({ value }) => value.elicitationId);
    expect(ids).toEqual([expect.stringMatching(UUID), expect.stringMatching(UUID)]);
    expect(ids).toEqual(runs.map(({ questions }) => questions[0]?.params?.elicitationId));
    expect(ids[0]).not.toBe(ids[1]);
  });

  test.each<Json>([{}, { action: "done" }, { action: true }])("the answer %j causes a typed error", async (answer) => {
    const options: PeerOptions = { capabilities: able, onRequest: () => answer, judgeClient: false };
    expect((await ask("2025-11-25", PAY, options)).value).toMatchObject({ reason: "invalid-answer" });
  });

  test.each([{}, { elicitation: {} }, { elicitation: { form: {} } }])(
    "a client with the capabilities %j is not asked",
    async (capabilities) => {
      const { value, questions } = await ask("2025-11-25", PAY, { capabilities });
      expect([value, questions]).toMatchObject([
        { reason: "unsupported", says: expect.stringContaining("elicitation.url") },
        [],
      ]);
    },
  );

  test.each(["", "/pay", "pay.example", "https://"])("the URL %j is refused before it is sent", async (url) => {
    const { value, questions } = await ask("2025-11-25", { ...PAY, url }, { capabilities: able });
    expect([value, questions]).toMatchObject([{ kit: "options-invalid" }, []]);
    expect(() => elicitUrlQuestion(PAY.message, url)).toThrow(KitError);
  });

  test("a missing answer causes a typed error after the timeout", async () => {
    const { value } = await ask("2025-11-25", PAY, { capabilities: able, limits: { elicitTimeoutMs: 20 } });
    expect(value).toMatchObject({ reason: "timeout" });
  });
});

test.each(LEGACY_VERSIONS.filter((version) => version !== "2025-11-25"))(
  "URL elicitation in %s causes a typed error and is not sent, whatever the client declares",
  async (version) => {
    const { value, questions } = await ask(version, PAY, { capabilities: able, judgeClient: false });
    expect([value, questions]).toMatchObject([{ reason: "unsupported" }, []]);
  },
);

describe("elicitUrlQuestion", () => {
  const server = new McpServer({ name: "shop", version: "1.0.0" }).tool("pay", {}, (_, ctx) =>
    ctx.inputResponses.pay
      ? JSON.stringify(readElicitUrlResult(ctx.inputResponses.pay))
      : inputRequired({ pay: elicitUrlQuestion(PAY.message, PAY.url, { elicitationId: "order-7" }) }),
  );

  test("is sent in a result in 2026-07-28, without an id, which this version does not have", async () => {
    const peer = await openPeer(server, MODERN_VERSION, { capabilities: able });
    const { inputRequests } = resultOf(await peer.request("tools/call", { name: "pay" }));
    expect(inputRequests).toEqual({ pay: { method: "elicitation/create", params: { mode: "url", ...PAY } } });
    const inputResponses = { pay: { action: "accept", content: { ignored: true } } };
    const { content } = resultOf(await peer.request("tools/call", { name: "pay", inputResponses }));
    expect(content).toEqual([{ type: "text", text: '{"action":"accept"}' }]);
  });

  test("is sent on the stream of the call in 2025-11-25, with the id", async () => {
    const peer = await openPeer(server, "2025-11-25", {
      capabilities: able,
      onRequest: () => ({ action: "decline" }),
    });
    const { content } = resultOf(await peer.request("tools/call", { name: "pay" }));
    expect(content).toEqual([{ type: "text", text: '{"action":"decline"}' }]);
    expect(peer.questions[0]?.params).toEqual({ mode: "url", ...PAY, elicitationId: "order-7" });
  });
});

test.each(ALL_VERSIONS)("can(elicitation.url) in %s depends on whether the version has the mode", async (version) => {
  const server = new McpServer({ name: "shop", version: "1.0.0" }).tool("can", {}, (_, ctx) =>
    String(ctx.client.can("elicitation.url")),
  );
  const peer = await openPeer(server, version, { capabilities: able, judgeClient: false });
  const [block] = resultOf(await peer.request("tools/call", { name: "can" })).content as { text: string }[];
  expect(block?.text).toBe(String(["2025-11-25", MODERN_VERSION].includes(version)));
});

test("only the client that was sent to a URL is notified of its completion", async () => {
  const server = new McpServer({ name: "shop", version: "1.0.0" });
  server.tool(
    "pay",
    {},
    async (_, ctx) => (await ctx.elicitUrl(PAY.message, PAY.url, { elicitationId: "order-7" })).action,
  );
  const onRequest = () => ({ action: "accept" });
  const peer = await openPeer(server, "2025-11-25", { capabilities: able, onRequest });
  await peer.request("tools/call", { name: "pay" });
  server.elicitationComplete("order-8");
  server.elicitationComplete("order-7");
  const complete = { method: "notifications/elicitation/complete", params: { elicitationId: "order-7" } };
  await expect.poll(() => peer.notifications).toMatchObject([complete]);
});
