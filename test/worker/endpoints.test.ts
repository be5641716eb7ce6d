/** Two endpoints in one Worker: what one of them issued is invalid at the other. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { LEGACY_VERSIONS, request } from "../http/messages.ts";
import { LegacyClient, ModernClient, Reading, readAnswer } from "./client.ts";
import { TaskClient } from "./task-client.ts";

expectLogs(/^mcp-edge: This server is not configured correctly\./);

let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/endpoints.ts",
    objects: { MCP: "McpObject", ADMIN: "AdminObject", CROSSED: "McpObject" },
    bindings: { MCP_KEYS: newKeys() },
  });
});
afterAll(() => worker?.stop());

const at = (path: string) => worker.worker.url(path);
const PUBLIC = "/public/mcp";
const ADMIN = "/admin/mcp";
/** The same app as the public one, at another path. */
const ALIAS = "/alias/mcp";

/** The response to any request of one of two endpoints that use the same name. */
async function problemsOf(part: string, which: number): Promise<string[]> {
  const response = await fetch(at(`/pair/${part}/${which}`));
  expect(response.status).toBe(500);
  return ((await response.json()) as { error: { data: { problems: string[] } } }).error.data.problems;
}

describe("two endpoints with one class", () => {
  test.each(["sessions", "once", "tasks", "notifications", "keys"])(
    "are both refused, with the name of the class and what to write (%s)",
    async (part) => {
      for (const which of [0, 1]) {
        expect(await problemsOf(part, which)).toContain(
          `[name-taken] Two endpoints of this Worker use the class ${part}Object. ` +
            "Give one of them the option className, and export its class under that name. Do not call edge() for each request.",
        );
      }
    },
  );

  test("two endpoints with one Workflow binding are both refused", async () => {
    for (const which of [0, 1]) {
      expect(await problemsOf("workflow", which)).toContainEqual(
        expect.stringMatching(/^\[name-taken\] .* Workflow binding MCP_TASK_WORKFLOW.*binding: "/),
      );
    }
  });

  test("a binding to the class of another endpoint serves no client, and the log names both classes", async () => {
    const client = await LegacyClient.open(at("/crossed/mcp"), { silent: true });
    expect(await readAnswer(client.call("which"))).toMatchObject({ status: 500 });
    expect(await readAnswer(client.request("ping"))).toMatchObject({ status: 500 });
    const headers = { ...client.headers, accept: "text/event-stream", "last-event-id": "any" };
    expect((await fetch(at("/crossed/mcp"), { headers })).status).toBe(500);
    const { raw } = await new TaskClient(at("/crossed/mcp")).request("tools/call", { name: "work", arguments: {} });
    expect(raw).not.toContain("taskId");
    const errors = (await (await fetch(at("/errors"))).json()) as string[];
    const crossed = errors.filter((error) => error.includes("the class CrossedObject"));
    expect(crossed).toHaveLength(4);
    for (const error of crossed) expect(error).toContain("A Durable Object of the class McpObject was called for");
  });
});

describe("two endpoints with their own classes", () => {
  test("each serve their own clients", async () => {
    for (const [path, name] of [
      [PUBLIC, "public"],
      [ADMIN, "admin"],
      [ALIAS, "public"],
    ] as const) {
      const client = await LegacyClient.open(at(path));
      expect((await readAnswer(client.call("which"))).text).toBe(name);
      expect((await readAnswer(new ModernClient(at(path)).call("which"))).text).toBe(name);
    }
  });

  test.each(LEGACY_VERSIONS)("do not share session ids: each is unknown at the other (%s)", async (version) => {
    const client = await LegacyClient.open(at(PUBLIC), { version });
    expect((await readAnswer(client.call("which"))).text).toBe("public");
    for (const path of [ADMIN, ALIAS]) {
      const other = client.at(at(path));
      expect((await readAnswer(other.call("which"))).status).toBe(404);
      expect((await readAnswer(other.request("ping"))).status).toBe(404);
      expect((await readAnswer(other.request("tools/list"))).status).toBe(404);
      expect((await other.get()).status).toBe(404);
      expect((await other.delete()).status).toBe(404);
    }
    // The session was not ended by these requests.
    expect((await readAnswer(client.call("which"))).text).toBe("public");
  });

  test("reject a session id that was never used at its own endpoint", async () => {
    const client = await LegacyClient.open(at(PUBLIC), { silent: true });
    expect((await readAnswer(client.at(at(ALIAS)).call("which"))).status).toBe(404);
    expect((await readAnswer(client.call("which"))).status).toBe(200);
  });

  test.each([
    [PUBLIC, "/public/mcp", [ADMIN, ALIAS, "/public/messages"]],
    ["/public/sse", "/public/messages", [ADMIN, ALIAS, PUBLIC, "/alias/messages"]],
  ])("share no stream: a session id of HTTP+SSE at %s is valid at %s only", async (path, own, others) => {
    const leave = new AbortController();
    const stream = new Reading(
      await fetch(at(path), { headers: { accept: "text/event-stream" }, signal: leave.signal }),
    );
    await stream.has("the endpoint event", ({ raw }) => /^data: .*\n/m.test(raw));
    const [, endpoint = ""] = /^data: (.*)$/m.exec(stream.raw) ?? [];
    expect(endpoint).toMatch(new RegExp(`^${own}\\?sessionId=`));
    const post = async (where: string) => {
      const body = JSON.stringify(request("ping"));
      const url = at(endpoint.replace(own, where));
      return (await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })).status;
    };
    for (const other of others) expect([other, await post(other)]).toEqual([other, 404]);
    expect(await post(own)).toBe(202);
    leave.abort();
  });

  test.each([
    [PUBLIC, ADMIN],
    [PUBLIC, ALIAS],
    ["/north", "/south"],
  ])("do not share a requestState: %s seals it, and %s refuses it", async (path, other) => {
    const params = { name: "ask", arguments: {} };
    const { requestState } = await new TaskClient(at(path)).result("tools/call", params);
    const again = { ...params, requestState };
    const refused = await readAnswer(new ModernClient(at(other)).request("tools/call", again));
    expect(refused.messages.at(-1)).toMatchObject({ error: { code: -32602, data: { field: "requestState" } } });
    expect((await readAnswer(new ModernClient(at(path)).request("tools/call", again))).text).toMatch(/^asked by/);
  });

  test.each([ADMIN, ALIAS])("do not share tasks: a task of /public/mcp is unknown at %s", async (path) => {
    const client = new TaskClient(at(PUBLIC));
    const taskId = await client.start("work");
    const other = client.as({}, at(path));
    for (const [method, more] of [
      ["tasks/get", {}],
      ["tasks/update", { inputResponses: {} }],
      ["tasks/cancel", {}],
    ] as const) {
      expect(await other.error(method, { taskId, ...more })).toMatchObject({ code: -32602 });
    }
    expect(await client.reaches(taskId, "completed")).toMatchObject({ status: "completed" });
  });

  test.each([ADMIN, ALIAS])("do not share keys of calls that ran once: %s runs the call", async (path) => {
    const meta = { "mcp-edge/idempotencyKey": `a key for ${path}` };
    const run = async (where: string) => (await readAnswer(new ModernClient(at(where)).call("pay", {}, { meta }))).text;
    const first = await run(PUBLIC);
    expect(await run(PUBLIC)).toBe(first);
    expect(await run(path)).not.toBe(first);
  });

  test.each([ADMIN, ALIAS, "/north"])("do not share cursors: a cursor of /public is refused at %s", async (path) => {
    for (const open of [(url: string) => LegacyClient.open(url), async (url: string) => new ModernClient(url)]) {
      const [client, other] = [await open(at(PUBLIC)), await open(at(path))];
      const first = (await readAnswer(client.request("tools/list"))).messages.at(-1)?.result as {
        nextCursor: string;
      };
      // Both have served the first page: a page cached for one endpoint must not be returned at another.
      await readAnswer(other.request("tools/list"));
      const cursor = first.nextCursor;
      expect((await readAnswer(client.request("tools/list", { cursor }))).messages.at(-1)).toHaveProperty("result");
      const refused = await readAnswer(other.request("tools/list", { cursor }));
      expect(refused.messages.at(-1)).toMatchObject({ error: { code: -32602, data: { field: "cursor" } } });
      const again = (await readAnswer(client.request("tools/list"))).messages.at(-1)?.result;
      expect(again).toMatchObject({ nextCursor: cursor });
    }
  });
});
