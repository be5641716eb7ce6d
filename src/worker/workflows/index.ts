/**
 * mcp-edge/worker/workflows: tasks whose handlers are run by a Cloudflare Workflow, one instance for each task.
 *
 * @module
 */
import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep, type WorkflowStepConfig } from "cloudflare:workers";
import { COUNT, checkNumber, checkOptions, type OptionTable, PERIOD } from "../../core/protocol/check-options.ts";
import { KitError } from "../../core/protocol/errors.ts";
import type { WithWorkflow, WorkflowClass } from "../added-classes.ts";
import { claim, type ObjectReference, type Owners, RoleObjects } from "../bindings.ts";
import type { TaskRunner } from "../parts.ts";
import type { Problem } from "../problems.ts";
import { type DrivenRpc, type DrivenTask, DrivenTaskObject, type Driver } from "./driven-task.ts";

export type { WithWorkflow, WorkflowClass } from "../added-classes.ts";
export type { TaskRunner } from "../parts.ts";

/** Options of {@link workflows}. */
export interface WorkflowsOptions {
  /** The name of the Workflow binding. @default "MCP_TASK_WORKFLOW" */
  readonly binding?: string;
  /**
   * How often a run that was lost with its object starts again, and how long the Workflow waits before each start. An
   * exception of a handler is the result of the task, not a lost run.
   *
   * @default 10 times; 1 second before the first, and twice as long before each further one
   */
  readonly retries?: NonNullable<WorkflowStepConfig["retries"]>;
  /** The longest time that one run may take. Allow for `runMs` of `tasks()` and one more step. @default "1 hour" */
  readonly timeout?: NonNullable<WorkflowStepConfig["timeout"]>;
}

const OPTIONS: OptionTable<WorkflowsOptions> = { binding: null, retries: null, timeout: null };
const RETRIES: OptionTable<NonNullable<WorkflowsOptions["retries"]>> = { limit: COUNT, delay: null, backoff: null };

/** The workflows() of each binding in this isolate. */
const owners: Owners = new Map();

/** The event that resumes an instance, because its task was answered or must be checked. */
const GO_ON = "go-on";
/** The states of instances that do nothing until they are restarted. */
const ENDED: readonly string[] = ["errored", "terminated", "complete"];

/**
 * Runs the handlers of tasks in a Workflow instead of by alarms. Each run is a step of the instance, and a question
 * waits for an event. Clients, the journal and the keys of steps are not affected. Needs a Workflow binding to the
 * class it adds. With `runMs: 0` of `tasks()` each `ctx.step()` is a step of the instance.
 *
 * @example
 * ```ts
 * const app = edge(server, { use: [tasks({ runner: workflows(), runMs: 0 })] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * export class McpTaskWorkflow extends app.McpTaskWorkflow {}
 * ```
 */
export function workflows(options: WorkflowsOptions = {}): TaskRunner<WithWorkflow> {
  checkOptions("workflows(): ", options, OPTIONS);
  const { binding = "MCP_TASK_WORKFLOW", timeout = "1 hour" } = options;
  const { retries = { limit: 10, delay: "1 second", backoff: "exponential" } as const } = options;
  checkOptions("workflows(): retries.", retries, RETRIES);
  checkDuration("workflows(): retries.delay", retries.delay, 0);
  checkDuration("workflows(): timeout", timeout, 1);
  const owner = {};
  const driver: Driver = {
    drive: (env, task) => drive(getWorkflow(env, binding), task),
    stop: async (env, taskId) => (await getWorkflow(env, binding).get(getInstanceId(taskId))).terminate(),
  };
  return {
    drive: (task, ctx, env) => new DrivenTaskObject(task, ctx, env, driver),
    makeClasses: (reference) => {
      claim(owners, binding, owner);
      return { McpTaskWorkflow: createWorkflowClass(reference, { retries, timeout } as WorkflowStepConfig) };
    },
    findProblems: (env) => {
      const problems: Problem[] = [];
      if (owners.get(binding) !== owner)
        problems.push(
          `[name-taken] Two endpoints of this Worker use the Workflow binding ${binding}, so each would run tasks of the other. Give one of them its own: tasks({ runner: workflows({ binding: "..." }) }), bound in wrangler.toml to the class that it exports.`,
        );
      if (!getWorkflow(env, binding)?.create)
        problems.push(
          `[binding-wrong] The Workflow binding ${binding} is missing. In wrangler.toml write: [[workflows]] name = "mcp-tasks" binding = "${binding}" class_name = "McpTaskWorkflow"`,
        );
      return problems;
    },
  };
}

/** Checks a duration in the form that Workflows take. @throws {KitError} `options-invalid` naming the option. */
function checkDuration(what: string, value: unknown, min: number): void {
  if (typeof value === "number") checkNumber(what, value, [min, PERIOD[1]]);
  else if (typeof value !== "function" && !DURATION.test(String(value))) {
    const takes = 'a number of milliseconds, or a text such as "10 minutes"';
    throw new KitError("options-invalid", `${what} is ${JSON.stringify(value)}; use ${takes}.`);
  }
}

const DURATION = /^[1-9]\d* (second|minute|hour|day|week|month|year)s?$/;

function createWorkflowClass(reference: ObjectReference, config: WorkflowStepConfig): WorkflowClass {
  const objects = new RoleObjects<DrivenRpc>("task", reference);
  return class McpTaskWorkflow extends WorkflowEntrypoint<unknown, DrivenTask> {
    override async run({ payload }: WorkflowEvent<DrivenTask>, step: WorkflowStep): Promise<{ status: string }> {
      const namespace = objects.namespace(this.env);
      const id = namespace.idFromString(payload.object);
      for (let round = 1; ; round += 1) {
        const { status, waitMs } = await step.do(`run ${round}`, config, async () => {
          const turn = await objects.call(objects.get(namespace, id), "work");
          // If no task is stored any more, it has expired.
          return { ...(turn ?? { status: "failed", waitMs: 0, steps: [] as string[] }) };
        });
        if (status !== "working" && status !== "input_required") return { status };
        if (waitMs > 0) await goesOn(step, round, waitMs);
      }
    }
  };
}

/** Waits until the task was answered, the next run is due, or the task has expired. The next run finds out which. */
async function goesOn(step: WorkflowStep, round: number, timeout: number): Promise<void> {
  await step.waitForEvent(`wait ${round}`, { type: GO_ON, timeout }).catch(() => undefined);
}

/** Creates the instance of a task, or resumes an existing one. */
async function drive(workflow: Workflow<DrivenTask>, task: DrivenTask): Promise<void> {
  const id = getInstanceId(task.taskId);
  const found = await workflow.get(id).catch(() => undefined);
  if (!found) {
    await workflow.create({ id, params: task });
    return;
  }
  const { status } = await found.status();
  if (ENDED.includes(status)) await found.restart();
  else await found.sendEvent({ type: GO_ON, payload: {} });
}

/** Returns the id of the instance of a task. It must begin with a letter. */
function getInstanceId(taskId: string): string {
  return `task-${taskId}`;
}

function getWorkflow(env: unknown, binding: string): Workflow<DrivenTask> {
  return (env as Readonly<Record<string, Workflow<DrivenTask>>>)[binding] as Workflow<DrivenTask>;
}
