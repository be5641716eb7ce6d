/** Tasks of both versions against our server on workerd. Every message is checked. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { connect, type ElicitAnswer, type QuestionContext } from "../../../src/client/index.ts";
import { resumeTask, startTask, type TaskState } from "../../../src/client/tasks/index.ts";
import { until } from "../../http/wire.ts";
import { ME } from "../places.ts";
import { newKey, TaskLab, textOf } from "./visits.ts";

const MODERN = "2026-07-28";
const VERSIONS = [MODERN, "2025-11-25"];

let lab: TaskLab;
beforeAll(async () => {
  lab = await TaskLab.start();
});
afterEach(() => lab.leave());
afterAll(() => lab?.worker.stop());

/** Answers each form with its own message. */
const onElicit = ({ message }: { message: string }): ElicitAnswer => ({ action: "accept", content: { name: message } });

describe.each(VERSIONS)("callTool() in %s", (version) => {
  test("returns the same result, whether or not the server makes a task of the call", { tags: "long" }, async () => {
    const { client, created, tap } = await lab.visit(version);
    expect(textOf(await client.callTool("never_a_task", { key: "k" }))).toBe("at once");
    expect(created).toEqual([]);
    expect(textOf(await client.callTool("whoami", { key: newKey() }))).toBe("anonymous");
    expect(created).toHaveLength(1);
    expect(created[0]?.id).toEqual(expect.any(String));
    const { requestBody = "" } = tap.exchanges.find((each) => each.requestBody.includes("initialize")) ?? {};
    expect(requestBody).not.toContain("extensions");
  });

  test("answers the questions of the task with the usual handlers, several at once", async () => {
    const asked: string[] = [];
    const { client, methods } = await lab.visit(version, {
      onElicit: (form) => {
        asked.push(form.message);
        return onElicit(form);
      },
    });
    expect(textOf(await client.callTool("asking", { key: newKey() }))).toBe("1 One? 2 Two? Three?");
    expect(asked.toSorted()).toEqual(["One?", "Three?", "Two?"]);
    // The answers to questions that are asked at once are sent together.
    expect(methods().filter((method) => method === "tasks/update")).toHaveLength(version === MODERN ? 2 : 0);
  });

  test("answers sampling requests and requests for roots as well", async () => {
    const { client } = await lab.visit(version, {
      onSample: () => ({ role: "assistant", model: "tiny", content: { type: "text", text: "Short." } }),
      roots: [{ uri: "file:///one" }],
    });
    expect(textOf(await client.callTool("sampling", { key: newKey() }))).toContain("Short.");
    expect(textOf(await client.callTool("roots", { key: newKey() }))).toBe("file:///one");
  });

  test("rejects with the error of the call, and resolves with a failure of the tool", async () => {
    const { client } = await lab.visit(version);
    await expect(client.callTool("mcp_error", { key: newKey() })).rejects.toMatchObject({
      code: 4711,
      message: "of my own",
      data: { more: true },
    });
    const failed = await client.callTool("tool_error", { key: newKey() });
    expect(failed).toMatchObject({ isError: true, content: [{ text: "the model reads this" }] });
  });

  test("makes the server cancel the task when the signal aborts, and rejects with the signal's reason", async () => {
    const { client, created } = await lab.visit(version);
    const controller = new AbortController();
    const called = client.callTool("hold", { key: newKey() }, { signal: controller.signal });
    await until("the task exists", () => created.length > 0);
    const reason = new Error("The user left.");
    controller.abort(reason);
    await expect(called).rejects.toBe(reason);
    const [task] = created;
    await until("it is cancelled", async () => (await task?.refresh())?.status === "cancelled");
    await expect(task?.result()).rejects.toMatchObject({ name: "TaskError", code: "cancelled", taskId: task?.id });
  });

  test("cancels the task when the time limit is exceeded", { tags: "long" }, async () => {
    const { client, created } = await lab.visit(version);
    const called = client.callTool("hold", { key: newKey() }, { totalTimeoutMs: 3_000 });
    await expect(called).rejects.toMatchObject({ name: "ClientError", code: "total-timeout", mayHaveRun: true });
    await until("it is cancelled", async () => (await created[0]?.refresh())?.status === "cancelled");
  });
});

describe.each(VERSIONS)("startTask() in %s", (version) => {
  test("returns a handle at once, whose result can be awaited", async () => {
    const { client } = await lab.visit(version);
    const key = newKey();
    const states: TaskState[] = [];
    const task = await startTask(client, "hold", { key }, { onStatus: (state) => states.push(state) });
    expect(task.state).toMatchObject({ status: "working", pollIntervalMs: 20, createdAt: expect.any(String) });
    const result = task.result();
    await until("the message of its progress arrives", () => states.at(-1)?.statusMessage === "holding");
    await lab.release(key);
    expect(textOf(await result)).toBe("1 2");
    expect(task.state.status).toBe("completed");
    expect(textOf(await task.result())).toBe("1 2");
  });

  test("makes a task of a tool that can run as a task", async () => {
    const { client, created } = await lab.visit(version);
    const task = await startTask(client, "steps", { key: newKey() });
    expect(created.map(({ id }) => id)).toEqual([task.id]);
    expect(textOf(await task.result())).toBe("1 2 3");
  });

  test("has the result of a call that cannot become a task", async () => {
    const { client } = await lab.visit(version);
    const task = await startTask(client, "never_a_task", { key: "k" });
    expect(task.id).toBeUndefined();
    expect(task.state).toEqual({ status: "completed" });
    expect(await task.refresh()).toEqual({ status: "completed" });
    expect(textOf(await task.result())).toBe("at once");
    await task.cancel();
  });

  test("can cancel the task, and a task that has ended does not change", async () => {
    const { client } = await lab.visit(version);
    const held = await startTask(client, "hold", { key: newKey() });
    const result = held.result();
    const refused = expect(result).rejects.toMatchObject({ name: "TaskError", code: "cancelled", taskId: held.id });
    await held.cancel();
    await refused;
    const brief = await startTask(client, "brief", { key: newKey() });
    expect(textOf(await brief.result())).toBe("brief");
    await brief.cancel();
    expect((await brief.refresh()).status).toBe("completed");
  });

  test("can stop waiting without ending the task or other waits", async () => {
    const { client } = await lab.visit(version);
    const key = newKey();
    const task = await startTask(client, "hold", { key });
    const controller = new AbortController();
    const left = task.result({ signal: controller.signal });
    const stayed = task.result();
    controller.abort(new Error("Enough."));
    await expect(left).rejects.toThrow("Enough.");
    await expect(task.result({ totalTimeoutMs: 100 })).rejects.toMatchObject({ code: "total-timeout" });
    await lab.release(key);
    expect(textOf(await stayed)).toBe("1 2");
  });

  test("rejects when the client closes", async () => {
    const { client } = await lab.visit(version);
    const task = await startTask(client, "hold", { key: newKey() });
    const result = task.result();
    const refused = expect(result).rejects.toMatchObject({ code: "closed" });
    await client.close();
    await refused;
  });

  test("keeps the task when a handler throws, and asks again the next time", async () => {
    let isReady = false;
    const { client } = await lab.visit(version, {
      onEvent: () => undefined,
      onElicit: (form) => {
        if (!isReady) throw new Error("The form is not ready.");
        return onElicit(form);
      },
    });
    const task = await startTask(client, "asking_two", { key: newKey() });
    // A legacy server is notified of the failure, and its handler decides.
    if (version !== MODERN) return expect(await task.result().catch((error: Error) => error)).toBeDefined();
    await expect(task.result()).rejects.toMatchObject({ code: "question-failed" });
    expect((await task.refresh()).status).toBe("input_required");
    isReady = true;
    expect(textOf(await task.result())).toBe("Two? Three?");
  });
});

describe.each(VERSIONS)("resumeTask() in %s", (version) => {
  test("continues a task in another client, with its questions", async () => {
    const first = await lab.visit(version, { onElicit });
    const { id } = await startTask(first.client, "asking_two", { key: newKey() });
    await first.client.close();
    const { client } = await lab.visit(version, { onElicit });
    const task = await resumeTask(client, String(id));
    expect(task.id).toBe(id);
    expect(textOf(await task.result())).toBe("Two? Three?");
  });

  test("rejects for a task that the server does not know", async () => {
    const { client } = await lab.visit(version);
    const gone = { name: "TaskError", code: "gone", taskId: "unknown" };
    await expect(resumeTask(client, "unknown")).rejects.toMatchObject(gone);
  });
});

describe("a restart of the server", () => {
  test.each(VERSIONS)(
    "does not lose a task that is awaited: %s",
    { tags: "long", timeout: 60_000 },
    async (version) => {
      const { client, events } = await lab.visit(version);
      const key = newKey();
      const task = await startTask(client, "hold", { key });
      const result = task.result();
      await until("the handler has begun", async () => (await task.refresh()).statusMessage === "holding");
      await lab.worker.kill();
      await until("the client notices", () => events.some(({ type }) => type === "request-repeated"));
      await lab.worker.restart();
      await lab.release(key);
      expect(textOf(await result)).toBe("1 2");
    },
  );
});

describe("modern tasks", () => {
  test("a long task is listened to instead of polled, and the stream is closed afterwards", {
    tags: "long",
  }, async () => {
    const signals: AbortSignal[] = [];
    const { client, tap, methods } = await lab.visit(MODERN, {
      fetch: (url, init) => {
        if (String(init.body).includes("subscriptions/listen") && init.signal) signals.push(init.signal);
        return fetch(url, init);
      },
    });
    const key = newKey();
    const task = await startTask(client, "hold", { key });
    const result = task.result();
    await until("the client listens", () => methods().includes("subscriptions/listen"));
    const listening = () => tap.exchanges.find(({ requestBody }) => requestBody.includes("subscriptions/listen"));
    await until("the server has agreed", () => (listening()?.responseMessages.length ?? 0) > 0);
    await until("polling has stopped", async () => {
      const before = methods().length;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return methods().length === before;
    });
    const polls = methods().length;
    await lab.release(key);
    expect(textOf(await result)).toBe("1 2");
    // The report of the end contains the result.
    expect(methods()).toHaveLength(polls);
    await until("the stream is closed", () => signals.length === 1 && signals[0]?.aborted === true);
  });

  test("a task whose question is withdrawn aborts the handler", { tags: "long" }, async () => {
    const contexts: QuestionContext[] = [];
    const { client } = await lab.visit(MODERN, {
      onElicit: (_, context) => {
        contexts.push(context);
        return new Promise(() => undefined);
      },
    });
    expect(textOf(await client.callTool("racing", { key: newKey() }))).toBe("done without");
    expect(contexts).toHaveLength(1);
    await until("the handler is told", () => contexts[0]?.signal.aborted === true);
  });

  test("a task is requested once, after questions on the request itself", async () => {
    const { client, created } = await lab.visit(MODERN, { onElicit });
    expect(textOf(await client.callTool("asking_first", { key: newKey() }))).toBe("1 First? 2 Then?");
    expect(created).toHaveLength(1);
  });
});

describe("tools of 2025-11-25", () => {
  test("a tool that was not listed is looked up once, and called as a task if it must be one", async () => {
    const { client, methods } = await lab.visit("2025-11-25");
    expect(textOf(await client.callTool("brief", { key: newKey() }))).toBe("brief");
    const before = methods().filter((method) => method?.startsWith("tools/"));
    expect(new Set(before)).toEqual(new Set(["tools/list", "tools/call"]));
    expect(before.indexOf("tools/call")).toBe(before.length - 1);
    expect(textOf(await client.callTool("brief", { key: newKey() }))).toBe("brief");
    await expect(client.callTool("no_such_tool")).rejects.toThrow();
    const after = methods()
      .filter((method) => method?.startsWith("tools/"))
      .slice(before.length);
    expect(after.filter((method) => method === "tools/call")).toHaveLength(2);
    await expect(client.callTool("no_such_tool")).rejects.toThrow();
    expect(methods().at(-1)).toBe("tools/call");
    expect(methods().filter((method) => method === "tools/list").length).toBeLessThanOrEqual(before.length);
  });

  test("a tool that can run as a task is called as usual, because this takes one request", async () => {
    const { client, created, methods, tap } = await lab.visit("2025-11-25");
    expect(textOf(await client.callTool("steps", { key: newKey() }))).toBe("1 2 3");
    expect(created).toEqual([]);
    expect(methods()).not.toContain("tasks/get");
    // A client without a task does not need the stream for messages outside requests.
    expect(tap.exchanges.filter(({ method }) => method === "GET")).toEqual([]);
  });
});

test("a client without clientTasks() cannot start or resume a task", async () => {
  const client = await connect(lab.worker.url("/mcp"), ME);
  const missing = {
    name: "KitError",
    code: "options-invalid",
    message: expect.stringContaining("use: [clientTasks()]"),
  };
  await expect(startTask(client, "brief")).rejects.toMatchObject(missing);
  await expect(resumeTask(client, "id")).rejects.toMatchObject(missing);
  await client.close();
});
