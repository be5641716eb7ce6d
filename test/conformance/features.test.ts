/** Completion, logging, progress, sampling with tools, and roots. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newKeys, Workerd } from "../harness/workerd.ts";
import type { Members } from "../http/messages.ts";
import { DELIBERATELY_BAD, type HttpTap, startHttpTap } from "../oracle/http-tap.ts";
import { clientOf, LegacyClient, ModernClient, readAnswer, VERSIONS } from "../worker/client.ts";
import { openAsked } from "./answering-session.ts";
import { errorOf, modern, resultOf } from "./modern.ts";

let worker: Workerd;
let tap: HttpTap;

beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/conformance/fixtures/features.ts",
    objects: ["McpObject"],
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker.stop());
beforeEach(async () => {
  tap = await startHttpTap(`${worker.origin}/mcp`);
});
afterEach(async () => {
  await tap.close();
  tap.oracle.expectClean();
});

const LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;
const LEVEL = "io.modelcontextprotocol/logLevel";

describe.each(VERSIONS)("completion in %s", (version) => {
  const complete = async (ref: Members, name: string, value: string, context?: Members) => {
    const client = await clientOf(version, tap.url);
    const params = { ref, argument: { name, value }, ...(context ? { context } : {}) };
    return readAnswer(client.request("completion/complete", params));
  };
  const template = { type: "ref/resource", uri: "db://{table}/{column}" };

  test("a template's variable is completed from the typed value", async () => {
    const { completion } = resultOf(await complete(template, "table", "c"));
    expect(completion).toMatchObject({ values: ["cities", "countries"] });
  });

  test("the chosen values of other variables reach the completer", async () => {
    const context = { arguments: { table: "cities" } };
    const [without, withContext] = [
      await complete(template, "column", ""),
      version < "2025-06-18" ? undefined : await complete(template, "column", "", context),
    ];
    expect(resultOf(without).completion).toMatchObject({ values: [] });
    if (withContext) expect(resultOf(withContext).completion).toMatchObject({ values: ["cities.name", "cities.id"] });
  });

  test("an argument of a prompt is completed in the same way, with at most a hundred values", async () => {
    const { completion } = resultOf(await complete({ type: "ref/prompt", name: "counted" }, "number", "150"));
    expect(completion).toEqual({ values: Array.from({ length: 100 }, (_, n) => `${n}`), total: 150, hasMore: true });
    const whole = resultOf(await complete({ type: "ref/prompt", name: "counted" }, "number", "100"));
    expect(whole.completion).toMatchObject({ total: 100, hasMore: false });
  });

  test("an unknown reference is rejected with -32602", async () => {
    for (const ref of [
      { type: "ref/resource", uri: "db://{absent}" },
      { type: "ref/prompt", name: "absent" },
    ]) {
      expect(errorOf(await complete(ref, "table", "c"))).toMatchObject({ code: -32602 });
    }
  });
});

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

/** The levels of the log messages that came before the response. */
function levelsOf(messages: readonly Members[]): unknown[] {
  return messages
    .filter(({ method }) => method === "notifications/message")
    .map(({ params }) => (params as Members).level);
}

describe("the logging level", () => {
  test.each(LEGACY.flatMap((version) => LEVELS.map((level) => [version, level] as const)))(
    "is set in a session of %s: %s and more severe levels are sent until it is set again",
    async (version, level) => {
      const client = await LegacyClient.open(tap.url, { version });
      expect(levelsOf((await readAnswer(client.call("zebra"))).messages)).toEqual([]);
      expect(resultOf(await readAnswer(client.request("logging/setLevel", { level })))).toEqual({});
      expect(levelsOf((await readAnswer(client.call("zebra"))).messages)).toEqual(LEVELS.slice(LEVELS.indexOf(level)));
      await readAnswer(client.request("logging/setLevel", { level: "emergency" }));
      expect(levelsOf((await readAnswer(client.call("zebra"))).messages)).toEqual(["emergency"]);
    },
  );

  test("does not apply to another session", { tags: "long" }, async () => {
    const [loud, silent] = [await LegacyClient.open(tap.url), await LegacyClient.open(tap.url)];
    await readAnswer(loud.request("logging/setLevel", { level: "debug" }));
    expect(levelsOf((await readAnswer(silent.call("zebra"))).messages)).toEqual([]);
    expect(levelsOf((await readAnswer(loud.call("zebra"))).messages)).toEqual(LEVELS);
  });

  test.each(LEVELS)("applies to its request only in 2026-07-28: %s", async (level) => {
    const call = (meta: Members) => modern(tap.url, "tools/call", { name: "zebra", arguments: {} }, { meta });
    expect(levelsOf((await call({ [LEVEL]: level })).messages)).toEqual(LEVELS.slice(LEVELS.indexOf(level)));
    const after = await call({});
    expect([after.contentType, levelsOf(after.messages)]).toEqual(["application/json", []]);
  });

  test("is not changed by an invalid level, which is rejected with -32602", async () => {
    const bad = ["verbose", "", "ERROR", "warn", 3, null, ["error"]];
    const headers = { [DELIBERATELY_BAD]: "1" };
    const session = await LegacyClient.open(tap.url);
    await readAnswer(session.request("logging/setLevel", { level: "alert" }));
    for (const level of [...bad, undefined]) {
      const answer = await readAnswer(session.request("logging/setLevel", { level }, { headers }));
      expect(errorOf(answer)).toMatchObject({ code: -32602 });
    }
    expect(levelsOf((await readAnswer(session.call("zebra"))).messages)).toEqual(["alert", "emergency"]);
    for (const level of bad) {
      const params = { name: "zebra", arguments: {} };
      const answer = await modern(tap.url, "tools/call", params, { meta: { [LEVEL]: level }, bad: true });
      expect(errorOf(answer)).toMatchObject({ code: -32602 });
    }
  });
});

describe.each(VERSIONS)("progress in %s", (version) => {
  test.each([0, "", "token", -3])(
    "increases strictly with the token %j and stops at the end",
    async (progressToken) => {
      const client = await clientOf(version, tap.url);
      const { messages } = await readAnswer(client.call("climb", {}, { id: "climb", progressToken }));
      const progress = messages.slice(0, -1);
      expect(progress.map(({ method }) => method)).toEqual(progress.map(() => "notifications/progress"));
      const values = progress.map(({ params }) => Number((params as Members).progress));
      expect(values.slice(0, 4)).toEqual([-1, 0, 0.5, 2]);
      expect(values).toEqual([...new Set(values)].toSorted((left, right) => left - right));
      expect(values.length).toBeLessThan(100);
      expect(new Set(progress.map(({ params }) => (params as Members).progressToken))).toEqual(
        new Set([progressToken]),
      );
      // The handler reports 3 to 999 after its result; the response is the last message nevertheless.
      expect(messages.at(-1)).toMatchObject({ id: "climb", result: { content: [{ text: "climbed" }] } });
    },
  );

  test("is not sent without a token", async () => {
    const client = await clientOf(version, tap.url);
    const answer = await readAnswer(client.call("climb"));
    expect([answer.contentType, answer.messages.length]).toEqual(["application/json", 1]);
  });
});

describe("sampling with tools", () => {
  const toolUse = [{ type: "tool_use", id: "use 1", name: "weather", input: { city: "Oslo" } }];
  const answer = () => ({ model: "m", role: "assistant", content: toolUse, stopReason: "toolUse" });

  test("tools and toolChoice reach a client of 2025-11-25 that declared them, and its tool use reaches the handler", async () => {
    const session = await openAsked(tap.url, "2025-11-25", { sampling: { tools: {} } }, answer);
    const answered = await session.request("tools/call", { name: "ask_model", arguments: {} });
    expect(session.asked).toMatchObject([
      {
        method: "sampling/createMessage",
        params: {
          messages: [{ role: "user", content: { type: "text", text: "Weather?" } }],
          maxTokens: 10,
          tools: [{ name: "weather", inputSchema: { type: "object" } }],
          toolChoice: { mode: "required" },
        },
      },
    ]);
    expect(answered).toMatchObject({ result: { content: [{ text: JSON.stringify(toolUse) }] } });
  });

  test.each<[string, Members]>([
    ["2025-11-25", { sampling: {} }],
    ["2025-11-25", { sampling: { context: {} } }],
    ["2025-11-25", {}],
    ["2025-06-18", { sampling: {} }],
    ["2025-03-26", { sampling: {} }],
    ["2024-11-05", { sampling: {} }],
  ])("a client of %s with %j is not asked, and the call fails", async (version, capabilities) => {
    const session = await openAsked(tap.url, version, capabilities, answer);
    const answered = await session.request("tools/call", { name: "ask_model", arguments: {} });
    expect(answered).toMatchObject({ result: { isError: true } });
    expect(session.asked).toEqual([]);
  });
});

describe.each(LEGACY)("roots in %s", (version) => {
  test("are requested within the call, and again after roots/list_changed", async () => {
    let roots = [{ uri: "file:///one", name: "one" }];
    const session = await openAsked(tap.url, version, { roots: { listChanged: true } }, () => ({ roots }));
    const call = () => session.request("tools/call", { name: "roots", arguments: {} });
    expect(await call()).toMatchObject({ result: { content: [{ text: JSON.stringify(roots) }] } });
    roots = [
      { uri: "file:///two", name: "two" },
      { uri: "file:///three", name: "three" },
    ];
    expect(await session.notify("notifications/roots/list_changed")).toBe(202);
    expect(await call()).toMatchObject({ result: { content: [{ text: JSON.stringify(roots) }] } });
    expect(session.asked.map(({ method }) => method)).toEqual(["roots/list", "roots/list"]);
    expect(new Set(session.asked.map(({ id }) => id)).size).toBe(2);
  });

  test("are not requested from a client that did not declare them", async () => {
    const session = await openAsked(tap.url, version, { sampling: {} }, () => ({ roots: [] }));
    const answered = await session.request("tools/call", { name: "roots", arguments: {} });
    expect(answered).toMatchObject({ result: { isError: true } });
    expect(session.asked).toEqual([]);
  });
});

test("in 2026-07-28 no request is sent on the stream of a call", async () => {
  for (const name of ["roots", "ask_model"]) {
    const capabilities = { roots: {}, sampling: { tools: {} } };
    const { messages } = await modern(tap.url, "tools/call", { name, arguments: {} }, { capabilities });
    expect(messages.filter((message) => "method" in message)).toEqual([]);
  }
  expect((await readAnswer(new ModernClient(tap.url).call("echo", { text: "so" }))).text).toBe("so");
});
