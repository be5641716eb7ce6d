/** A server of the official SDK, version 1, whose tools run as tasks of 2025-11-25. */
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { CallToolResult, ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js";

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;
type Work = (taskId: string, extra: Extra) => Promise<string>;

/** The server. Its tools `ask` and `count` have to run as tasks, `maybe` may. */
export function officialTaskServer(): McpServer {
  const server = new McpServer(
    { name: "official-tasks", version: "1.0.0" },
    {
      capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
      taskStore: new InMemoryTaskStore(),
      taskMessageQueue: new InMemoryTaskMessageQueue(),
    },
  );
  add(server, "ask", "required", async (taskId, { taskStore }) => {
    await taskStore?.updateTaskStatus(taskId, "input_required");
    const requestedSchema = { type: "object" as const, properties: { name: { type: "string" as const } } };
    const question = { message: "Who?", requestedSchema };
    const { action, content } = await server.server.elicitInput(question, { relatedTask: { taskId } });
    await taskStore?.updateTaskStatus(taskId, "working", "answered");
    return `${action} ${content?.name}`;
  });
  add(server, "count", "required", async (taskId, { taskStore, _meta }) => {
    // Notifications of a task are sent with tasks/result only.
    await taskStore?.updateTaskStatus(taskId, "input_required");
    for (let progress = 1; progress <= 3; progress += 1) {
      const params = { progressToken: _meta?.progressToken ?? 0, progress };
      await server.server.notification({ method: "notifications/progress", params }, { relatedTask: { taskId } });
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    return "counted";
  });
  add(server, "maybe", "optional", async () => "perhaps");
  add(server, "broken", "required", async () => {
    throw new Error("It broke.");
  });
  add(server, "endless", "required", () => new Promise(() => undefined));
  server.registerTool("plain", {}, () => text("plain"));
  return server;
}

function text(value: string, isError = false): CallToolResult {
  return { content: [{ type: "text", text: value }], ...(isError ? { isError } : {}) };
}

function add(server: McpServer, name: string, taskSupport: "required" | "optional", work: Work): void {
  server.experimental.tasks.registerToolTask(
    name,
    { inputSchema: {}, execution: { taskSupport } },
    {
      createTask: async (_, extra) => {
        const task = await extra.taskStore.createTask({ ttl: 60_000, pollInterval: 30 });
        const { taskId } = task;
        void work(taskId, extra).then(
          (done) => extra.taskStore.storeTaskResult(taskId, "completed", text(done)),
          (error) => extra.taskStore.storeTaskResult(taskId, "failed", text(String(error), true)),
        );
        return { task };
      },
      getTask: (_, { taskId, taskStore }) => taskStore.getTask(taskId),
      getTaskResult: async (_, { taskId, taskStore }) => (await taskStore.getTaskResult(taskId)) as CallToolResult,
    },
  );
}
