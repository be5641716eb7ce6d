/**
 * The calls that run in the background.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { CallToolResult } from "../../client/index.ts";
import { type ListedTask, listTasks, resumeTask } from "../../client/tasks/index.ts";
import { Blocks } from "../content/blocks.tsx";
import { Icon } from "../parts/icon.tsx";
import { toError } from "../state/calls.ts";
import { connected, status } from "../state/connection.ts";
import { addTask, type KnownTask, tasks } from "../state/tasks.ts";

export function TasksPanel(): JSX.Element {
  return (
    <article class="panel">
      <header class="heading">
        <h1>
          <Icon name="task" /> Tasks
        </h1>
        <p class="description">
          Calls that run in the background, made by this page. They go on when the page is closed.
        </p>
      </header>
      {tasks.value.length === 0 && (
        <p class="empty">No call of this page has become a task. Tools that run as tasks say so.</p>
      )}
      {tasks.value.map((known) => (
        <TaskView key={known.task.id} known={known} />
      ))}
      <ServerTasks />
    </article>
  );
}

const ICONS = { working: "wait", input_required: "ask", completed: "good", failed: "bad", cancelled: "stop" } as const;
const WORDS = {
  working: "Working",
  input_required: "Asks something",
  completed: "Completed",
  failed: "Failed",
  cancelled: "Cancelled",
} as const;

function TaskView({ known }: { readonly known: KnownTask }): JSX.Element {
  const { task, state } = known;
  const result = useSignal<CallToolResult | undefined>(undefined);
  const problem = useSignal("");
  const { status, statusMessage, lastUpdatedAt } = state.value;
  const isOver = status === "completed" || status === "failed" || status === "cancelled";
  const attempt = async (work: () => Promise<unknown>) => {
    problem.value = "";
    await work().catch((error: unknown) => {
      problem.value = toError(error).message;
    });
    state.value = task.state;
  };
  return (
    <section class="call" aria-label={`Task ${task.id}`}>
      <header>
        <h2 data-state={ICONS[status]}>
          <Icon name={ICONS[status]} /> {WORDS[status]}
        </h2>
        <code class="about">{task.id}</code>
      </header>
      {statusMessage && <p>{statusMessage}</p>}
      {lastUpdatedAt && <p class="about">changed at {new Date(lastUpdatedAt).toLocaleTimeString()}</p>}
      <div class="actions">
        <button type="button" onClick={() => void attempt(() => task.refresh())}>
          Ask for the state
        </button>
        <button
          type="button"
          onClick={() =>
            void attempt(async () => {
              result.value = await task.result();
            })
          }
        >
          {isOver ? "Result" : "Wait for the result"}
        </button>
        {!isOver && (
          <button type="button" onClick={() => void attempt(() => task.cancel())}>
            <Icon name="stop" /> Cancel
          </button>
        )}
      </div>
      {problem.value && <p class="mistake">{problem.value}</p>}
      {result.value && <Blocks content={result.value.content} />}
    </section>
  );
}

/** The list that servers of 2025-11-25 may have. */
function ServerTasks(): JSX.Element | null {
  const listed = useSignal<readonly ListedTask[] | undefined>(undefined);
  useEffect(() => {
    if (status.value.is !== "connected") return;
    listTasks(connected())
      .all()
      .then(
        (all) => {
          listed.value = all;
        },
        () => {
          listed.value = undefined;
        },
      );
  }, [status.value, tasks.value.length]);
  const unknown = listed.value?.filter(({ id }) => !tasks.value.some(({ task }) => task.id === id)) ?? [];
  if (unknown.length === 0) return null;
  const take = async (id: string) => addTask(await resumeTask(connected(), id));
  return (
    <section>
      <h2>Other tasks that the server lists</h2>
      <ul class="rows">
        {unknown.map(({ id, status }) => (
          <li key={id}>
            <code>{id}</code> {WORDS[status]}{" "}
            <button type="button" class="quiet" onClick={() => void take(id)}>
              Follow
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
