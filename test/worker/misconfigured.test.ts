/** Wrong bindings and other configuration mistakes: the report names the mistake and the line to write. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";

const CLASSES = { SESSION: "McpSession", HUB: "McpHub", ONCE: "McpOnce", KEYS: "McpKeys", TASK: "McpTask" } as const;
/** Each is bound to the class of another part, one whose objects could be mistaken for its own. */
const WRONG = { SESSION: "McpHub", HUB: "McpSession", ONCE: "McpHub", KEYS: "McpTask", TASK: "McpKeys" } as const;
const named = (prefix: string, classes: object) =>
  Object.fromEntries(Object.entries(classes).map(([name, value]) => [`${prefix}_${name}`, value]));

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/misconfigured.ts",
    objects: {
      ...named("WRONG", WRONG),
      CALLED_ONCE: "McpKeys",
      KEYS_WRONG_SESSION: "McpSession",
      KEYS_MISSING_SESSION: "McpSession",
      KEYS_TEXT_SESSION: "McpSession",
      KEYLESS_SESSION: "McpSession",
      DRIVEN_TASK: "DrivenTask",
    },
    bindings: named("TEXT", CLASSES),
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

/** The request that makes an endpoint use its binding. */
const USES: Record<string, (path: string) => Promise<unknown>> = {
  session: initialize,
  keys: initialize,
  hub: (path) => call(path, "change"),
  once: (path) => call(path, "once"),
  task: (path) => call(path, "background"),
};
const OPTIONS: Record<string, string> = {
  session: "sessions",
  keys: "keys",
  hub: "notices",
  once: "once",
  task: "tasks",
};
const PARTS = Object.keys(USES);

describe("bindings", () => {
  test.each(PARTS.filter((part) => part !== "session"))(
    "A27: %s bound to the wrong class: the right one is named",
    async (part) => {
      const path = `/wrong/${part}`;
      await USES[part]?.(path);
      const name = CLASSES[part.toUpperCase() as keyof typeof CLASSES];
      await expect
        .poll(() => reported(path))
        .toEqual([
          `binding-crossed: The Durable Object binding "WRONG_${part.toUpperCase()}" is bound to the wrong class. In wrangler.toml write class_name = "${name}" for it, the class that edge() makes for the option ${OPTIONS[part]}.`,
        ]);
    },
  );

  test("A27: once bound to a class without fetch(): the right one is named", async () => {
    await call("/called/once", "once");
    await expect
      .poll(() => reported("/called/once"))
      .toEqual([
        'binding-crossed: The Durable Object binding "CALLED_ONCE" is bound to the wrong class. In wrangler.toml write class_name = "McpOnce" for it, the class that edge() makes for the option once.',
      ]);
  });

  test.each(["missing", "text"])("A27: a binding that is %s: the lines to write are named", async (kind) => {
    for (const part of PARTS) {
      const path = `/${kind}/${part}`;
      await USES[part]?.(path);
      const name = CLASSES[part.toUpperCase() as keyof typeof CLASSES];
      const problem = kind === "missing" ? "is missing" : "is bound to something that is no Durable Object class";
      const instead = part === "keys" ? "keys and set the secret MCP_KEYS" : OPTIONS[part];
      await expect
        .poll(() => reported(path))
        .toEqual([
          `binding-missing: The Durable Object binding "${kind.toUpperCase()}_${part.toUpperCase()}" ${problem}. In wrangler.toml write [[durable_objects.bindings]] name = "${kind.toUpperCase()}_${part.toUpperCase()}" class_name = "${name}", and "${name}" among the new_sqlite_classes of [[migrations]]; or leave out the option ${instead}.`,
        ]);
    }
  });

  test("A27: the 503 for a missing binding mentions sessions; the one for missing keys names the option", async () => {
    const response = await initialize("/missing/session");
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

describe("sessions bound to the wrong class", () => {
  test("A27: every use of a session names the right class", async () => {
    const keyed = await startWorker({
      entry: "test/worker/fixtures/misconfigured.ts",
      objects: { WRONG_SESSION: "McpHub" },
      bindings: { MCP_KEYS: newKeys() },
    });
    try {
      const url = keyed.url("/wrong/session");
      const params = {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "test", version: "1.0.0" },
      };
      const send = (method: string, message?: object, headers: Record<string, string> = {}) =>
        fetch(url, {
          method,
          headers: { ...CONTENT, ...headers },
          ...(message ? { body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }) } : {}),
        });
      const opened = await send("POST", { method: "initialize", params });
      const session = { "Mcp-Session-Id": opened.headers.get("Mcp-Session-Id") ?? "" };
      const uses = [
        await send("POST", { method: "tools/call", params: { name: "hello", arguments: {} } }, session),
        await send("POST", { method: "tools/list" }, session),
        await send("GET", undefined, { ...session, Accept: "text/event-stream" }),
        await send("DELETE", undefined, session),
      ];
      expect(uses.map(({ status }) => status)).toEqual([500, 500, 500, 500]);
      const reports = (await (await fetch(keyed.url("/reports"))).json()) as Record<string, string[]>;
      const wrong = reports["/wrong/session"]?.filter((text) => text.includes('class_name = "McpSession"'));
      expect(wrong).toHaveLength(uses.length);
    } finally {
      await keyed.stop();
    }
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
    await call("/missing/task", "once");
    expect(await reported("/missing/task")).toContainEqual(
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
