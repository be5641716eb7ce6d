/**
 * mcp-edge/client/tasks: tool calls that run in the background as tasks, in the modern era (`io.modelcontextprotocol/tasks`) and 2025-11-25.
 *
 * @example
 * ```ts
 * import { connect } from "mcp-edge/client";
 * import { clientTasks } from "mcp-edge/client/tasks";
 *
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0", use: [clientTasks()] });
 * console.log(await client.callTool("report", { year: 2026 }));
 * ```
 *
 * @module
 */
export type { TaskErrorCode } from "./errors.ts";
export { TaskError } from "./errors.ts";
export type { ListedTask, TaskState, TaskStatus } from "./task-state.ts";
export type { ClientTasksOptions, Task, TaskOptions, TaskResultOptions } from "./tasks.ts";
export { clientTasks, listTasks, resumeTask, startTask } from "./tasks.ts";
