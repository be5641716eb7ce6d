import { clientTasks, resumeTask, startTask } from "mcp-edge/client/tasks";
import type { TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { connectTo, MODERN, startProject } from "../harness.ts";

let worker: TestWorker;
/** The stages that the sink has answered, by topic. */
const sent: { topic: string; stage: string }[] = [];
/** Stages that the sink answers with a status of 500 once. */
const failing = new Set<string>();
beforeAll(async () => {
  worker = await startProject({ outbound: answer });
});
afterAll(() => worker?.stop());
beforeEach(() => {
  sent.length = 0;
  failing.clear();
});

async function answer(request: Request): Promise<Response> {
  if (request.method !== "POST" || request.url !== "https://sink.example.com/chapters") {
    return new Response("not found", { status: 404 });
  }
  const body = (await request.json()) as { topic: string; stage: string };
  if (failing.delete(body.stage)) return new Response("try again", { status: 500 });
  sent.push(body);
  return Response.json({ stored: true });
}

const open = () => connectTo(worker, { protocolVersions: [MODERN], use: [clientTasks()] });
const stages = (topic: string) => sent.filter((each) => each.topic === topic).map(({ stage }) => stage);
const ALL = ["stage-1", "stage-2", "stage-3", "stage-4", "stage-5"];
const report = (topic: string) => ({ structuredContent: { topic, chapters: 5 } });

test("the report is a task with a status, and has five chapters", async () => {
  const client = await open();
  const statuses = new Set<string | undefined>();
  const onStatus = ({ statusMessage }: { statusMessage?: string | undefined }) => void statuses.add(statusMessage);
  const task = await startTask(client, "build_report", { topic: "bees" }, { onStatus });
  expect(task.id).toEqual(expect.any(String));
  expect(task.state.status).toBe("working");
  expect(await task.result()).toMatchObject(report("bees"));
  expect(stages("bees")).toEqual(ALL);
  expect([...statuses].join("\n")).toMatch(/[2-5]/);
  await client.close();
});

test("the task survives a crash, and does not repeat finished stages", async () => {
  const client = await open();
  const task = await startTask(client, "build_report", { topic: "ants" });
  await expect.poll(() => stages("ants"), { timeout: 15_000 }).toContain("stage-2");
  // The answer has arrived, and the stage pauses for a second.
  await new Promise((resolve) => setTimeout(resolve, 500));
  await client.close();
  await worker.kill();
  await worker.restart();
  // No client asks: the task goes on by itself.
  await expect.poll(() => stages("ants"), { timeout: 40_000 }).toContain("stage-5");
  const later = await open();
  const resumed = await resumeTask(later, task.id ?? "");
  expect(await resumed.result()).toMatchObject(report("ants"));
  expect(stages("ants")).toEqual(ALL);
  await later.close();
});

test("a stage is tried again if the sink fails once", async () => {
  failing.add("stage-3");
  const client = await open();
  const task = await startTask(client, "build_report", { topic: "wasps" });
  expect(await task.result()).toMatchObject(report("wasps"));
  expect(stages("wasps")).toEqual(ALL);
  await client.close();
});
