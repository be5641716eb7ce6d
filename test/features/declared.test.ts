/**
 * Invalid content declarations and sampling parameters are refused when they are defined or read, before anything is
 * sent.
 */
import { afterEach, describe, expect, test } from "vitest";
import { type ContentBlock, inputRequired, McpServer, type Question, type SampleParams } from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, errorOf, type Json, MODERN_VERSION, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

const NO_TYPES = [
  "",
  "text",
  "/",
  "text/",
  "*/*",
  "text/plain;",
  "text/plain; charset",
  "text /plain",
  "text/plain\r\nX: y",
];
const TYPES = [
  "text/plain",
  "Text/Plain; charset=utf-8",
  'text/html;profile="mcp app; \\"1\\""',
  "application/vnd.api+json",
  "application/x.a_b-c",
  "image/svg+xml",
];
const NO_BASE64 = [
  "%%%",
  "QUJ",
  "QUJD\n",
  " QUJD",
  "QU=D",
  "Q===",
  "====",
  "QUJ-",
  "QUJ_",
  "data:image/png;base64,QUJD",
  "QUJDé===",
];
const BASE64 = ["", "QQ==", "QUI=", "QUJD", "+/+/", "QUJD".repeat(250_000)];

async function open(server: McpServer, version: string) {
  const peer = await openPeer(server, version);
  const reported = () => peer.reports.map((error) => ({ ...(error as object), message: (error as Error).message }));
  return { peer, reported };
}

const newServer = () => new McpServer({ name: "declared", version: "1.0.0" });
const bare = (value: unknown) => value as never;

describe("defining a resource", () => {
  test.each(NO_TYPES)("throws for the mimeType %j, naming the resource or template", (mimeType) => {
    const invalid = (name: string) =>
      expect.objectContaining({ code: "definition-invalid", message: expect.stringContaining(name) });
    expect(() => newServer().resource("a:b", { mimeType }, () => "x")).toThrow(invalid('resource "a:b"'));
    expect(() => newServer().resourceTemplate("a:{b}", { mimeType }, () => "x")).toThrow(invalid('template "a:{b}"'));
  });

  test.each(TYPES)("accepts the mimeType %j", (mimeType) => {
    newServer()
      .resource("a:b", { mimeType }, () => "x")
      .resourceTemplate("a:{b}", { mimeType }, () => "x");
  });
});

describe.each(ALL_VERSIONS)("reading a resource in %s", (version) => {
  async function read(content: unknown) {
    const { peer, reported } = await open(
      newServer().resource("a:b", {}, () => bare(content)),
      version,
    );
    return { answer: await peer.request("resources/read", { uri: "a:b" }), reported: reported(), peer };
  }

  test.each([
    ...NO_BASE64.map((blob) => ({ blob })),
    ...NO_TYPES.map((mimeType) => ({ mimeType, text: "x" })),
    { mimeType: "text", blob: "QUJD" },
    { mimeType: 7, text: "x" },
    { text: "x", blob: "QUJD" },
    { blob: 7 },
  ])("does not send the invalid contents %j: the client gets a reference, and onError the reason", async (content) => {
    for (const returned of [content, [{ uri: "a:c", text: "fine" }, content]]) {
      const { answer, reported } = await read(returned);
      expect(errorOf(answer)).toMatchObject({
        code: -32603,
        message: expect.stringMatching(/^Internal error\. Reference/),
      });
      expect(reported).toMatchObject([{ code: "result-invalid", message: expect.stringMatching(/mimeType|blob/) }]);
    }
  });

  test("sends base64 and media types unchanged, even megabytes", async () => {
    for (const blob of BASE64) {
      const { answer, reported } = await read({ blob, mimeType: TYPES[1] });
      expect([resultOf(answer).contents, reported]).toMatchObject([[{ uri: "a:b", blob, mimeType: TYPES[1] }], []]);
    }
  });

  test("reports a provider that lists a resource without a media type", async () => {
    const server = newServer().resourceProvider({
      list: () => [{ uri: "a:fine" }, { uri: "a:bad", mimeType: "unknown" }],
      read: () => undefined,
    });
    const { peer, reported } = await open(server, version);
    expect(errorOf(await peer.request("resources/list"))).toMatchObject({ code: -32603 });
    expect(reported()).toMatchObject([
      { code: "result-invalid", message: expect.stringContaining('"a:bad" is "unknown"') },
    ]);
  });

  test.each<unknown>([
    { type: "image", mimeType: "png", data: "QUJD" },
    { type: "image", mimeType: "image/png", data: "no base64" },
    // The first version has no audio and gets text instead.
    { type: version === "2024-11-05" ? "image" : "audio", mimeType: "audio/wav", data: "QUJ" },
    { type: "resource", resource: { uri: "a:b", blob: "no base64" } },
    { type: "resource", resource: { uri: "a:b", text: "x", mimeType: "text" } },
    { type: "resource_link", uri: "a:b", name: "b", mimeType: "text" },
  ])("does not send %j as content of a tool or prompt", async (block) => {
    const server = newServer();
    server.tool("t", {}, () => block as ContentBlock);
    server.prompt("p", {}, () => ({ role: "user", content: block as ContentBlock }));
    const { peer, reported } = await open(server, version);
    const result = resultOf(await peer.request("tools/call", { name: "t" }));
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("does not fit its declaration") }],
    });
    expect(errorOf(await peer.request("prompts/get", { name: "p" }))).toMatchObject({ code: -32603 });
    expect(reported()).toMatchObject([{ code: "result-invalid" }, { code: "result-invalid" }]);
  });
});

const PARAMS: SampleParams = { messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 5 };
const ANSWER = { model: "m", role: "assistant", content: { type: "text", text: "yes" } };
const message = (content: Json) => [{ role: "user" as const, content }];

const WRONG: readonly (readonly [field: string, params: Json])[] = [
  ["temperature", { temperature: 5 }],
  ["temperature", { temperature: 1.01 }],
  ["temperature", { temperature: -0.1 }],
  ["temperature", { temperature: Number.NaN }],
  ["temperature", { temperature: "warm" }],
  ["maxTokens", { maxTokens: 0 }],
  ["modelPreferences.costPriority", { modelPreferences: { costPriority: 2 } }],
  ["modelPreferences.hints", { modelPreferences: { hints: [{ name: 7 }] } }],
  ["tools", { tools: [{}] }],
  ["toolChoice", { toolChoice: { mode: "perhaps" } }],
  ["messages", { messages: message({ type: "image", data: "no base64", mimeType: "image/png" }) }],
  ["messages", { messages: message({ type: "image", data: "QUJD", mimeType: "png" }) }],
];

describe.each(["2024-11-05", "2025-11-25", MODERN_VERSION])("a sampling request in %s", (version) => {
  async function run(handler: Parameters<McpServer["tool"]>[2], limits = {}) {
    const server = newServer().tool("t", {}, handler as never);
    const peer = await openPeer(server, version, {
      capabilities: { sampling: { tools: {}, context: {} } },
      onRequest: () => ANSWER,
      limits,
    });
    const answer = await peer.request("tools/call", { name: "t" });
    return { answer, questions: peer.questions, reports: peer.reports as { code: string; message: string }[] };
  }

  test.each(WRONG)("fails before it is sent if %s is invalid, naming it: %j", async (field, more) => {
    const question: Question = { method: "sampling/createMessage", params: { ...PARAMS, ...more } };
    const handlers = [
      (_: unknown, ctx: { sample(params: SampleParams): unknown }) => ctx.sample({ ...PARAMS, ...more }),
      () => inputRequired({ ask: question }),
    ];
    for (const handler of handlers) {
      const { answer, questions, reports } = await run(handler as never);
      expect(resultOf(answer)).toMatchObject({ isError: true });
      expect(questions).toEqual([]);
      expect(reports).toMatchObject([{ code: "options-invalid", message: expect.stringContaining(`: ${field} `) }]);
    }
  });

  test("is sent with a temperature from 0 to 1, or higher if limits.temperatureMax allows it", async () => {
    for (const [temperature, limits] of [
      [0, {}],
      [1, {}],
      [2, { temperatureMax: 2 }],
    ] as const) {
      const sample = (_: unknown, ctx: { sample(params: SampleParams): Promise<unknown> }) =>
        ctx.sample({ ...PARAMS, temperature }).then(() => "sampled");
      const { answer, questions, reports } = await run(sample as never, limits);
      expect(reports).toEqual([]);
      const asked = version === MODERN_VERSION ? Object.values(resultOf(answer).inputRequests as Json) : questions;
      expect(asked).toMatchObject([{ params: { temperature } }]);
    }
  });

  test("fails with an error that contains the value and the expected range", async () => {
    const { reports } = await run(((_: unknown, ctx: { sample(params: SampleParams): unknown }) =>
      ctx.sample({ ...PARAMS, temperature: 5 })) as never);
    expect(reports[0]?.message).toBe(
      "sampling/createMessage: temperature is a number from 0 to 1 (limits.temperatureMax), not 5.",
    );
  });
});
