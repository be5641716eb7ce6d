/** Wrong bindings and other configuration mistakes: the report names the mistake and the line to write. */
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker, type WorkerOptions } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { ModernClient, Reading } from "./client.ts";

expectLogs(
  /^mcp-edge: everyone may call\./,
  /we lack a handler for FetchEvents/,
  /^mcp-edge: no part has the role "session"/,
);

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/misconfigured.ts",
    objects: ["Foreign", "DrivenObject", "KeylessObject", "SlowObject"],
    bindings: { TEXT: "a text" },
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
  return (reports[path] ?? []).filter(
    (text) => path === "/bare" || path === "/varying" || !text.includes("No client can call"),
  );
}

async function problemsOf(response: Response | Promise<Response>): Promise<string[]> {
  const given = await response;
  expect(given.status).toBe(500);
  return ((await given.json()) as { error: { data: { problems: string[] } } }).error.data.problems;
}

const TEXTS: Readonly<Record<string, string>> = {
  NotExported:
    '[export-missing] The Worker does not export the class NotExported. In the main module write: export class NotExported extends app.McpObject {}; and if wrangler.toml does not name it: In wrangler.toml write: [exports.NotExported] type = "durable-object" storage = "sqlite"',
  Unmigrated:
    '[migration-missing] wrangler.toml does not create the class Unmigrated. In wrangler.toml write: [exports.Unmigrated] type = "durable-object" storage = "sqlite"',
  Bound:
    "[binding-wrong] The binding TEXT is not a Durable Object binding. Remove it, or set the option binding to another name.",
};

describe("a wrong class for objects", () => {
  test.each(Object.keys(TEXTS))("makes every request of either era report what to write: %s", async (className) => {
    for (const send of [initialize, (path: string) => call(path, "hello"), (path: string) => fetch(worker.url(path))]) {
      expect(await problemsOf(send(`/${className}`))).toEqual([TEXTS[className]]);
    }
    const log = (await reported("log")).filter((text) => text.includes(TEXTS[className] ?? ""));
    expect(log).toHaveLength(1);
  });

  test("is reported when it is first called if edge() did not make it", async () => {
    await call("/Foreign", "once");
    await expect
      .poll(() => reported("/Foreign"))
      .toContain(
        "binding-crossed: [class-wrong] The class Foreign was not made by edge(). In the main module write: export class Foreign extends app.McpObject {}",
      );
  });
});

describe("other configuration mistakes", () => {
  test.each(["/keyless", "/keyless/replay"])(
    "missing sealing keys are named in the response to every request of either era (%s)",
    async (path) => {
      for (const request of [initialize(path), call(path, "hello"), fetch(worker.url(path))]) {
        expect(await problemsOf(request)).toEqual([
          '[keys-missing] Sealing keys are missing. Add keys() from "mcp-edge/worker/durable" to the option use of edge(), or set the secret MCP_KEYS, which npx mcp-edge keys makes.',
        ]);
      }
    },
  );

  test("an endpoint whose parts do not seal anything needs no keys", async () => {
    expect((await call("/bare", "hello")).status).toBe(200);
  });

  test("a missing Workflow binding is reported with the lines to write", async () => {
    expect(await problemsOf(call("/missing/workflow", "background"))).toEqual([
      '[binding-wrong] The Workflow binding MISSING_WORKFLOW is missing. In wrangler.toml write: [[workflows]] name = "mcp-tasks" binding = "MISSING_WORKFLOW" class_name = "McpTaskWorkflow"',
    ]);
  });

  test("mistakes in options are reported together with missing parts of the Worker", async () => {
    expect(await problemsOf(initialize("/many"))).toEqual([
      '[option-unknown] edge() has no option "endpont". Did you mean "endpoint"?',
      "[option-invalid] edge(): limits.batchMax is 0; use 1 to 10,000.",
      '[option-invalid] edge(): path is "many"; begin it with "/".',
      "[option-invalid] edge(): use[1] is a value of type string; write a plugin such as durable(), or Hono middleware.",
      "[option-invalid] edge(): use[2] is a value of type object; write a plugin such as durable(), or Hono middleware.",
      TEXTS.NotExported?.replaceAll("NotExported", "Many"),
    ]);
  });
});

describe("a tool that needs a missing part", () => {
  test.each(["/bare", "/varying"])('is reported once if it has task: "required" without tasks() (%s)', async (path) => {
    for (let times = 0; times < 3; times += 1) await call(path, "hello");
    expect(await reported(path)).toEqual([
      'options-invalid: No client can call background: task: "required" needs tasks() of "mcp-edge/worker/durable" in the option use.',
    ]);
  });

  test("is reported with the name of the option if it has once: true without once()", async () => {
    await call("/task", "once");
    expect(await reported("/task")).toContainEqual(
      'options-invalid: Tool "once" has once: true. Add once() from "mcp-edge/worker/once" to the option use of edge().',
    );
  });
});

/** A Worker whose log is served at `/log`. */
function logging(parts: string, options: Partial<WorkerOptions>): Promise<TestWorker> {
  const source = `
    import { McpServer } from "./src/core/index.ts";
    import { edge, objects } from "./src/worker/index.ts";
    import { hub } from "./src/worker/hub/index.ts";
    const log = [];
    console.error = console.warn = (...said) => log.push(said.join(" "));
    const make = () => {
      const server = new McpServer({ name: "logging", version: "1.0.0" });
      server.tool("greet", {}, () => "hello");
      return edge(server, ${parts});
    };
    const app = make();
    app.get("/log", ({ json }) => json(log));
    app.get("/again", ({ req, env, executionCtx }) => make().fetch(new Request(new URL("/mcp", req.url)), env, executionCtx));
    export default app;
    export class McpObject extends app.McpObject {}`;
  return startWorker({ entry: { source }, objects: ["McpObject"], ...options });
}

const logOf = async (at: TestWorker) => (await (await fetch(at.url("/log"))).json()) as string[];

test("an old compatibility date is reported, with the line to write", { tags: "long" }, async () => {
  await using old = await logging("{ use: [hub()] }", { compatibilityDate: "2024-04-02", compatibilityFlags: [] });
  for (let times = 0; times < 3; times += 1) {
    expect(await problemsOf(fetch(old.url("/mcp")))).toEqual([
      '[date-too-old] Durable Objects need a compatibility date from 2024-04-03 on. In wrangler.toml write: compatibility_date = "2026-10-20"',
    ]);
  }
  const log = await logOf(old);
  for (const code of ["date-too-old", "flag-missing"]) {
    expect(log.filter((text) => text.includes(`[${code}]`))).toHaveLength(1);
  }
});

test("a Worker without the flag enable_request_signal is served, and the log says once what to write", {
  tags: "long",
}, async () => {
  await using plain = await logging("{ use: [hub()] }", { compatibilityFlags: [] });
  // GET is only for sessions.
  for (let times = 0; times < 3; times += 1) expect((await fetch(plain.url("/mcp"))).status).toBe(405);
  expect(await logOf(plain)).toEqual([
    "mcp-edge: [flag-missing] ctx.signal aborts late, because the compatibility flag enable_request_signal is not set.",
  ]);
});

test("a service binding with the name of the object binding is not a Durable Object binding", {
  tags: "long",
}, async () => {
  const options = { objects: { OWN: "McpObject" }, twin: true };
  await using served = await logging('{ use: [hub(), objects({ binding: "TWIN" })] }', options);
  expect(await problemsOf(fetch(served.url("/mcp")))).toEqual([TEXTS.Bound?.replace("TEXT", "TWIN")]);
});

test("an endpoint that is created during a request does not take the class of a running endpoint, and is refused", {
  tags: "long",
}, async () => {
  await using running = await logging("{ use: [hub()] }", {});
  expect((await fetch(running.url("/mcp"))).status).toBe(405);
  for (let times = 0; times < 2; times += 1) {
    const [problem] = await problemsOf(fetch(running.url("/again")));
    expect(problem).toMatch(/^\[name-taken\] .* Do not call edge\(\) for each request\.$/);
    expect((await fetch(running.url("/mcp"))).status).toBe(405);
  }
  const listened = await new ModernClient(running.url("/mcp")).request("subscriptions/listen", {
    notifications: { toolsListChanged: true },
  });
  const reading = new Reading(listened);
  await reading.has("the acknowledgement of its object", ({ messages }) => messages.length > 0);
  expect(reading.messages[0]).toMatchObject({ method: "notifications/subscriptions/acknowledged" });
});

test("a host other than this machine gets only the information that the configuration is wrong", async () => {
  for (const path of ["/NotExported", "/many", "/missing/workflow"]) {
    const answer = await new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
      const headers = { ...CONTENT, Host: "public.example" };
      const sent = request(worker.url(path), { method: "POST", headers }, async (response) => {
        const text = (await response.toArray()).join("");
        resolve({ status: response.statusCode, text });
      });
      sent.on("error", reject).end("{}");
    });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      500,
      {
        jsonrpc: "2.0",
        error: {
          code: -32603,
          message: "This server is not configured correctly. See its log.",
          data: { reason: "misconfigured" },
        },
      },
    ]);
  }
});

test("publishing reports the problem of the class", async () => {
  await fetch(worker.url("/publish/NotExported"));
  await expect.poll(() => reported("/NotExported")).toContain(`binding-missing: ${TEXTS.NotExported}`);
});

test("an object of a class that two endpoints use refuses calls, and its alarm is retried within a minute", {
  tags: "long",
}, async () => {
  const source = `
    import { exports } from "cloudflare:workers";
    import { McpServer } from "./src/core/index.ts";
    import { edge } from "./src/worker/index.ts";
    import { sessions } from "./src/worker/sessions/index.ts";
    const make = (name) => edge(new McpServer({ name, version: "1.0.0" }), { use: [sessions()] });
    make("first");
    const second = make("second");
    export class McpObject extends second.McpObject {
      async wake() { this.ctx.storage.kv.put("session", {}); await this.alarm(); return (await this.ctx.storage.getAlarm()) - Date.now(); }
    }
    export default { async fetch() {
      const object = exports.McpObject.get(exports.McpObject.idFromName("session:one"));
      const refused = await object.callRole("session/McpObject", "admit").catch(({ message }) => message);
      return Response.json({ refused, waitMs: await object.wake() });
    } };`;
  const taken = await startWorker({ entry: { source }, objects: ["McpObject"] });
  try {
    const { refused, waitMs } = (await (await fetch(taken.url("/"))).json()) as { refused: string; waitMs: number };
    expect(refused).toContain("A Durable Object of the role");
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(60_000);
  } finally {
    await taken.stop();
  }
});
