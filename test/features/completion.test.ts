import { afterEach, describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { ALL_VERSIONS, closePeers, errorOf, type Json, openPeer, resultOf } from "./peer.ts";

afterEach(closePeers);

const LANGUAGES = ["perl", "php", "prolog", "python", "pyret"];

function newServer() {
  const seen: unknown[] = [];
  const server = new McpServer({ name: "completer", version: "1.0.0" })
    .prompt(
      "explain",
      {
        arguments: [
          { name: "language" },
          { name: "framework" },
          { name: "plain" },
          { name: "many" },
          { name: "broken" },
        ],
        complete: {
          language: (value) => LANGUAGES.filter((name) => name.startsWith(value)),
          framework: async (value, chosen, ctx) => {
            seen.push({ value, chosen, aborted: ctx.signal.aborted });
            return chosen.language === "python" ? ["flask", "fastapi"] : [];
          },
          many: (value) => Array.from({ length: Number(value) }, (_, place) => `v${place}`),
          broken: () => [1] as unknown as string[],
        },
      },
      () => "x",
    )
    .resource("file:///plain", {}, () => "x")
    .resourceTemplate("db:///{table}/{column}", { complete: { table: (value) => [`${value}s`] } }, () => "x");
  return { server, seen };
}

const PROMPT = { type: "ref/prompt", name: "explain" };

describe.each(ALL_VERSIONS)("completion in %s", (version) => {
  async function complete(ref: Json, name: string, value: string, context?: Json) {
    const { server, seen } = newServer();
    const peer = await openPeer(server, version);
    const params = { ref, argument: { name, value }, ...(context ? { context } : {}) };
    return { completion: resultOf(await peer.request("completion/complete", params)).completion, seen };
  }

  async function refuse(params: Json, bad = false) {
    const { server, seen } = newServer();
    const peer = await openPeer(server, version);
    return { error: errorOf(await peer.request("completion/complete", params, undefined, { bad })), seen };
  }

  test("a completer of a prompt argument gets the value typed so far", async () => {
    const { completion } = await complete(PROMPT, "language", "py");
    expect(completion).toEqual({ values: ["python", "pyret"], total: 2, hasMore: false });
  });

  test("the arguments already chosen reach the completer", async () => {
    const { completion, seen } = await complete(PROMPT, "framework", "f", { arguments: { language: "python" } });
    expect(completion).toMatchObject({ values: ["flask", "fastapi"] });
    expect(seen).toEqual([{ value: "f", chosen: { language: "python" }, aborted: false }]);
    expect((await complete(PROMPT, "framework", "f")).seen).toMatchObject([{ chosen: {} }]);
  });

  test("ref/resource can name a template or a plain resource", async () => {
    const template = await complete({ type: "ref/resource", uri: "db:///{table}/{column}" }, "table", "user");
    expect(template.completion).toMatchObject({ values: ["users"] });
    const plain = await complete({ type: "ref/resource", uri: "file:///plain" }, "anything", "a");
    expect(plain.completion).toMatchObject({ values: [] });
  });

  test.each([
    [0, 0, false],
    [1, 1, false],
    [100, 100, false],
    [101, 100, true],
    [5_000, 100, true],
  ])("out of %i values, %i are sent with the true total", async (total, sent, hasMore) => {
    const { completion } = await complete(PROMPT, "many", String(total));
    const values = Array.from({ length: sent }, (_, place) => `v${place}`);
    expect(completion).toEqual({ values, total, hasMore });
  });

  test("an argument that does not exist or has no completer gets an empty list", async () => {
    for (const name of ["plain", "none", "constructor", "__proto__"]) {
      expect([name, (await complete(PROMPT, name, "a")).completion]).toMatchObject([name, { values: [] }]);
    }
  });

  test("an unknown reference is rejected with -32602 before any completer runs", async () => {
    const argument = { name: "framework", value: "" };
    for (const ref of [
      { type: "ref/prompt", name: "none" },
      { type: "ref/resource", uri: "db:///none" },
    ]) {
      const { error, seen } = await refuse({ ref, argument });
      expect([error.code, seen]).toEqual([-32602, []]);
    }
  });

  test.each<Json>([
    {},
    { ref: PROMPT },
    { ref: PROMPT, argument: { name: "framework" } },
    { ref: PROMPT, argument: { name: 1, value: "" } },
    { ref: { type: "ref/tool", name: "explain" }, argument: { name: "framework", value: "" } },
    { ref: "explain", argument: { name: "framework", value: "" } },
    { ref: PROMPT, argument: { name: "framework", value: "" }, context: { arguments: { language: 1 } } },
  ])("the malformed params %j are rejected with -32602 before any completer runs", async (params) => {
    const { error, seen } = await refuse(params, true);
    expect([error.code, seen]).toEqual([-32602, []]);
  });

  test("a completer that does not return strings causes -32603, and its values are not sent", async () => {
    expect((await refuse({ ref: PROMPT, argument: { name: "broken", value: "" } })).error.code).toBe(-32603);
  });
});

test("a completer for an unknown argument or variable is refused by name when it is defined", () => {
  const server = new McpServer({ name: "completer", version: "1.0.0" });
  const complete = { typo: () => [] };
  expect(() => server.prompt("p", { arguments: [{ name: "type" }], complete }, () => "x")).toThrow(/typo/);
  expect(() => server.resourceTemplate("a:{type}", { complete }, () => "x")).toThrow(/typo/);
});
