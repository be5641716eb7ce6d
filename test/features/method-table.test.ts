/** The table of methods: every method of the specification has a row, and only such methods and custom ones are served. */
import { describe, expect, expectTypeOf, test } from "vitest";
import { type CacheableMethod, McpServer } from "../../src/core/index.ts";
import {
  CLIENT_REQUESTS,
  calledTool,
  findRequest,
  hasEffects,
  isStandard,
  NOTIFICATIONS,
  nameOfDefinition,
  type RequestRow,
  type RequestsWith,
  SERVER_REQUESTS,
} from "../../src/core/protocol/methods.ts";
import { listTargets, readTarget } from "../../src/core/protocol/targets.ts";
import { VERSIONS } from "../../src/core/protocol/versions.ts";
import type { Method, MethodTable } from "../../src/core/run/request-context.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { type Members, requestOf, standardHeaders } from "../http/messages.ts";
import { LEGACY, METHODS } from "../oracle/methods.ts";

const ROWS: Readonly<Record<string, RequestRow>> = CLIENT_REQUESTS;
const rows = Object.entries(ROWS);

/**
 * Returns whether a version has a request of clients, according to the table that the oracle compares with the schemas. The kit serves the
 * tasks of 2025-11-25 in a plugin that checks the version itself, so here they count as methods of all legacy versions.
 */
function isDefined(method: string, version: string): boolean {
  const versions = METHODS.filter((row) => row.method === method && row.from.includes("client")).flatMap(
    (row) => row.versions,
  );
  return versions.includes(method.startsWith("tasks/") && isLegacy(version) ? "2025-11-25" : version);
}

function isLegacy(version: string): boolean {
  return (LEGACY as readonly string[]).includes(version);
}

describe("the rows", () => {
  const requests = METHODS.filter(({ result, from }) => result !== undefined && from.includes("client"));
  const notifications = METHODS.filter(({ result }) => result === undefined);

  test("are the requests and notifications of the specification", () => {
    expect(Object.keys(CLIENT_REQUESTS).toSorted()).toEqual(
      [...new Set(requests.map(({ method }) => method))].toSorted(),
    );
    expect(NOTIFICATIONS.toSorted()).toEqual([...new Set(notifications.map(({ method }) => method))].toSorted());
    for (const { method } of METHODS) expect([method, isStandard(method)]).toEqual([method, true]);
  });

  test.each(VERSIONS)("that $version lacks are the requests that its specification does not define", (version) => {
    const undefinedThere = rows.map(([method]) => method).filter((method) => !isDefined(method, version.version));
    expect(version.lacks.toSorted()).toEqual(undefinedThere.toSorted());
  });

  test("of servers are the requests that only they send, which 2026-07-28 has as inputRequests", () => {
    const sent = METHODS.filter(({ result, from }) => result && from.includes("server") && !from.includes("client"));
    expect(SERVER_REQUESTS.toSorted()).toEqual(sent.map(({ method }) => method).toSorted());
  });

  test("say that exactly the requests that may ask run a handler, which they name", () => {
    const asking = METHODS.filter((row) => row.mayAskInput).map(({ method }) => method);
    expect(rows.filter(([, { runs }]) => runs).map(([method]) => method)).toEqual(asking);
    for (const [, { runs, names }] of rows) if (runs) expect(names?.[0]).toBe(runs);
  });

  test("say which results can have a hint in the option cacheHints", () => {
    expectTypeOf<CacheableMethod>().toEqualTypeOf<RequestsWith<{ readonly isCacheable: true }>>();
  });

  test("say that these requests have additional effects if they are sent again, and no others, such as lists", () => {
    const withEffects = ["initialize", "tools/call", "subscriptions/listen", "tasks/cancel", "tasks/update"];
    expect(rows.map(([method]) => method).filter(hasEffects)).toEqual(withEffects);
  });

  test.each(["toString", "constructor", "__proto__", "example.com/own", ""])("do not include %j", (method) => {
    expect(findRequest(method)).toBeUndefined();
    expect(isStandard(method)).toBe(false);
  });
});

describe("what a request names", () => {
  test.each<[string, Members, readonly unknown[]]>([
    ["tools/call", { name: "add" }, [{ kind: "tool", name: "add" }]],
    ["prompts/get", { name: "greet" }, [{ kind: "prompt", name: "greet" }]],
    ["resources/read", { uri: "test://one" }, [{ kind: "resource", name: "test://one" }]],
    ["resources/subscribe", { uri: "test://one" }, [{ kind: "resource", name: "test://one" }]],
    ["resources/unsubscribe", { uri: "test://one" }, [{ kind: "subscription", name: "test://one" }]],
    ["completion/complete", { ref: { type: "ref/prompt", name: "greet" } }, [{ kind: "reference", name: "greet" }]],
    ["tasks/get", { taskId: "1" }, [{ kind: "task", name: "1" }]],
    [
      "subscriptions/listen",
      { notifications: { resourceSubscriptions: ["test://one", 2, "test://two"] } },
      [
        { kind: "resource", name: "test://one" },
        { kind: "resource", name: "test://two" },
      ],
    ],
    ["tools/list", { name: "add" }, []],
    ["example.com/own", { name: "add" }, []],
    ["tools/call", { name: 5 }, []],
  ])("%s with %j", (method, params, targets) => {
    expect(listTargets({ method, params })).toEqual(targets);
  });

  test("is the definition whose handler runs", () => {
    const request = { method: "tools/call", params: { name: "add" } };
    expect([nameOfDefinition(request), calledTool(request)]).toEqual(["add", "add"]);
    const read = { method: "resources/read", params: { uri: "test://one" } };
    expect([nameOfDefinition(read), calledTool(read)]).toEqual(["test://one", undefined]);
    expect(nameOfDefinition({ method: "resources/subscribe", params: { uri: "test://one" } })).toBeUndefined();
  });

  test("must be a string", () => {
    expect(() => readTarget({ method: "prompts/get", params: { name: 5 } })).toThrow(
      expect.objectContaining({ code: -32602, message: "prompts/get: params.name is not a string." }),
    );
  });
});

describe("a method that a part adds", () => {
  const own: Method = { serve: () => ({ served: "by the part" }) };
  const server = new McpServer({ name: "table", version: "1.0.0" });
  server.method("example.com/own", () => ({ served: "by the author" }));
  // The type of a part does not admit a method without a row. A part in JavaScript could return one nevertheless.
  const methods = {
    "tasks/get": own,
    "tasks/list": own,
    "example.com/own": own,
    "example.com/part": own,
  } as MethodTable;
  const handle = createHttpHandler(server, { onError: () => undefined, extend: () => methods });

  async function request(method: string): Promise<unknown> {
    const message = requestOf("modern", method);
    const headers = { "content-type": "application/json", ...(standardHeaders(message) as Record<string, string>) };
    const init = { method: "POST", headers, body: JSON.stringify(message) };
    const response = await handle(new Request("http://127.0.0.1/mcp", init), {});
    const { result, error } = (await response.json()) as { result?: Members; error?: { code: number } };
    return result?.served ?? error?.code;
  }

  test.each<[string, string, unknown]>([
    ["is served if the version of the client has it", "tasks/get", "by the part"],
    ["is refused if the version of the client lacks it", "tasks/list", -32601],
    ["is refused if it has no row", "example.com/part", -32601],
    ["does not replace a custom method of the author", "example.com/own", "by the author"],
  ])("%s", async (_, method, expected) => {
    expect(await request(method)).toBe(expected);
  });
});
