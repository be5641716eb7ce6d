/** Tasks of a server of the official SDK, version 1, over Streamable HTTP with sessions. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, connect } from "../../../src/client/index.ts";
import { clientTasks, listTasks, resumeTask, startTask, type Task } from "../../../src/client/tasks/index.ts";
import { until } from "../../http/wire.ts";
import { type HttpTap, startHttpTap } from "../../oracle/http-tap.ts";
import { ME } from "../places.ts";
import { officialTaskServer } from "./official-tasks.ts";
import { textOf } from "./visits.ts";

let client: Client;
let tap: HttpTap;
let closing: () => Promise<void>;
const created: Task[] = [];
const asked: string[] = [];

beforeEach(async () => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
  await officialTaskServer().connect(transport as never);
  const http = createServer((request, response) => void transport.handleRequest(request, response));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  tap = await startHttpTap(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  created.splice(0);
  asked.splice(0);
  client = await connect(tap.url, {
    ...ME,
    protocolVersions: ["2025-11-25"],
    use: [clientTasks({ ttlMs: 30_000, onTask: (task) => created.push(task) })],
    onElicit: ({ message }) => {
      asked.push(message);
      return { action: "accept", content: { name: "Ada" } };
    },
  });
  closing = async () => {
    await client.close();
    await tap.close();
    http.closeAllConnections();
    http.close();
  };
});
afterEach(async () => {
  await closing();
  // What the server sends is not ours to judge.
  expect(tap.oracle.problems.filter(({ from }) => from === "client")).toEqual([]);
});

test("a question of a task gets an answer, which names the task", async () => {
  expect(textOf(await client.callTool("ask"))).toBe("accept Ada");
  expect(asked).toEqual(["Who?"]);
  const answers = tap.exchanges.map(({ requestBody }) => (requestBody === "" ? {} : JSON.parse(requestBody)));
  const answer = answers.find(({ result }) => result?.action === "accept");
  expect(answer.result._meta).toEqual({ "io.modelcontextprotocol/related-task": { taskId: created[0]?.id } });
});

test("a call of a tool that is not a task, or can be one, is an ordinary call", async () => {
  expect(textOf(await client.callTool("plain"))).toBe("plain");
  expect(textOf(await client.callTool("maybe"))).toBe("perhaps");
  expect(created).toEqual([]);
  expect(textOf(await (await startTask(client, "maybe")).result())).toBe("perhaps");
  expect(created).toHaveLength(1);
});

test("progress of a task arrives after the call has returned the task", async () => {
  const seen: number[] = [];
  const onProgress = ({ progress }: { progress: number }) => void seen.push(progress);
  expect(textOf(await client.callTool("count", {}, { onProgress }))).toBe("counted");
  expect(seen).toEqual([1, 2, 3]);
});

test("a tool that fails resolves with its result", async () => {
  expect(await client.callTool("broken")).toMatchObject({ isError: true, content: [{ text: "Error: It broke." }] });
});

test("a task is cancelled, listed and resumed", async () => {
  const task = await startTask(client, "endless");
  expect((await listTasks(client).all()).map(({ id, status }) => [id, status])).toEqual([[task.id, "working"]]);
  const again = await resumeTask(client, String(task.id));
  const result = again.result();
  const refused = expect(result).rejects.toMatchObject({ code: "cancelled" });
  await until("the status is read", () => again.state.status === "working");
  await task.cancel();
  await refused;
});
