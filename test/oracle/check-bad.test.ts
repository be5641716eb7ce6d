import { describe, expect, test } from "vitest";
import { type About, checkMessage } from "./check.ts";
import { failure, idLess, notification, request, result } from "./samples.ts";
import { specOf } from "./spec.ts";

interface Bad {
  readonly name: string;
  readonly message: unknown;
  readonly about: About;
  readonly problem: string | RegExp;
}

const server = (version: string, requestMethod?: string): About => ({ version, from: "server", requestMethod });
const client = (version: string): About => ({ version, from: "client" });
/** Found by hand-written rules and by the official schemas alone. */
const ALWAYS: readonly Bad[] = [
  { name: "a string", message: "hi", about: server("2025-11-25"), problem: "is not a JSON object" },
  { name: "an array", message: [request("ping")], about: client("2025-03-26"), problem: "a batch is not one message" },
  { name: "neither", message: { jsonrpc: "2.0", id: 1 }, about: client("2025-11-25"), problem: /^has none of/ },
  {
    name: "both result and error",
    message: { ...result({}), ...failure(1) },
    about: server("2025-11-25"),
    problem: "has result and error of method, result and error",
  },
  { name: "no jsonrpc", message: { id: 1, result: {} }, about: server("2025-11-25"), problem: /jsonrpc/ },
  { name: "a null id", message: failure(-32700, undefined, null), about: server("2025-03-26"), problem: "id is null" },
  {
    name: "a null id of a request",
    message: request("ping", {}, null),
    about: client("2025-11-25"),
    problem: "id is null",
  },
  {
    name: "a fractional id",
    message: result({}, 1.5),
    about: server("2026-07-28"),
    problem: /official JSONRPCR.*\/id/,
  },
  {
    name: "an error without an id in 2025-06-18",
    message: idLess(-32600),
    about: server("2025-06-18"),
    problem: /official JSONRPCError: \/id/,
  },
  {
    name: "no resultType in 2026-07-28",
    message: result({ content: [] }),
    about: server("2026-07-28", "tools/call"),
    problem: "the result has no resultType",
  },
  {
    name: "no resultType in 2026-07-28 for an unknown method",
    message: result({}),
    about: server("2026-07-28", "nobody/knows"),
    problem: "the result has no resultType",
  },
  {
    name: "a resultType of its own",
    message: result({ resultType: "partial", content: [] }),
    about: server("2026-07-28", "tools/call"),
    problem: 'resultType "partial" is not defined',
  },
  {
    name: "input_required for a list",
    message: result({ resultType: "input_required", requestState: "s" }),
    about: server("2026-07-28", "tools/list"),
    problem: "tools/list is not answered with input_required",
  },
  {
    name: "an empty input_required",
    message: result({ resultType: "input_required" }),
    about: server("2026-07-28", "tools/call"),
    problem: "input_required carries neither inputRequests nor requestState",
  },
  {
    name: "a malformed request inside input_required",
    message: result({
      resultType: "input_required",
      inputRequests: { a: { method: "elicitation/create", params: {} } },
    }),
    about: server("2026-07-28", "tools/call"),
    problem: /^official ElicitRequest in inputRequests\/a/,
  },
  {
    name: "a task for a prompt",
    message: result({ resultType: "task", taskId: "t" }),
    about: server("2026-07-28", "prompts/get"),
    problem: "prompts/get is not answered with a task",
  },
  {
    name: "a request of a modern server",
    message: request("roots/list"),
    about: server("2026-07-28"),
    problem: "a server sends no request in 2026-07-28",
  },
  {
    name: "a response of a modern client",
    message: result({ roots: [] }),
    about: client("2026-07-28"),
    problem: "a client sends no response in 2026-07-28",
  },
  {
    name: "elicitation in 2025-03-26",
    message: request("elicitation/create", { message: "m", requestedSchema: { type: "object", properties: {} } }),
    about: server("2025-03-26"),
    problem: "a server sends no elicitation/create in 2025-03-26",
  },
  {
    name: "a client's method sent by a server",
    message: request("tools/list"),
    about: server("2025-11-25"),
    problem: "a server sends no tools/list in 2025-11-25",
  },
  {
    name: "a subscription acknowledged in 2025-11-25",
    message: notification("notifications/subscriptions/acknowledged", { notifications: {} }),
    about: server("2025-11-25"),
    problem: "a server sends no notifications/subscriptions/acknowledged in 2025-11-25",
  },
  {
    name: "a notification with an id",
    message: request("notifications/progress", { progressToken: 1, progress: 1 }),
    about: server("2025-11-25"),
    problem: "notifications/progress is a notification",
  },
  {
    name: "a request without an id",
    message: notification("tools/list"),
    about: client("2025-11-25"),
    problem: "tools/list is a request",
  },
  {
    name: "content without text",
    message: result({ content: [{ type: "text" }] }),
    about: server("2024-11-05", "tools/call"),
    problem: /^official CallToolResult: \/content\/0/,
  },
  {
    name: "a ping result with something in it",
    message: result({ ok: true }),
    about: server("2025-06-18", "ping"),
    problem: /^official EmptyResult/,
  },
  {
    name: "a version the oracle does not know",
    message: request("ping"),
    about: client("2023-01-01"),
    problem: 'the oracle knows no version "2023-01-01"',
  },
];

const CODES: readonly [code: number, version: string, allowed: boolean][] = [
  [-32002, "2025-11-25", true],
  [-32002, "2026-07-28", false],
  [-32000, "2026-07-28", false],
  [-32019, "2026-07-28", false],
  [-32020, "2025-11-25", false],
  [-32022, "2024-11-05", false],
  [-32023, "2026-07-28", false],
  [-32042, "2025-06-18", false],
  [-32042, "2026-07-28", false],
  [-32099, "2025-11-25", false],
  [-32601, "2024-11-05", true],
  [-32604, "2025-11-25", false],
  [-1, "2026-07-28", true],
];

/** Needs the specification's schemas, because only they list the properties of a version. */
const BY_SPEC: readonly Bad[] = [
  {
    name: "a request that breaks its definition in 2026-07-28",
    message: request("tools/call", { name: "t" }),
    about: client("2026-07-28"),
    problem: /^schema CallToolRequest: .*_meta/,
  },
  {
    name: "a modern list without cache hints",
    message: result({ resultType: "complete", tools: [] }),
    about: server("2026-07-28", "tools/list"),
    problem: /^schema ListToolsResult: .*(ttlMs|cacheScope)/,
  },
  {
    name: "an unsupported version without the supported ones",
    message: failure(-32022, { requested: "x" }),
    about: server("2026-07-28"),
    problem: /^schema UnsupportedProtocolVersionError: .*supported/,
  },
  {
    name: "required capabilities as a list",
    message: failure(-32021, { requiredCapabilities: ["sampling"] }),
    about: server("2026-07-28"),
    problem: /^schema MissingRequiredClientCapabilityError: .*must be object/,
  },
  {
    name: "a form field of an unknown kind",
    message: request("elicitation/create", {
      message: "m",
      requestedSchema: { type: "object", properties: { a: { type: "null" } } },
    }),
    about: server("2025-06-18"),
    problem: /^schema ElicitRequest: \/params\/requestedSchema\/properties\/a/,
  },
];

function run(bads: readonly Bad[]): void {
  for (const { name, message, about, problem } of bads) {
    test(`${name} is a problem of ${about.version}`, () => {
      const problems = checkMessage(message, about);
      const matcher = typeof problem === "string" ? problem : expect.stringMatching(problem);
      expect(problems).toContainEqual(matcher);
    });
  }
}

describe("checkMessage() without the spec's schemas reports that", () => run(ALWAYS));

describe("error codes in checkMessage()", () => {
  for (const [code, version, allowed] of CODES) {
    test(`${code} is ${allowed ? "" : "not "}allowed in ${version}`, () => {
      const problem = `error code ${code} is not defined in ${version}`;
      expect(checkMessage(failure(code), server(version)).includes(problem)).toBe(!allowed);
    });
  }
});

if (specOf("2026-07-28") !== undefined) {
  describe("checkMessage() with the spec's schemas reports that", () => run(BY_SPEC));
}

describe("an error without an id", () => {
  for (const [version, allowed] of [
    ["2024-11-05", false],
    ["2025-03-26", false],
    ["2025-06-18", false],
    ["2025-11-25", true],
    ["2026-07-28", true],
  ] as const) {
    test(`is ${allowed ? "" : "not "}allowed in ${version}`, () => {
      expect(checkMessage(idLess(-32700), server(version)).length === 0).toBe(allowed);
    });

    test(`is allowed in ${version} when the request had no readable id`, () => {
      expect(checkMessage(idLess(-32700), { ...server(version), unreadableId: true })).toEqual([]);
    });
  }
});
