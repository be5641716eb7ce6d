/** Wrong bindings and other configuration mistakes: the report names the mistake and the line to write. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/misconfigured.ts",
    objects: ["Foreign", "DrivenObject", "KeylessObject", "SlowObject"],
  });
});
afterAll(() => worker.stop());

const CONTENT = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

async function post(path: string, message: object, headers: Record<string, string> = {}): Promise<Response> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...message });
  const response = await fetch(worker.url(path), { method: "POST", headers: { ...CONTENT, ...headers }, body });
  return new Response(await response.text(), response);
}

const initialize = (path: string) =>
  post(path, {
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } },
  });

/** Calls a tool as a client of 2026-07-28 that supports tasks. */
function call(path: string, name: string): Promise<Response> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
    "mcp-edge/idempotencyKey": "key",
  };
  const headers = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name };
  return post(path, { method: "tools/call", params: { name, arguments: {}, _meta } }, headers);
}

async function reported(path: string): Promise<string[]> {
  const reports = (await (await fetch(worker.url("/reports"))).json()) as Record<string, string[]>;
  // Endpoints without tasks also report the one tool that requires them.
  return (reports[path] ?? []).filter((text) => path === "/bare" || path === "/varying" || !text.includes("Nobody"));
}

/** The requests that make an endpoint use its objects. */
const USES: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
  session: initialize,
  hub: (path) => call(path, "change"),
  once: (path) => call(path, "once"),
  task: (path) => call(path, "background"),
};

const TEXTS: Readonly<Record<string, string>> = {
  NotExported:
    "binding-missing: The Worker does not export the class NotExported. In its main module write: export class NotExported extends app.McpObject {}",
  Unmigrated:
    'binding-missing: The class Unmigrated is exported, but no migration creates it. In wrangler.toml write [[migrations]] tag = "v1" new_sqlite_classes = ["Unmigrated"].',
  Foreign:
    "binding-crossed: The class Foreign is not the one that edge() made. In the Worker's main module write: export class Foreign extends app.McpObject {}",
};

describe("the class", () => {
  test.each(Object.keys(TEXTS))("A27: %s: every use of it reports what to write", async (className) => {
    for (const use of Object.values(USES)) {
      const before = (await reported(`/${className}`)).length;
      await use(`/${className}`);
      await expect.poll(async () => (await reported(`/${className}`)).length).toBeGreaterThan(before);
    }
    for (const text of await reported(`/${className}`)) expect(text).toBe(TEXTS[className]);
  });

  test("A27: the 503 for a missing class mentions sessions; the one for missing keys names the option", async () => {
    const response = await initialize("/NotExported");
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: { data: { reason: "sessions-unavailable" } } },
    ]);
    expect((await initialize("/keyless")).status).toBe(503);
    expect(await reported("/keyless")).toEqual([
      'keys-missing: Sessions need sealing keys, and there are none. Write edge(server, { keys: keys() }), with keys from "mcp-edge/worker/keys"; or set the secret MCP_KEYS, which npx mcp-edge keys makes.',
    ]);
  });

  test("A27: a missing Workflow binding: the lines to write are named", async () => {
    await call("/missing/workflow", "background");
    const message =
      'The Workflow binding "MISSING_WORKFLOW" is missing. In wrangler.toml write [[workflows]] name = "mcp-tasks" binding = "MISSING_WORKFLOW" class_name = "McpTaskWorkflow"; or leave out workflow().';
    await expect.poll(async () => (await reported("log")).join()).toContain(message);
  });
});

describe("tools that need a part", () => {
  test.each(["/bare", "/varying"])('A27: task: "required" without tasks() is reported once (%s)', async (path) => {
    for (let times = 0; times < 3; times += 1) await call(path, "hello");
    expect(await reported(path)).toEqual([
      'options-invalid: Nobody can call background: task: "required" needs the option tasks. Write edge(server, { tasks: tasks() }), with tasks from "mcp-edge/worker/tasks".',
    ]);
  });

  test("A27: once: true without once() names the option", async () => {
    await call("/task", "once");
    expect(await reported("/task")).toContainEqual(
      'options-invalid: Tool "once" has once: true, which needs the option once. Write edge(server, { once: once() }), with once from "mcp-edge/worker/once".',
    );
  });
});

test("A27: an old compatibility date is refused when the Worker starts, with the line to write", async () => {
  const source = `
    import { McpServer } from "./src/core/index.ts";
    import { edge } from "./src/worker/index.ts";
    import { hub } from "./src/worker/hub/index.ts";
    let said = "nothing";
    try {
      edge(new McpServer({ name: "old", version: "1.0.0" }), { notices: hub() });
    } catch (error) {
      said = error.code + ": " + error.message;
    }
    edge(new McpServer({ name: "old", version: "1.0.0" }));
    export default { fetch: () => new Response(said) };`;
  const old = await startWorker({ entry: { source }, compatibilityDate: "2024-04-02" });
  const said = await (await fetch(old.origin)).text();
  await old.stop();
  expect(said).toBe(
    'options-invalid: The compatibility date of this Worker is too old: Durable Objects need 2024-04-03 or later. In wrangler.toml write compatibility_date = "2026-10-20".',
  );
});
