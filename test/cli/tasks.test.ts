// @module-tag long
/** `mcp-edge call --task` and `mcp-edge tasks`. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CACHED, discovered, error, initialized, result, scripted } from "../client/scripted.ts";
import { newKey, TaskLab } from "../client/tasks/visits.ts";
import { KEYS, Screen } from "./pty.ts";
import { cli } from "./run.ts";

const VERSIONS = ["2025-11-25", "2026-07-28"];

let lab: TaskLab;
beforeAll(async () => {
  lab = await TaskLab.start();
});
afterAll(() => lab.worker.stop());

test.each(VERSIONS)("a call of %s runs in the background and is shown, and its result is awaited", async (as) => {
  const url = lab.worker.url("/mcp");
  const key = newKey();
  const started = await cli(["call", url, "hold", "--key", key, "--task", "--yes", "--as", as]);
  expect(started).toMatchObject({ code: 0, stderr: "" });
  const id = started.stdout.trim();
  const shown = await cli(["tasks", url, "get", id, "--json", "--as", as]);
  expect(JSON.parse(shown.stdout)).toMatchObject({ taskId: id, status: "working" });
  await lab.release(key);
  const result = await cli(["tasks", url, "result", id, "--json", "--as", as]);
  expect([result.code, result.stderr]).toEqual([0, ""]);
  expect(JSON.parse(result.stdout)).toMatchObject({ content: [{ type: "text" }] });
});

test("a call that the server runs in the background is awaited even without --task", async () => {
  const ran = await cli(["call", lab.worker.url("/mcp"), "whoami", "--key", newKey(), "--yes"]);
  expect(ran).toMatchObject({ code: 0, stdout: "anonymous\n" });
  expect(ran.stderr).toMatch(/^Running in the background as task \S+\n$/);
});

test("the tasks of a server of 2025-11-25 are listed, and in 2026-07-28 there is no such list", async () => {
  const url = lab.worker.url("/mcp");
  const none = await cli(["tasks", url, "list", "--as", "2026-07-28"]);
  expect([none.code, none.stdout]).toEqual([3, ""]);
  expect(none.stderr).toContain("tasks.list");
  await using server = await scripted(({ message }, response) => {
    const task = { createdAt: "2026-11-22T12:00:00Z", lastUpdatedAt: "2026-11-22T12:00:00Z", ttl: 60_000 };
    const { id, method, params } = message ?? {};
    if (method === "initialize") return result(response, id, initialized("2025-11-25", { tasks: { list: {} } }));
    if (method !== "tasks/list") return response.writeHead(id === undefined ? 202 : 405).end();
    const isFirst = params?.cursor === undefined;
    const page = isFirst ? { nextCursor: "2" } : {};
    return result(response, id, { tasks: [{ ...task, taskId: isFirst ? "t1" : "t2", status: "working" }], ...page });
  });
  expect(await cli(["tasks", server.url, "list", "--as", "2025-11-25"])).toEqual({
    code: 0,
    stdout: "t1 working\nt2 working\n",
    stderr: "",
  });
  const { stdout } = await cli(["tasks", server.url, "list", "--as", "2025-11-25", "--json"]);
  expect(JSON.parse(stdout).tasks).toMatchObject([{ taskId: "t1" }, { taskId: "t2", status: "working" }]);
});

test.each(["-Vx9", "-yes-x9", "-h0", "--x9", "-9"])("the id of a task can begin like an option: %s", async (taskId) => {
  const task = { createdAt: "2026-11-22T12:00:00Z", lastUpdatedAt: "2026-11-22T12:00:00Z", ttlMs: 60_000 };
  await using server = await scripted(({ message }, response) => {
    const { id, method, params } = message ?? {};
    const capabilities = { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
    if (method === "server/discover") return result(response, id, discovered(undefined, capabilities));
    return result(response, id, { resultType: "complete", ...task, taskId: params?.taskId, status: "working" });
  });
  expect(await cli(["tasks", server.url, "get", taskId])).toEqual({ code: 0, stdout: "working\n", stderr: "" });
  const { stdout } = await cli(["tasks", "--json", server.url, "get", taskId]);
  expect(JSON.parse(stdout)).toMatchObject({ taskId });
});

test("a task is cancelled, and waiting for its result then exits with 5", async () => {
  const url = lab.worker.url("/mcp");
  const started = await cli(["call", url, "hold", "--key", newKey(), "--task", "--yes"]);
  const id = started.stdout.trim();
  expect(await cli(["tasks", url, "cancel", id])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^cancelled/),
  });
  expect(await cli(["tasks", url, "result", id])).toMatchObject({ code: 5, stdout: "" });
  expect(await cli(["tasks", url, "get"])).toMatchObject({ code: 2, stdout: "" });
});

describe.each(VERSIONS)("a call of %s that the server runs in the background", (as) => {
  const hold = (...more: string[]) => {
    return ["call", lab.worker.url("/mcp"), "hold", "--key", newKey(), "--yes", "--as", as, ...more];
  };

  /** Expects that the command has said which task it cancelled, and that the server says the same. */
  async function expectCancelled(text: string): Promise<void> {
    const [, id = ""] = /Running in the background as task (\S+)\n/.exec(text) ?? [];
    expect(text).toContain(`The task ${id} was cancelled.\n`);
    const shown = await cli(["tasks", lab.worker.url("/mcp"), "get", id, "--json", "--as", as]);
    expect(JSON.parse(shown.stdout)).toMatchObject({ taskId: id, status: "cancelled" });
  }

  test("is cancelled by Ctrl-C", async () => {
    using screen = new Screen(hold());
    await screen.shows("Running in the background as task ");
    screen.press(KEYS.ctrlC);
    expect(await screen.ended()).toBe(130);
    await expectCancelled(screen.text);
  });

  test("is cancelled by SIGTERM", async () => {
    using screen = new Screen(hold());
    await screen.shows("Running in the background as task ");
    process.kill(screen.pid, "SIGTERM");
    expect(await screen.ended()).toBe(143);
    await expectCancelled(screen.text);
  });

  test("is cancelled when --timeout has passed", async () => {
    const { code, stdout, stderr } = await cli(hold("--timeout", "6s"));
    expect([code, stdout]).toEqual([5, ""]);
    await expectCancelled(stderr);
  });
});

test("a task whose end the server does not confirm is reported as a task that may still run", async () => {
  const task = {
    taskId: "t1",
    status: "working",
    createdAt: "2026-11-22T12:00:00Z",
    lastUpdatedAt: "2026-11-22T12:00:00Z",
  };
  const working = { ...task, ttlMs: 60_000, pollIntervalMs: 50 };
  const results: Record<string, object> = {
    "server/discover": discovered(undefined, { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } }),
    "tools/list": { ...CACHED, tools: [{ name: "x", inputSchema: { type: "object" } }] },
    "tools/call": { resultType: "task", ...working },
    "tasks/get": { resultType: "complete", ...working },
  };
  await using server = await scripted(({ message }, response) => {
    const value = results[message?.method ?? ""];
    return value ? result(response, message?.id, value) : error(response, 500, message?.id, -32603);
  });
  const { code, stderr } = await cli(["call", server.url, "x", "--yes", "--timeout", "2s"]);
  expect(code).toBe(5);
  expect(stderr).toContain("The task t1 may still be running");
  expect(stderr).toContain(`mcp-edge tasks ${server.url} cancel t1`);
  expect(server.asked.filter((each) => each === "POST tasks/cancel")).toHaveLength(1);
});

describe.each(VERSIONS)("Ctrl-C before a server of %s has sent the task's id", (as) => {
  const now = "2026-11-22T12:00:00Z";
  const isModern = as === "2026-07-28";
  const task = {
    ...{ taskId: "t1", status: "working", createdAt: now, lastUpdatedAt: now },
    ...(isModern ? { ttlMs: 60_000 } : { ttl: 60_000 }),
  };
  const tool = { name: "x", inputSchema: { type: "object" } };
  const cancelled = { ...task, status: "cancelled" };
  const answers: Record<string, object> = isModern
    ? {
        "server/discover": discovered(undefined, { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } }),
        "tools/list": { ...CACHED, tools: [tool] },
        "tools/call": { resultType: "task", ...task },
        "tasks/cancel": { resultType: "complete" },
        "tasks/get": { resultType: "complete", ...cancelled },
      }
    : {
        initialize: initialized(as, { tools: {}, tasks: { cancel: {}, requests: { tools: { call: {} } } } }),
        "tools/list": { tools: [{ ...tool, execution: { taskSupport: "required" } }] },
        "tools/call": { task },
        "tasks/cancel": cancelled,
        "tasks/get": cancelled,
      };

  /** A server whose response to a call waits until it is released. `called` resolves when the call has arrived. */
  async function held() {
    const [called, released, left] = [0, 0, 0].map(() => Promise.withResolvers<void>());
    const server = await scripted(async ({ message }, response) => {
      const { id, method = "" } = message ?? {};
      if (method === "tools/call") {
        response.once("close", () => left?.resolve());
        called?.resolve();
        await released?.promise;
      }
      const answer = answers[method];
      return answer ? result(response, id, answer) : response.writeHead(id === undefined ? 202 : 405).end();
    });
    return { server, called: called?.promise, left: left?.promise, release: () => released?.resolve() };
  }

  test.each([[], ["--task"]])("cancels the task when its id arrives: %j", async (...more) => {
    const { server, called, release } = await held();
    await using _ = server;
    using screen = new Screen(["call", server.url, "x", "--yes", "--as", as, ...more]);
    await called;
    screen.press(KEYS.ctrlC);
    await screen.shows("Cancelling the call. Ctrl-C again ends the program at once.");
    release();
    expect(await screen.ended()).toBe(130);
    expect(screen.text).toContain("The task t1 was cancelled.\n");
    expect(screen.text).not.toMatch(/^t1$/m);
    expect(server.asked.filter((each) => each === "POST tasks/cancel")).toHaveLength(1);
  });

  test("cancels the call if the server does not respond", async () => {
    const { server, called, left, release } = await held();
    await using _ = server;
    using screen = new Screen(["call", server.url, "x", "--yes", "--as", as]);
    await called;
    screen.press(KEYS.ctrlC);
    expect(await screen.ended()).toBe(130);
    await left;
    expect(server.asked.includes("POST notifications/cancelled")).toBe(!isModern);
    expect(screen.text).not.toContain("The task");
    release();
  });
});

describe("call --task", () => {
  const start = (path: string, ...more: string[]) => {
    return cli(["call", lab.worker.url(path), "never_a_task", "--key", newKey(), "--task", "--yes", ...more]);
  };

  test.each(VERSIONS)("is refused before the call at a server of %s without tasks", async (as) => {
    const { code, stdout, stderr } = await start("/without", "--as", as);
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toBe("mcp-edge: The server does not support tasks, so the tool was not called. Leave out --task.\n");
  });

  test("is refused before the call if the tool of 2025-11-25 never becomes a task", async () => {
    const { code, stdout, stderr } = await start("/mcp", "--as", "2025-11-25");
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toContain("The server does not run never_a_task in the background, so the tool was not called.");
  });

  test("exits with 6 and prints the result if the server of 2026-07-28 has run the tool at once", async () => {
    const { code, stdout, stderr } = await start("/mcp", "--as", "2026-07-28");
    expect([code, stdout]).toEqual([6, "at once\n"]);
    expect(stderr).toContain("The output is its result, not an id.");
  });
});
