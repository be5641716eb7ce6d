/**
 * The reference server's tools that run as tasks, and a tool that never does.
 *
 * @module
 */
import { McpError, type McpServer, ToolError } from "../core/index.ts";
import { jsonSchema } from "../schema/index.ts";

const text = (name: string) =>
  jsonSchema<Record<string, string>>({ type: "object", properties: { [name]: { type: "string" } }, required: [name] });

const computation = jsonSchema<{ seconds: number; label?: string }>({
  type: "object",
  properties: { seconds: { type: "number", minimum: 0 }, label: { type: "string" } },
  required: ["seconds"],
});

const NAME_FORM = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
const CONFIRM_FORM = { type: "object", properties: { confirm: { type: "boolean" } }, required: ["confirm"] } as const;

export function addTasks(server: McpServer): void {
  server.tool(
    "greet",
    { description: "Greets immediately, never as a task", input: text("name") },
    ({ name }) => `Hello, ${name}!`,
  );
  server.tool(
    "slow_compute",
    {
      description: "Takes several seconds, in the background if the client supports tasks",
      input: computation,
      task: "optional",
    },
    async ({ seconds, label = "it" }, ctx) => {
      ctx.progress(0, { message: `Computing ${label}` });
      await pause(seconds * 1000, ctx.signal);
      return `Computed ${label} in ${seconds} s.`;
    },
  );
  server.tool("failing_job", { description: "Fails after a while, in the background", task: "required" }, async () => {
    await pause(1000);
    throw new ToolError("This job always fails.");
  });
  server.tool("protocol_error_job", { description: "Ends in a protocol error", task: "required" }, async () => {
    await pause(100);
    throw new McpError(-32603, "This job has no result.");
  });
  server.tool(
    "confirm_delete",
    { description: "Asks before it deletes, in the background", input: text("filename"), task: "required" },
    async ({ filename }, ctx) => {
      const answer = await ctx.elicit(`Delete ${filename}?`, CONFIRM_FORM);
      const isConfirmed = answer.action === "accept" && answer.content.confirm === true;
      return isConfirmed ? `Deleted ${filename}.` : `Kept ${filename}.`;
    },
  );
  server.tool(
    "multi_input",
    { description: "Asks two things at once, in the background", task: "required" },
    async (_, ctx) => {
      const answers = await Promise.all([
        ctx.elicit("What is your name?", NAME_FORM),
        ctx.elicit("Go on?", CONFIRM_FORM),
      ]);
      return answers.map(({ action }) => action).join(", ");
    },
  );
  server.tool(
    "test_tool_with_task",
    {
      description: "Asks before the task starts, then continues in the background",
      task: "required",
      taskStartsAt: "handler",
    },
    async (_, ctx) => {
      const answer = await ctx.elicit("What is your name?", NAME_FORM, { key: "user_name" });
      await ctx.task();
      return answer.action === "accept" ? `Hello from the background, ${String(answer.content.name)}!` : "Never mind.";
    },
  );
}

/** Waits, and rejects when the signal aborts. */
function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}
