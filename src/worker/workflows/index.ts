/**
 * mcp-edge/worker/workflows: tasks whose handlers are run by a Cloudflare Workflow, one instance to each task.
 *
 * @module
 */
import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep, type WorkflowStepConfig } from "cloudflare:workers";
import { KitError } from "../../core/errors.ts";
import type { DrivenTask, TaskRunner, TaskTurn } from "../tasks/task-runner.ts";

export interface WorkflowOptions {
  /** Name of the Workflow binding. @default "MCP_TASK_WORKFLOW" */
  readonly binding?: string;
  /**
   * How often a run that was lost with its object is begun again, and how long the Workflow waits before it. What a
   * handler throws is the task's result, not a lost run. @default 10 times, 1 second and twice as long each time
   */
  readonly retries?: NonNullable<WorkflowStepConfig["retries"]>;
  /** How long one run may take: `runMs` of `tasks()`, and one step more. @default "1 hour" */
  readonly timeout?: NonNullable<WorkflowStepConfig["timeout"]>;
}

/** A Workflow class as the Worker exports it. */
export type WorkflowClass = new (ctx: ExecutionContext, env: unknown) => WorkflowEntrypoint<unknown, DrivenTask>;

/** Tells an instance that its task was answered, or should be looked at. */
const GO_ON = "go-on";
/** Instances that do nothing more until they are begun anew. */
const ENDED: readonly string[] = ["errored", "terminated", "complete"];

/**
 * Has the handlers of tasks run by a Workflow in the place of the alarm: a run is a step of the instance, a question a
 * wait for an event. What a client sees, the journal, the keys of steps and what is repeated stay what they are. Needs a
 * Workflow binding to the class it returns.
 *
 * @example
 * ```ts
 * const app = edge(server, { tasks: tasks({ runner: workflow(), runMs: 0 }) });
 * export default app;
 * export const { McpTask, McpTaskWorkflow } = app;
 * ```
 */
export function workflow(options: WorkflowOptions = {}): TaskRunner<{ McpTaskWorkflow: WorkflowClass }> {
  const { binding = "MCP_TASK_WORKFLOW", timeout = "1 hour" } = options;
  const { retries = { limit: 10, delay: "1 second", backoff: "exponential" } as const } = options;
  return {
    attach: (turn) => ({
      driver: {
        drive: (env, task) => drive(workflowOf(env, binding), task),
        stop: async (env, taskId) => (await workflowOf(env, binding).get(instanceOf(taskId))).terminate(),
      },
      objects: { McpTaskWorkflow: createWorkflowClass(turn, { retries, timeout } as WorkflowStepConfig) },
    }),
  };
}

type Turn = (env: unknown, object: string) => Promise<TaskTurn>;

function createWorkflowClass(turn: Turn, config: WorkflowStepConfig): WorkflowClass {
  return class McpTaskWorkflow extends WorkflowEntrypoint<unknown, DrivenTask> {
    override async run({ payload }: WorkflowEvent<DrivenTask>, step: WorkflowStep): Promise<{ status: string }> {
      for (let round = 1; ; round += 1) {
        const { status, leftMs } = await step.do(`run ${round}`, config, async () => {
          const { status, leftMs, steps } = await turn(this.env, payload.object);
          return { status, leftMs, steps: [...steps] };
        });
        if (status === "input_required") await answered(step, round, leftMs);
        else if (status !== "working") return { status };
      }
    }
  };
}

/** The next run finds out whether it was, or whether the task's time is over. */
async function answered(step: WorkflowStep, round: number, timeout: number): Promise<void> {
  await step.waitForEvent(`answers ${round}`, { type: GO_ON, timeout }).catch(() => undefined);
}

/** Makes the instance of a task, or tells the one there is to go on. */
async function drive(workflow: Workflow<DrivenTask>, task: DrivenTask): Promise<void> {
  const id = instanceOf(task.taskId);
  const found = await workflow.get(id).catch(() => undefined);
  if (!found) {
    await workflow.create({ id, params: task });
    return;
  }
  const { status } = await found.status();
  if (ENDED.includes(status)) await found.restart();
  else await found.sendEvent({ type: GO_ON, payload: {} });
}

/** Ids of instances begin with a letter. */
function instanceOf(taskId: string): string {
  return `task-${taskId}`;
}

/** @throws {KitError} `binding-missing`. */
function workflowOf(env: unknown, binding: string): Workflow<DrivenTask> {
  const found = (env as Record<string, Workflow<DrivenTask> | undefined> | undefined)?.[binding];
  if (found) return found;
  const message = `Workflow binding "${binding}" is missing. Add it to wrangler.toml, or leave out the option runner of tasks().`;
  throw new KitError("binding-missing", message);
}
