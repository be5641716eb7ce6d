/**
 * A tool: what it says about itself, its form, and what came of its calls.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Tool } from "../../client/index.ts";
import { startTask } from "../../client/tasks/index.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { JsonTree } from "../content/json-tree.tsx";
import { viewOf } from "../content/view-frame.tsx";
import { FormState } from "../forms/form-state.ts";
import { SchemaForm } from "../forms/schema-form.tsx";
import { type Call, call } from "../state/calls.ts";
import { connected, status } from "../state/connection.ts";
import { settings } from "../state/settings.ts";
import { addTask } from "../state/tasks.ts";
import { CallList } from "./call-view.tsx";
import { confirmCall, mayDestroy } from "./confirm.tsx";
import { Heading } from "./heading.tsx";

/** Forms keep what was filled in while the page shows something else. */
const forms = new Map<string, FormState>();

function formOf(tool: Tool): FormState {
  const known = forms.get(tool.name);
  if (known && JSON.stringify(known.schema) === JSON.stringify(tool.inputSchema)) return known;
  const made = new FormState(`tool-${tool.name}`, tool.inputSchema);
  forms.set(tool.name, made);
  return made;
}

export function ToolPanel({ tool }: { readonly tool: Tool }): JSX.Element {
  const form = formOf(tool);
  const asTask = useSignal(false);
  const key = `tool:${tool.name}`;
  const send = async () => {
    const { args } = form;
    if (await confirmCall(tool, args)) run(tool, args, key, asTask.value);
  };
  return (
    <article class="panel">
      <Heading
        icon="tool"
        title={tool.title ?? tool.annotations?.title}
        name={tool.name}
        description={tool.description}
        tags={tagsOf(tool)}
      />
      <SchemaForm form={form} action="Call" onSend={() => void send()}>
        {canBeTask(tool) && (
          <label class="check">
            <input
              type="checkbox"
              checked={asTask.value}
              onChange={({ currentTarget }) => {
                asTask.value = currentTarget.checked;
              }}
            />
            In the background, as a task
          </label>
        )}
      </SchemaForm>
      <Sent form={form} tool={tool} />
      <CallList of={key} show={(each) => ({ tool, ...each })} />
    </article>
  );
}

function run(tool: Tool, args: JsonObject, key: string, asTask: boolean): Call {
  return call(key, args, async ({ signal, onProgress }) => {
    const client = connected();
    if (!asTask) return client.callTool(tool, args, { signal, onProgress });
    const task = await startTask(client, tool, args, { onProgress });
    const known = addTask(task);
    signal.addEventListener("abort", () => void task.cancel().catch(() => undefined), { once: true });
    const result = await task.result({ signal });
    known.state.value = task.state;
    return result;
  });
}

/** Whether the person can choose to run the call as a task. Modern servers choose themselves. */
function canBeTask({ execution }: Tool): boolean {
  const { value } = status;
  if (!settings.value.can.tasks || value.is !== "connected") return false;
  const { capabilities } = value.client.server;
  return (
    execution?.taskSupport === "optional" || execution?.taskSupport === "required" || hasTasks(capabilities.extensions)
  );
}

function hasTasks(extensions: JsonObject | undefined): boolean {
  return extensions?.["io.modelcontextprotocol/tasks"] !== undefined;
}

/** What the tool says about itself, in words. */
function tagsOf(tool: Tool): string[] {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = tool.annotations ?? {};
  const tags = [
    readOnlyHint === true && "Read-only",
    mayDestroy(tool) && (destructiveHint === true ? "May delete or overwrite" : "Does not say what it changes"),
    readOnlyHint !== true && idempotentHint === true && "Repeatable",
    openWorldHint === true && "Reaches beyond the server",
    tool.execution?.taskSupport === "required" && "Runs as a task",
    viewOf(tool._meta) !== undefined && "Has a view",
  ];
  return tags.filter((tag) => tag !== false);
}

/** The arguments as they would be sent, and the tool as a model sees it. */
function Sent({ form, tool }: { readonly form: FormState; readonly tool: Tool }): JSX.Element {
  const definition = useMemo(() => {
    const { name, description, inputSchema } = tool;
    return { name, ...(description !== undefined && { description }), input_schema: inputSchema };
  }, [tool]);
  return (
    <div class="aside">
      <details>
        <summary>Arguments that are sent</summary>
        <JsonTree value={form.value.value} open={4} />
      </details>
      <details>
        <summary>What a model sees of this tool</summary>
        <JsonTree value={definition} open={2} />
      </details>
    </div>
  );
}
