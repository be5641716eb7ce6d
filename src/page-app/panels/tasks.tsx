/**
 * The background calls of this page.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { CallToolResult } from "../../client/index.ts";
import { Blocks } from "../content/blocks.tsx";
import { Icon } from "../parts/icon.tsx";
import { Mistake, PanelFrame } from "../parts/panel-frame.tsx";
import { clock } from "../parts/text.ts";
import { messageOf } from "../state/calls.ts";
import { type KnownTask, tasks, updateTasks } from "../state/tasks.ts";

/** The interval at which the displayed states are updated, in milliseconds. */
const UPDATE_MS = 500;

export function TasksPanel(): JSX.Element {
  useEffect(() => {
    updateTasks();
    const timer = setInterval(updateTasks, UPDATE_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <PanelFrame title="Tasks" about="Background calls of this page.">
      {tasks.value.length === 0 && <p class="empty">No tasks yet.</p>}
      {tasks.value.map((known) => (
        <TaskView key={known.task.id} known={known} />
      ))}
    </PanelFrame>
  );
}

const ICONS = { working: "wait", input_required: "ask", completed: "good", failed: "bad", cancelled: "stop" } as const;
const WORDS = {
  working: "Working",
  input_required: "Input required",
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
      problem.value = messageOf(error);
    });
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
      {lastUpdatedAt && <p class="about">changed at {clock(Date.parse(lastUpdatedAt)).slice(0, 8)}</p>}
      <div class="actions">
        <button type="button" onClick={() => void attempt(() => task.refresh())}>
          Refresh
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
      <Mistake text={problem.value} />
      {result.value && <Blocks content={result.value.content} />}
    </section>
  );
}
