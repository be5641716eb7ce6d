/** `mcp-edge call --task` and `mcp-edge tasks`. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { newKey, TaskLab } from "../client/tasks/visits.ts";
import { cli } from "./run.ts";

let lab: TaskLab;
beforeAll(async () => {
  lab = await TaskLab.start();
});
afterAll(() => lab.worker.stop());

test.each(["2025-11-25", "2026-07-28"])(
  "a call of %s runs in the background, is shown, and its result is awaited",
  async (as) => {
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
  },
);

test("a call that the server runs in the background is awaited without --task", async () => {
  const ran = await cli(["call", lab.worker.url("/mcp"), "whoami", "--key", newKey(), "--yes"]);
  expect(ran).toMatchObject({ code: 0, stdout: "anonymous\n" });
  expect(ran.stderr).toMatch(/^Runs in the background as \S+\n$/);
});

test("a task is cancelled, and its result then exits with 5", async () => {
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
