import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type ClientCapabilities,
  elicitQuestion,
  type HandlerContext,
  KitError,
  McpServer,
  QuestionError,
  type SampleParams,
} from "../../src/core/index.ts";
import { jsonSchema } from "../../src/schema/index.ts";
import {
  closePeers,
  errorOf,
  type Json,
  LEGACY_VERSIONS,
  MODERN_VERSION,
  openPeer,
  type PeerOptions,
  resultOf,
  settle,
} from "./peer.ts";

afterEach(closePeers);

/** Runs a function inside a tool; returns its value or the typed error it met, and what was asked. */
async function inTool(
  version: string,
  run: (ctx: HandlerContext) => Promise<unknown>,
  options: PeerOptions = {},
): Promise<{ value: unknown; questions: readonly Json[]; cancelled: number }> {
  const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("ask", {}, async (_, ctx) => {
    try {
      return JSON.stringify({ value: await run(ctx) });
    } catch (error) {
      if (error instanceof QuestionError)
        return JSON.stringify({ reason: error.reason, code: error.code, says: error.message });
      if (error instanceof KitError) return JSON.stringify({ kit: error.code, says: error.message });
      throw error;
    }
  });
  const peer = await openPeer(server, version, options);
  const result = resultOf(await peer.request("tools/call", { name: "ask", arguments: {} }));
  await settle(peer);
  const [block] = result.content as { text: string }[];
  const cancelled = peer.notifications.filter(({ method }) => method === "notifications/cancelled").length;
  const questions = peer.questions.map(({ method, params }): Json => ({ method, params }));
  return { value: result.isError ? block?.text : JSON.parse(block?.text ?? ""), questions, cancelled };
}

/** Returns the properties of the requested form. */
function propertiesOf([question]: readonly Json[]): Json {
  const params = question?.params as { readonly requestedSchema: { readonly properties: Json } } | undefined;
  return params?.requestedSchema.properties ?? {};
}

const roots: ClientCapabilities = { roots: {} };
const sampling: ClientCapabilities = { sampling: {} };
const elicitation: ClientCapabilities = { elicitation: {} };
const ELICITING = ["2025-06-18", "2025-11-25"] as const;

describe.each(LEGACY_VERSIONS)("listRoots in %s", (version) => {
  const list = (ctx: HandlerContext) => ctx.listRoots();

  test("asks the client whose call is running", async () => {
    const answer = { roots: [{ uri: "file:///a", name: "A" }, { uri: "file:///b" }] };
    const { value, questions } = await inTool(version, list, { capabilities: roots, onRequest: () => answer });
    expect(value).toEqual({ value: answer.roots });
    expect(questions).toMatchObject([{ method: "roots/list" }]);
  });

  test("asks each of two clients for its own roots", async () => {
    const uris = ["file:///one", "file:///two"];
    const values = await Promise.all(
      uris.map((uri) => inTool(version, list, { capabilities: roots, onRequest: () => ({ roots: [{ uri }] }) })),
    );
    expect(values.map(({ value }) => value)).toEqual(uris.map((uri) => ({ value: [{ uri }] })));
  });

  test("rejects with a typed error without the capability, and sends no request", async () => {
    const { value, questions } = await inTool(version, list, { capabilities: sampling });
    expect(value).toMatchObject({ reason: "unsupported", says: expect.stringContaining("roots") });
    expect(questions).toEqual([]);
  });

  test("rejects with another typed error, which has the client's code, if the client responds with an error", async () => {
    const onRequest = () => {
      throw new Error("not now");
    };
    const { value } = await inTool(version, list, { capabilities: roots, onRequest });
    expect(value).toMatchObject({ reason: "refused", code: -32603, says: expect.stringContaining("not now") });
  });

  test.each<Json>([{}, { roots: {} }, { roots: [{}] }, { roots: [{ uri: 1 }] }, { roots: [null] }])(
    "rejects with a typed error if the answer is %j",
    async (answer) => {
      const { value } = await inTool(version, list, {
        capabilities: roots,
        onRequest: () => answer,
        judgeClient: false,
      });
      expect(value).toMatchObject({ reason: "invalid-answer" });
    },
  );

  test("rejects with a typed error if no answer comes in time, and cancels the request", async () => {
    const { value, cancelled } = await inTool(version, list, { capabilities: roots, limits: { askTimeoutMs: 30 } });
    expect([value, cancelled]).toMatchObject([{ reason: "timeout" }, 1]);
  });
});

const PARAMS: SampleParams = { messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 10 };
const ANSWER = { model: "m-1", role: "assistant", content: { type: "text", text: "hello" }, stopReason: "endTurn" };

describe.each(LEGACY_VERSIONS)("sampling in %s", (version) => {
  const sample = (params: SampleParams) => (ctx: HandlerContext) => ctx.sample(params);
  const wrong = (params: object) => sample(params as SampleParams);

  test("needs only messages and maxTokens", async () => {
    const { value, questions } = await inTool(version, sample(PARAMS), {
      capabilities: sampling,
      onRequest: () => ANSWER,
    });
    expect(value).toEqual({ value: ANSWER });
    expect(questions).toEqual([{ method: "sampling/createMessage", params: PARAMS }]);
  });

  test("sends every optional parameter unchanged", async () => {
    const params: SampleParams = {
      messages: [
        { role: "user", content: { type: "text", text: "look" } },
        { role: "assistant", content: { type: "image", data: "AQID", mimeType: "image/png" } },
        ...(version === "2024-11-05"
          ? []
          : [{ role: "user" as const, content: { type: "audio", data: "AQID", mimeType: "audio/wav" } }]),
      ],
      maxTokens: 1,
      systemPrompt: "Be brief",
      modelPreferences: {
        hints: [{ name: "small" }, { name: "large" }],
        costPriority: 0,
        speedPriority: 1,
        intelligencePriority: 0.5,
      },
      includeContext: "none",
      temperature: 0.2,
      stopSequences: ["END"],
      metadata: { trace: "1" },
    };
    const { questions } = await inTool(version, sample(params), { capabilities: sampling, onRequest: () => ANSWER });
    expect(questions).toEqual([{ method: "sampling/createMessage", params }]);
  });

  test("rejects with a typed error without the capability, sends no request, and can() is false", async () => {
    const { value, questions } = await inTool(version, sample(PARAMS), { capabilities: roots });
    expect([value, questions]).toMatchObject([
      { reason: "unsupported", says: expect.stringContaining("sampling") },
      [],
    ]);
    const can = async (ctx: HandlerContext) => (ctx.client.can("sampling") ? "model" : "fallback");
    expect((await inTool(version, can, { capabilities: roots })).value).toEqual({ value: "fallback" });
    expect((await inTool(version, can, { capabilities: sampling })).value).toEqual({ value: "model" });
  });

  test.each([
    ["sampling.tools", { tools: [] }],
    ["sampling.tools", { toolChoice: { mode: "auto" } }],
    ["sampling.context", { includeContext: "thisServer" }],
    ["sampling.context", { includeContext: "allServers" }],
  ])("rejects without %s with a typed error, and sends no request: %j", async (capability, more) => {
    const { value, questions } = await inTool(version, wrong({ ...PARAMS, ...more }), { capabilities: sampling });
    expect([value, questions]).toMatchObject([
      { reason: "unsupported", says: expect.stringContaining(capability) },
      [],
    ]);
  });

  test("accepts any string as stopReason, and none", async () => {
    const { stopReason, ...bare } = ANSWER;
    for (const answer of [bare, { ...bare, stopReason: "own" }, ANSWER]) {
      const { value } = await inTool(version, sample(PARAMS), { capabilities: sampling, onRequest: () => answer });
      expect(value).toEqual({ value: answer });
    }
    expect(stopReason).toBe("endTurn");
  });

  test("rejects with a typed error and the client's code if the client refuses", async () => {
    const onRequest = () => {
      throw new Error("User rejected sampling request");
    };
    const { value } = await inTool(version, sample(PARAMS), { capabilities: sampling, onRequest });
    expect(value).toMatchObject({ reason: "refused", code: -32603, says: expect.stringContaining("User rejected") });
  });

  test("rejects with a typed error if no answer comes in time", async () => {
    const { value, cancelled } = await inTool(version, sample(PARAMS), {
      capabilities: sampling,
      limits: { askTimeoutMs: 30 },
    });
    expect([value, cancelled]).toMatchObject([{ reason: "timeout" }, 1]);
  });
});

describe("sampling in every legacy version", () => {
  test.each<[string, object]>([
    ["messages", { maxTokens: 1 }],
    ["messages", { messages: [], maxTokens: 1 }],
    ["messages", { messages: "hi", maxTokens: 1 }],
    ["messages", { messages: [{ role: "system", content: { type: "text", text: "a" } }], maxTokens: 1 }],
    ["messages", { messages: [{ role: "user" }], maxTokens: 1 }],
    ["maxTokens", { messages: PARAMS.messages }],
    ["maxTokens", { ...PARAMS, maxTokens: 0 }],
    ["maxTokens", { ...PARAMS, maxTokens: 1.5 }],
    ["maxTokens", { ...PARAMS, maxTokens: "10" }],
    ["costPriority", { ...PARAMS, modelPreferences: { costPriority: 1.1 } }],
    ["speedPriority", { ...PARAMS, modelPreferences: { speedPriority: -0.1 } }],
    ["intelligencePriority", { ...PARAMS, modelPreferences: { intelligencePriority: Number.NaN } }],
    ["modelPreferences", { ...PARAMS, modelPreferences: "fast" }],
    ["hints", { ...PARAMS, modelPreferences: { hints: "small" } }],
    ["systemPrompt", { ...PARAMS, systemPrompt: 1 }],
    ["includeContext", { ...PARAMS, includeContext: "everything" }],
    ["temperature", { ...PARAMS, temperature: "warm" }],
    ["stopSequences", { ...PARAMS, stopSequences: [1] }],
    ["metadata", { ...PARAMS, metadata: "x" }],
  ])("rejects an invalid %s by name before sending: %j", async (field, params) => {
    for (const version of LEGACY_VERSIONS) {
      const capabilities = { sampling: { context: {}, tools: {} } };
      const { value, questions } = await inTool(version, (ctx) => ctx.sample(params as SampleParams), {
        capabilities,
        onRequest: () => ANSWER,
        judgeClient: false,
      });
      expect(questions).toEqual([]);
      expect(value).toMatchObject({ kit: "options-invalid", says: expect.stringContaining(field) });
    }
  });

  test.each<Json>([
    {},
    { ...ANSWER, model: 1 },
    { ...ANSWER, role: "system" },
    { model: "m", role: "assistant" },
    { ...ANSWER, content: null },
    { ...ANSWER, content: "text" },
    { ...ANSWER, content: { type: "text" } },
    { ...ANSWER, stopReason: 1 },
  ])("rejects the answer %j with a typed error and does not pass it to the handler", async (answer) => {
    for (const version of LEGACY_VERSIONS) {
      const { value } = await inTool(version, (ctx) => ctx.sample(PARAMS), {
        capabilities: sampling,
        onRequest: () => answer,
        judgeClient: false,
      });
      expect(value).toMatchObject({ reason: "invalid-answer" });
    }
  });
});

test.each(LEGACY_VERSIONS)("the handler of a custom method does not get an invalid answer (%s)", async (version) => {
  const server = new McpServer({ name: "asker", version: "1.0.0" });
  server.method("example.com/ask", async (_, ctx) => {
    return ctx.sample(PARAMS).catch((error: unknown) => ({ reason: (error as QuestionError).reason }));
  });
  const onRequest = () => ({ ...ANSWER, role: "system" });
  const peer = await openPeer(server, version, { capabilities: sampling, onRequest, judgeClient: false });
  expect(resultOf(await peer.request("example.com/ask"))).toMatchObject({ reason: "invalid-answer" });
});

describe("sampling with tools in 2025-11-25", () => {
  test("sends tools and toolChoice if the client declares sampling.tools", async () => {
    const params: SampleParams = {
      ...PARAMS,
      tools: [{ name: "t", inputSchema: { type: "object" } }],
      toolChoice: { mode: "auto" },
    };
    const { questions } = await inTool("2025-11-25", (ctx) => ctx.sample(params), {
      capabilities: { sampling: { tools: {} } },
      onRequest: () => ANSWER,
    });
    expect(questions).toEqual([{ method: "sampling/createMessage", params }]);
  });
});

const FORM = {
  type: "object",
  properties: {
    name: { type: "string", title: "Name", description: "Yours", minLength: 2, maxLength: 5 },
    email: { type: "string", format: "email" },
    site: { type: "string", format: "uri" },
    day: { type: "string", format: "date" },
    at: { type: "string", format: "date-time" },
    ratio: { type: "number", minimum: 0, maximum: 1 },
    count: { type: "integer", minimum: 1, maximum: 9 },
    agree: { type: "boolean", default: false },
    size: { type: "string", enum: ["s", "l"] },
  },
  required: ["name"],
} as const;

describe.each(ELICITING)("elicitation in %s", (version) => {
  const elicit = (ctx: HandlerContext) => ctx.elicit("Who are you?", FORM);
  const answerWith = (content: Json, judgeClient = true): PeerOptions => ({
    capabilities: elicitation,
    onRequest: () => ({ action: "accept", content }),
    judgeClient,
  });

  test("sends the form in the format of the version", async () => {
    const { questions } = await inTool(version, elicit, answerWith({ name: "Ada" }));
    expect(questions).toEqual([
      {
        method: "elicitation/create",
        params: {
          ...(version === "2025-11-25" ? { mode: "form" } : {}),
          message: "Who are you?",
          requestedSchema: FORM,
        },
      },
    ]);
  });

  test("returns the validated content if the form is accepted", async () => {
    const content = {
      name: "Ada",
      email: "ada@example.com",
      site: "https://example.com",
      day: "2025-01-31",
      at: "2025-01-31T10:00:00Z",
      ratio: 0.5,
      count: 3,
      agree: true,
      size: "l",
    };
    const { value } = await inTool(version, elicit, answerWith(content));
    expect(value).toEqual({ value: { action: "accept", content } });
  });

  test.each(["decline", "cancel"])("returns %s as a value instead of throwing", async (action) => {
    const { value } = await inTool(version, elicit, { capabilities: elicitation, onRequest: () => ({ action }) });
    expect(value).toEqual({ value: { action } });
  });

  test.each<[string, Json]>([
    ["name", {}],
    ["name", { name: 1 }],
    ["name", { name: "A" }],
    ["name", { name: "Adelheid" }],
    ["email", { name: "Ada", email: "no address" }],
    ["site", { name: "Ada", site: "no uri" }],
    ["day", { name: "Ada", day: "yesterday" }],
    ["at", { name: "Ada", at: "noon" }],
    ["ratio", { name: "Ada", ratio: 2 }],
    ["ratio", { name: "Ada", ratio: "0.5" }],
    ["count", { name: "Ada", count: 1.5 }],
    ["count", { name: "Ada", count: 0 }],
    ["agree", { name: "Ada", agree: "yes" }],
    ["size", { name: "Ada", size: "xl" }],
  ])("rejects content with an invalid %s with a typed error naming it: %j", async (field, content) => {
    const { value } = await inTool(version, elicit, answerWith(content, false));
    expect(value).toMatchObject({ reason: "invalid-answer", says: expect.stringContaining(field) });
  });

  test.each<Json>([
    {},
    { action: "yes" },
    { action: 1 },
    { action: "accept", content: [] },
    { action: "accept", content: "x" },
  ])("rejects the answer %j with a typed error", async (answer) => {
    const options = { capabilities: elicitation, onRequest: () => answer, judgeClient: false };
    expect((await inTool(version, elicit, options)).value).toMatchObject({ reason: "invalid-answer" });
  });

  test("accepts a schema of a library and returns its typed output", async () => {
    const schema = z.object({
      name: z.string(),
      email: z.email(),
      count: z.int().default(3),
      size: z.enum(["s", "l"]),
    });
    const run = async (ctx: HandlerContext) => ctx.elicit("Who?", schema);
    const { value, questions } = await inTool(
      version,
      run,
      answerWith({ name: "Ada", email: "a@example.com", size: "s" }),
    );
    expect(value).toEqual({
      value: { action: "accept", content: { name: "Ada", email: "a@example.com", count: 3, size: "s" } },
    });
    const properties = propertiesOf(questions);
    expect(properties).toMatchObject({
      name: { type: "string" },
      email: { type: "string", format: "email" },
      count: { type: "integer" },
      size: { enum: ["s", "l"] },
    });
    const wrong = await inTool(version, run, answerWith({ name: "Ada", email: "no", size: "s" }, false));
    expect(wrong.value).toMatchObject({ reason: "invalid-answer", says: expect.stringContaining("email") });
  });

  test("sends titled choices in the format of the version", async () => {
    const oneOf = [
      { const: "s", title: "Small" },
      { const: "l", title: "Large" },
    ];
    const form = { type: "object", properties: { size: { type: "string", oneOf } } } as const;
    const { questions } = await inTool(version, (ctx) => ctx.elicit("Size?", form), answerWith({ size: "l" }));
    const properties = propertiesOf(questions);
    expect(properties.size).toEqual(
      version === "2025-11-25"
        ? { type: "string", oneOf }
        : { type: "string", enum: ["s", "l"], enumNames: ["Small", "Large"] },
    );
  });

  test.each<[string, Json]>([
    ["address", { type: "object", properties: {} }],
    ["tags", { type: "array", items: { type: "string" } }],
    ["either", { anyOf: [{ type: "string" }, { type: "number" }] }],
    ["nothing", { type: "null" }],
  ])("refuses a nested schema, naming the property %s, and sends no request", async (name, property) => {
    const form = { type: "object", properties: { [name]: property } } as const;
    for (const schema of [form, jsonSchema(form)]) {
      const run = async (ctx: HandlerContext) => ctx.elicit("Where?", schema);
      const { value, questions } = await inTool(version, run, { capabilities: elicitation });
      expect([value, questions]).toMatchObject([
        { kit: "schema-unsupported", says: expect.stringContaining(name) },
        [],
      ]);
    }
  });

  test("rejects with a typed error without the capability, and sends no request", async () => {
    const { value, questions } = await inTool(version, elicit, { capabilities: roots });
    expect([value, questions]).toMatchObject([
      { reason: "unsupported", says: expect.stringContaining("elicitation") },
      [],
    ]);
  });

  test("rejects with a typed error if no answer comes in time, and cancels the request", async () => {
    const { value, cancelled } = await inTool(version, elicit, {
      capabilities: elicitation,
      limits: { elicitTimeoutMs: 30 },
    });
    expect([value, cancelled]).toMatchObject([{ reason: "timeout" }, 1]);
  });
});

describe("a form or URL in 2025-11-25", () => {
  const can = async (ctx: HandlerContext) => [ctx.client.can("elicitation.form"), ctx.client.can("elicitation.url")];

  test.each<[ClientCapabilities, [boolean, boolean]]>([
    [{}, [false, false]],
    [{ elicitation: {} }, [true, false]],
    [{ elicitation: { form: {} } }, [true, false]],
    [{ elicitation: { url: {} } }, [false, true]],
    [{ elicitation: { form: {}, url: {} } }, [true, true]],
  ])("is possible if the client declares %j: can() returns %j", async (capabilities, expected) => {
    for (const version of ["2025-11-25", MODERN_VERSION]) {
      expect((await inTool(version, can, { capabilities })).value).toEqual({ value: expected });
    }
  });

  test("is not sent if it is a form and the client declares only URL mode", async () => {
    const { value, questions } = await inTool("2025-11-25", (ctx) => ctx.elicit("Who?", FORM), {
      capabilities: { elicitation: { url: {} } },
    });
    expect([value, questions]).toMatchObject([{ reason: "unsupported" }, []]);
  });
});

describe("a question at the end of its handler", () => {
  const ASKS: [string, (ctx: HandlerContext) => Promise<unknown>][] = [
    ["elicitation/create", (ctx) => ctx.elicit("Who?", FORM)],
    ["elicitation/create", (ctx) => ctx.elicitUrl("Pay", "https://example.com/pay")],
    ["sampling/createMessage", (ctx) => ctx.sample(PARAMS)],
    ["roots/list", (ctx) => ctx.listRoots()],
  ];
  const capabilities = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } };

  test.each(ASKS)("is rejected if it is asked after the result, naming %s, and not sent (%#)", async (method, ask) => {
    let late: HandlerContext | undefined;
    const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("keep", {}, (_, ctx) => {
      late = ctx;
    });
    const peer = await openPeer(server, "2025-11-25", { capabilities });
    await peer.request("tools/call", { name: "keep" });
    const answer = late && ask(late);
    await expect(answer).rejects.toMatchObject({ code: "context-closed", message: expect.stringContaining(method) });
    await settle(peer);
    expect(peer.questions).toEqual([]);
  });

  test.each(ASKS)(
    "is cancelled before the result of its handler is sent if it is still open: %s (%#)",
    async (_, ask) => {
      const { promise: error, resolve: gotError } = Promise.withResolvers<unknown>();
      const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("leave", {}, async (_, ctx) => {
        ask(ctx).catch(gotError);
        await new Promise((resolve) => setTimeout(resolve, 0));
      });
      const peer = await openPeer(server, "2025-11-25", { capabilities });
      await peer.request("tools/call", { name: "leave" });
      expect(await error).toMatchObject({ code: "context-closed" });
      const [question] = peer.questions;
      expect(peer.notifications).toMatchObject([
        { method: "notifications/cancelled", params: { requestId: question?.id } },
      ]);
      expect(peer.received.at(-1)).toMatchObject({ result: {} });
    },
  );

  test("ends with the handler if it is not awaited, and does not cause an unhandled rejection", async () => {
    const server = new McpServer({ name: "asker", version: "1.0.0" }).tool("leave", {}, (_, ctx) => {
      void ctx.listRoots();
    });
    const peer = await openPeer(server, "2025-11-25", { capabilities });
    expect(resultOf(await peer.request("tools/call", { name: "leave" }))).toMatchObject({ content: [] });
    await settle(peer);
  });
});

describe("a question that the version does not have", () => {
  const everything = { roots: {}, sampling: { tools: {} }, elicitation: { form: {}, url: {} } };
  const url = "https://example.com/pay";
  const tools = [{ name: "t", inputSchema: { type: "object" } }];

  test.each<[string, string, (ctx: HandlerContext) => Promise<unknown>]>([
    ["2024-11-05", "a form", (ctx) => ctx.elicit("Who?", FORM)],
    ["2024-11-05", "a URL", (ctx) => ctx.elicitUrl("Pay", url)],
    ["2025-03-26", "a form", (ctx) => ctx.elicit("Who?", FORM)],
    ["2025-03-26", "a URL", (ctx) => ctx.elicitUrl("Pay", url)],
    ["2025-06-18", "a URL", (ctx) => ctx.elicitUrl("Pay", url)],
    ["2025-06-18", "sampling with tools", (ctx) => ctx.sample({ ...PARAMS, tools })],
  ])("is rejected in %s with a typed error and not sent, whatever the client declares: %s", async (version, _, run) => {
    const { value, questions } = await inTool(version, run, { capabilities: everything });
    expect([value, questions]).toMatchObject([{ reason: "unsupported" }, []]);
  });

  test("makes can() return false", async () => {
    const names = ["elicitation", "elicitation.form", "elicitation.url", "sampling"] as const;
    const can = async ({ client }: HandlerContext) => names.filter((name) => client.can(name));
    const { value } = await inTool("2025-03-26", can, { capabilities: everything });
    expect(value).toEqual({ value: ["sampling"] });
  });

  test("may be a multiple choice since 2025-11-25; before, a typed error names the property", async () => {
    const colours = { type: "array", items: { type: "string", enum: ["red", "blue"] } };
    const form = { type: "object", properties: { colours } } as const;
    const run = (ctx: HandlerContext) => ctx.elicit("Which?", form);
    const options: PeerOptions = {
      capabilities: { elicitation: {} },
      onRequest: () => ({ action: "accept", content: { colours: ["red"] } }),
    };
    const older = await inTool("2025-06-18", run, options);
    expect([older.value, older.questions]).toMatchObject([
      { reason: "unsupported", says: expect.stringContaining("colours") },
      [],
    ]);
    const newer = await inTool("2025-11-25", run, options);
    expect(newer.value).toEqual({ value: { action: "accept", content: { colours: ["red"] } } });
  });
});

describe("questions in 2026-07-28", () => {
  test("are refused with -32021 and the missing capabilities if the tool declares its questions", async () => {
    let runs = 0;
    const server = new McpServer({ name: "asker", version: "1.0.0" }).tool(
      "ask",
      { requires: ["sampling", "elicitation.url"] },
      () => String(++runs),
    );
    const peer = await openPeer(server, MODERN_VERSION, { capabilities: sampling });
    const error = errorOf(await peer.request("tools/call", { name: "ask", arguments: {} }));
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } });
    expect(runs).toBe(0);
  });
});

test("can be created by elicitQuestion with a schema of a library", () => {
  const { params } = elicitQuestion("Who?", z.object({ name: z.string() }));
  expect(params?.requestedSchema).toEqual({
    type: "object",
    properties: { name: { type: "string" } },
    required: ["name"],
  });
});

test("cannot be created by elicitQuestion with a nested schema", () => {
  const nested = { type: "object", properties: { address: { type: "object" } } } as const;
  expect(() => elicitQuestion("Where?", nested)).toThrow(/address/);
});

describe("form properties with the names of inherited members", () => {
  const properties = JSON.parse(`{"constructor":{"type":"string"},"__proto__":{"type":"string","title":"P"}}`) as Json;
  const form = { type: "object", properties: properties as { [name: string]: Json } } as const;

  test.each(ELICITING)("are sent, and can be omitted or answered in %s", async (version) => {
    for (const content of ["{}", `{"constructor":"c","__proto__":"p"}`]) {
      let asked: Json = {};
      const onRequest = ({ params }: { readonly params?: Json | undefined }): Json => {
        asked = params ?? {};
        return { action: "accept", content: JSON.parse(content) };
      };
      const run = async (ctx: HandlerContext) => JSON.stringify(await ctx.elicit("Who?", form));
      const { value } = await inTool(version, run, { capabilities: elicitation, onRequest, judgeClient: false });
      expect(value).toEqual({ value: `{"action":"accept","content":${content}}` });
      expect(Object.keys((asked.requestedSchema as { properties: Json }).properties)).toEqual([
        "constructor",
        "__proto__",
      ]);
    }
  });

  test("are reported as missing if they are required", async () => {
    const run = (ctx: HandlerContext) => ctx.elicit("Who?", { ...form, required: ["constructor"] });
    const onRequest = () => ({ action: "accept", content: {} });
    const { value } = await inTool("2025-11-25", run, { capabilities: elicitation, onRequest, judgeClient: false });
    expect(value).toMatchObject({ reason: "invalid-answer", says: expect.stringContaining("constructor") });
  });
});

describe.each(LEGACY_VERSIONS)("sampling parameters that cannot be represented in JSON in %s", (version) => {
  test("are refused by name before sending", async () => {
    const circular: Json = {};
    circular.self = circular;
    for (const metadata of [{ big: 1n }, circular]) {
      const sample = (ctx: HandlerContext) => ctx.sample({ ...PARAMS, metadata });
      const { value, questions } = await inTool(version, sample, { capabilities: sampling });
      expect(value).toMatchObject({ kit: "options-invalid", says: expect.stringContaining("metadata") });
      expect(questions).toEqual([]);
    }
  });
});
