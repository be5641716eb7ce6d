/**
 * Runs handlers that are suspended in every possible way, and prints which of them are still in memory. Runs in its own
 * process with `--expose-gc`.
 */

import { setTimeout as pause } from "node:timers/promises";
import { unavailableAsker } from "../../src/core/ask/asker.ts";
import { REGISTRY } from "../../src/core/define/server.ts";
import { type HandlerContext, McpServer, retrying } from "../../src/core/index.ts";
import { ClientFacts } from "../../src/core/protocol/client-facts.ts";
import { DEFAULT_LIMITS } from "../../src/core/protocol/limits.ts";
import { VERSIONS } from "../../src/core/protocol/versions.ts";
import { newJournal } from "../../src/core/run/journal.ts";
import { replayRounds } from "../../src/core/run/replay.ts";
import { runTask } from "../../src/core/tasks/run-task.ts";
import { taskMethods } from "../../src/core/tasks/task-methods.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { newKeys } from "../../src/testing/keys.ts";
import { CAPABILITIES_KEY, CONTENT, meta, request, standardHeaders } from "../http/messages.ts";

declare const gc: () => void;

const CALLS = 10;
const FORM = { type: "object", properties: {} } as const;
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} }, elicitation: { form: {} } };

/** The objects that handlers hold, by the place where they are suspended. */
const held = new Map<string, WeakRef<object>[]>();

/** Creates an object for a handler to hold. */
function hold(where: string): { readonly where: string } {
  const object = { where, weight: new Uint8Array(10_000) };
  held.set(where, [...(held.get(where) ?? []), new WeakRef(object)]);
  return object;
}

type Handler = (ctx: HandlerContext) => Promise<string>;

/** Each awaits something that never happens and would use its object afterwards. */
const handlers: Readonly<Record<string, Handler>> = {
  "where it becomes a task": async (ctx) => {
    const own = hold("where it becomes a task");
    await ctx.task();
    return own.where;
  },
  "a step after it became a task": async (ctx) => {
    const late = async () => {
      const own = hold("a step after it became a task");
      await pause(5);
      await ctx.step("late", () => 1);
      return own.where;
    };
    void late();
    await ctx.task();
    return "";
  },
  "a read after it became a task": async (ctx) => {
    const late = async () => {
      const own = hold("a read after it became a task");
      await pause(5);
      await ctx.readResource("test://none");
      return own.where;
    };
    void late();
    await ctx.task();
    return "";
  },
  "a question": async (ctx) => {
    const own = hold("a question");
    await ctx.elicit("Who?", FORM);
    return own.where;
  },
  "a step after a question": async (ctx) => {
    const late = async () => {
      const own = hold("a step after a question");
      await pause(5);
      await ctx.step("late", () => 1);
      return own.where;
    };
    void late();
    await ctx.elicit("Who?", FORM);
    return "";
  },
};

/** Handlers whose run as a task is interrupted between steps. */
const cut: Readonly<Record<string, Handler>> = {
  "a step at which a run is cut": async (ctx) => {
    const own = hold("a step at which a run is cut");
    await ctx.step("first", () => 1);
    return own.where;
  },
  "a step that waits for its next try": async (ctx) => {
    const own = hold("a step that waits for its next try");
    const fail = () => Promise.reject(new Error("not yet"));
    await ctx.step("again", retrying(fail, { retries: 3, backoffMs: 60_000 }));
    return own.where;
  },
};

function serverOf(handler: Handler): McpServer {
  const server = new McpServer({ name: "held", version: "1.0.0" });
  return server.tool("run", { task: "optional", taskStartsAt: "handler" }, (_, ctx) => handler(ctx));
}

async function callOverHttp(handler: Handler): Promise<void> {
  const view = {
    taskId: "t",
    status: "working",
    createdAt: "",
    lastUpdatedAt: "",
    ttlMs: 1,
    pollIntervalMs: 1,
  } as const;
  const keeper = {
    create: async () => ({ resultType: "task", ...view }),
    read: async () => view,
    update: async () => true,
    cancel: async () => true,
  };
  const handle = createHttpHandler(serverOf(handler), {
    onError: () => undefined,
    replay: replayRounds,
    extend: (methods) => taskMethods(keeper, methods, () => undefined),
  });
  const message = request("tools/call", { name: "run", _meta: meta({ [CAPABILITIES_KEY]: TASKS }) });
  const headers = { ...CONTENT, ...standardHeaders(message) } as Record<string, string>;
  const asked = new Request("http://127.0.0.1/mcp", { method: "POST", headers, body: JSON.stringify(message) });
  const answer = await (await handle(asked, { MCP_KEYS: newKeys() })).text();
  if (!/"resultType":"(task|input_required)"/.test(answer)) throw new Error(answer);
}

async function runAsTask(handler: Handler): Promise<void> {
  const [rules] = VERSIONS.filter(({ era }) => era === "modern");
  if (!rules) throw new Error("no modern version");
  const tries = new Map<string, { failed: number; nextAtMs: number }>();
  const end = await runTask(
    {
      registry: serverOf(handler)[REGISTRY],
      request: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "run" } },
      client: new ClientFacts(rules, TASKS),
      env: undefined as never,
      principal: undefined,
      limits: DEFAULT_LIMITS,
      ending: new AbortController(),
      logLevel: undefined,
      asker: unavailableAsker("no client"),
      onError: () => undefined,
    },
    {
      taskId: "t",
      journal: newJournal(),
      round: { inputResponses: {} },
      record: () => undefined,
      report: () => undefined,
      isDue: () => true,
      tries: {
        find: (key) => tries.get(key),
        keep: (key, kept) => void tries.set(key, kept),
        remove: (key) => void tries.delete(key),
      },
    },
  );
  if (end.kind !== "paused" && end.kind !== "waiting")
    throw new Error(`the run was not paused: ${JSON.stringify(end)}`);
}

for (const [, handler] of Object.entries(handlers)) {
  for (let time = 0; time < CALLS; time += 1) await callOverHttp(handler);
}
for (const [, handler] of Object.entries(cut)) for (let time = 0; time < CALLS; time += 1) await runAsTask(handler);

const inMemory = () =>
  Object.fromEntries([...held].map(([where, refs]) => [where, refs.filter((ref) => ref.deref()).length]));
const untilMs = Date.now() + 20_000;
do {
  // A weak reference keeps its target alive for the turn in which it was read.
  await pause(5);
  gc();
} while (Date.now() < untilMs && Object.values(inMemory()).some((count) => count > 0));
console.log(JSON.stringify(inMemory()));
