/**
 * A prompt: its arguments with suggestions, and the resulting messages.
 *
 * @module
 */
import type { JSX } from "preact";
import type { Prompt, PromptParameter } from "../../client/index.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { formOf } from "../forms/form-state.ts";
import { SchemaForm } from "../forms/schema-form.tsx";
import { PanelFrame } from "../parts/panel-frame.tsx";
import { call } from "../state/calls.ts";
import { connected } from "../state/connection.ts";
import { CallList } from "./call-view.tsx";

/** Returns the schema of arguments that are strings. */
export function textSchema(parameters: readonly PromptParameter[]): JsonObject {
  const properties = parameters.map(({ name, required: _, ...about }) => [name, { type: "string", ...about }] as const);
  const required = parameters.filter((each) => each.required).map(({ name }) => name);
  return { type: "object", properties: Object.fromEntries(properties), required };
}

export function PromptPanel({ prompt }: { readonly prompt: Prompt }): JSX.Element {
  const { name, title, description, arguments: parameters = [] } = prompt;
  const key = `prompt:${name}`;
  const form = formOf(key, textSchema(parameters), { type: "ref/prompt", name });
  const send = () => {
    const args = form.args as Readonly<Record<string, string>>;
    call(key, args, ({ signal }) => connected().getPrompt(name, args, { signal }));
  };
  return (
    <PanelFrame title={title ?? name} tags={<code>{name}</code>} about={description}>
      <SchemaForm form={form} action="Get messages" onSend={send} />
      <CallList of={key} />
    </PanelFrame>
  );
}
