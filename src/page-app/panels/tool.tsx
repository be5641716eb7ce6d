/**
 * A tool: its description and hints, its form, and its calls.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { RequestOptions, Tool } from "../../client/index.ts";
import { startTask } from "../../client/tasks/index.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { JsonTree } from "../content/json-tree.tsx";
import { viewOf } from "../content/view-frame.tsx";
import { type FormState, formOf } from "../forms/form-state.ts";
import { SchemaForm } from "../forms/schema-form.tsx";
import { CheckOf } from "../parts/check.tsx";
import { Fold } from "../parts/fold.tsx";
import { PanelFrame } from "../parts/panel-frame.tsx";
import { call, calls } from "../state/calls.ts";
import { connected, status } from "../state/connection.ts";
import { settings } from "../state/settings.ts";
import { addTask } from "../state/tasks.ts";
import { CallList } from "./call-view.tsx";
import { confirmCall, mayDestroy } from "./confirm.tsx";

/** The idempotency keys of the last calls, by tool. */
const keys = new Map<string, string>();

export function ToolPanel({ tool }: { readonly tool: Tool }): JSX.Element {
  const asTask = useSignal(false);
  const again = useSignal(false);
  const { name, title, annotations, description, inputSchema } = tool;
  const key = `tool:${name}`;
  const form = formOf(key, inputSchema);
  const hasRun = calls.value.some((each) => each.key === key);
  const send = async () => {
    const { args } = form;
    if (!(await confirmCall(tool, args))) return;
    const last = keys.get(name);
    const idempotencyKey = again.value && last !== undefined ? last : crypto.randomUUID();
    keys.set(name, idempotencyKey);
    call(key, args, (context) =>
      make(tool, args, asTask.value, { ...context, ...(knowsKeys(tool) && { idempotencyKey }) }),
    );
  };
  return (
    <PanelFrame title={title ?? annotations?.title ?? name} tags={<Tags tool={tool} />} about={description}>
      <SchemaForm form={form} action="Call" onSend={() => void send()}>
        {canBeTask(tool) && <CheckOf of={asTask}>In the background, as a task</CheckOf>}
        {hasRun && knowsKeys(tool) && <CheckOf of={again}>With the last idempotency key</CheckOf>}
      </SchemaForm>
      <Sent form={form} tool={tool} />
      <CallList of={key} tool={tool} />
    </PanelFrame>
  );
}

async function make(tool: Tool, args: JsonObject, asTask: boolean, options: RequestOptions): Promise<JsonObject> {
  const client = connected();
  if (!asTask) return client.callTool(tool, args, options);
  const task = await startTask(client, tool, args, options);
  addTask(task);
  options.signal?.addEventListener("abort", () => void task.cancel().catch(() => undefined), { once: true });
  return task.result(options.signal && { signal: options.signal });
}

/** Returns whether the user can choose to run the call as a task. Since 2026-07-28, the server decides. */
function canBeTask({ execution }: Tool): boolean {
  const support = execution?.taskSupport;
  return settings.value.can.tasks && (support === "optional" || support === "required");
}

/** Returns whether the server recognizes repeated calls by their idempotency key. */
function knowsKeys({ annotations }: Tool): boolean {
  const { value } = status;
  return (
    annotations?.readOnlyHint !== true &&
    value.is === "connected" &&
    value.client.server.capabilities.experimental?.["mcp-edge/idempotencyKey"] !== undefined
  );
}

/** Shows the hints of a tool as tags. */
function Tags({ tool }: { readonly tool: Tool }): JSX.Element {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = tool.annotations ?? {};
  const tags = [
    readOnlyHint === true && "Read-only",
    mayDestroy(tool) && (destructiveHint === true ? "May delete or overwrite" : "Effects not declared"),
    readOnlyHint !== true && idempotentHint === true && "Repeatable",
    openWorldHint === true && "Uses external systems",
    tool.execution?.taskSupport === "required" && "Runs as a task",
    viewOf(tool._meta) !== undefined && "Has a view",
  ];
  return (
    <>
      <code>{tool.name}</code>
      {tags.map(
        (tag) =>
          tag && (
            <span class="tag" key={tag}>
              {tag}
            </span>
          ),
      )}
    </>
  );
}

/** Shows the arguments that would be sent, and the tool definition that a model receives. */
function Sent({ form, tool }: { readonly form: FormState; readonly tool: Tool }): JSX.Element {
  const definition = useMemo(() => {
    const { name, description, inputSchema } = tool;
    return { name, ...(description !== undefined && { description }), input_schema: inputSchema };
  }, [tool]);
  return (
    <div class="aside">
      <Fold title="Arguments to send">
        <JsonTree value={form.value.value} open={4} />
      </Fold>
      <Fold title="Definition for models">
        <JsonTree value={definition} />
      </Fold>
    </div>
  );
}
