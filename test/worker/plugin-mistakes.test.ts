/** Plugins that throw, or that return what they must not: the request is refused, and the client does not learn why. */
import { describe, expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { audit } from "../../src/worker/access/audit/index.ts";
import { anonymous, definePlugin, edge } from "../../src/worker/index.ts";
import type { Contribution } from "../../src/worker/plugin.ts";
import { expectLogs } from "../harness/logs.ts";
import { requestOf } from "../http/messages.ts";

const SECRET = "text of an exception";
expectLogs(
  /^mcp-edge: "\(authorize\)" failed .*authorize returned/,
  new RegExp(`^mcp-edge: "\\((authorize|onRefused|server)\\)" failed .*${SECRET}`),
  new RegExp(`^mcp-edge: faulty\\(\\) failed .*${SECRET}`),
  /^mcp-edge: faulty\(\) failed .*findProblems returned/,
  /^mcp-edge: This server is not configured correctly/,
  /"\(authorize\)" failed/,
);

const fail = () => {
  throw new Error(SECRET);
};
const failLater = async () => fail();

/** Calls a tool of an endpoint with this plugin. Returns the response, whether the handler ran, and what was recorded. */
async function callWith(contribution: object) {
  const [ran, recorded]: [string[], unknown[]] = [[], []];
  const server = new McpServer({ name: "faulty", version: "1.0.0" });
  server.tool("write", {}, () => {
    ran.push("write");
    return "written";
  });
  const faulty = definePlugin({ name: "faulty()", attach: () => contribution as Contribution });
  const log = audit({ to: ({ kind, reason, outcome }) => void recorded.push([kind, reason ?? outcome]) });
  const app = edge(server, { use: [anonymous(), faulty, log] });
  const headers = { "content-type": "application/json", accept: "application/json" };
  const body = JSON.stringify(requestOf("legacy", "tools/call", { name: "write", arguments: {} }));
  const response = await app.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }), {});
  const text = await response.text();
  expect(text).not.toContain(SECRET);
  return { status: response.status, answer: JSON.parse(text) as unknown, ran, recorded };
}

const form = { status: 403, code: -32600, message: "No." };

describe("the authorize function of a plugin", () => {
  test.each<[string, unknown]>([
    ["returns true", true],
    ["returns false", false],
    ["returns null", null],
    ["returns 0", 0],
    ["returns an empty string", ""],
    ["returns an empty object", {}],
    ["returns a reason only", { reason: "no-plan" }],
    ["returns a form without a reason", { form }],
    ["returns the status of a success", { reason: "no-plan", form: { ...form, status: 200 } }],
    ["returns a status that does not exist", { reason: "no-plan", form: { ...form, status: 1_000 } }],
    ["returns no code", { reason: "no-plan", form: { ...form, code: undefined } }],
    ["returns a header that does not exist", { reason: "no-plan", form: { ...form, headers: { "a b": "c" } } }],
    ["returns data that is not JSON", { reason: "no-plan", form: { ...form, data: 1n } }],
    ["returns a Response", new Response("no", { status: 403 })],
  ])("makes the request fail with 500 if it %s", async (_, refusal) => {
    for (const authorize of [() => refusal, async () => refusal]) {
      expect(await callWith({ authorize })).toMatchObject({
        status: 500,
        answer: { error: { code: -32603, data: { reason: "internal" } } },
        ran: [],
        recorded: [["refusal", "internal"]],
      });
    }
  });

  test.each([fail, failLater, {}])("fails the request if it throws or is not a function (%#)", async (authorize) => {
    expect(await callWith({ authorize })).toMatchObject({ status: 500, ran: [], recorded: [["refusal", "internal"]] });
  });

  test("makes the request fail with the refusal that it returns", async () => {
    const authorize = () => ({ reason: "no-plan", form });
    expect(await callWith({ authorize })).toMatchObject({
      status: 403,
      answer: { error: { code: -32600, message: "No.", data: { reason: "no-plan" } } },
      ran: [],
      recorded: [["refusal", "no-plan"]],
    });
    expect(await callWith({ authorize: () => undefined })).toMatchObject({ status: 200, ran: ["write"] });
  });
});

test("a plugin whose equip function throws makes the request fail with 500", async () => {
  expect(await callWith({ equip: fail })).toMatchObject({ status: 500, ran: [], recorded: [["refusal", "internal"]] });
});

test.each([fail, failLater])(
  "a plugin whose onRefused function fails does not prevent other plugins from seeing the refusal (%#)",
  async (onRefused) => {
    const authorize = () => ({ reason: "no-plan", form });
    expect(await callWith({ authorize, onRefused })).toMatchObject({ status: 403, recorded: [["refusal", "no-plan"]] });
  },
);

test.each([fail, failLater, () => undefined, () => "none", () => [5]])(
  "a plugin whose findProblems function fails or returns an invalid list is a configuration problem (%#)",
  async (findProblems) => {
    const { status, answer, ran } = await callWith({ findProblems });
    expect([status, ran]).toEqual([500, []]);
    expect(answer).toMatchObject({ error: { data: { reason: "misconfigured" } } });
  },
);
