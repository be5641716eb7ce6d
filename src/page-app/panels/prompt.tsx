/**
 * A prompt: its arguments with suggestions, and its messages.
 *
 * @module
 */
import { type Signal, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import type { Prompt, PromptParameter } from "../../client/index.ts";
import { CompletedInput } from "../forms/completed-input.tsx";
import { Icon } from "../parts/icon.tsx";
import { call } from "../state/calls.ts";
import { connected } from "../state/connection.ts";
import { CallList } from "./call-view.tsx";
import { Heading } from "./heading.tsx";

/** What was filled in, for each prompt or template. */
const filled = new Map<string, Signal<Readonly<Record<string, string>>>>();

/** Returns the values of a form of text fields. They stay while the page shows something else. */
export function valuesOf(key: string): Signal<Readonly<Record<string, string>>> {
  const known = filled.get(key) ?? signal({});
  filled.set(key, known);
  return known;
}

export function PromptPanel({ prompt }: { readonly prompt: Prompt }): JSX.Element {
  const { name, title, description, arguments: parameters = [] } = prompt;
  const key = `prompt:${name}`;
  const values = valuesOf(key);
  const send = () => {
    const given = Object.fromEntries(Object.entries(values.value).filter(([, value]) => value !== ""));
    call(key, given, ({ signal }) => connected().getPrompt(name, given, { signal }));
  };
  return (
    <article class="panel">
      <Heading icon="prompt" title={title} name={name} description={description} />
      <TextForm action="Get messages" onSend={send} isEmpty={parameters.length === 0}>
        {parameters.map((parameter) => (
          <Parameter
            key={parameter.name}
            id={key}
            values={values}
            parameter={parameter}
            reference={{ type: "ref/prompt", name }}
          />
        ))}
      </TextForm>
      <CallList of={key} show={(each) => each} />
    </article>
  );
}

/** A form of text fields. */
export function TextForm({
  action,
  onSend,
  isEmpty,
  children,
}: {
  readonly action: string;
  readonly onSend: () => void;
  readonly isEmpty: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <form
      class="schema"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      {isEmpty ? <p class="empty">No arguments.</p> : children}
      <div class="actions">
        <button type="submit" class="main" aria-keyshortcuts="Control+Enter">
          <Icon name="run" /> {action}
        </button>
      </div>
    </form>
  );
}

/** A text field that the server completes. */
export function Parameter({
  id,
  values,
  parameter,
  reference,
}: {
  readonly id: string;
  readonly values: Signal<Readonly<Record<string, string>>>;
  readonly parameter: PromptParameter;
  readonly reference: Parameters<typeof CompletedInput>[0]["reference"];
}): JSX.Element {
  const { name, title, description, required = false } = parameter;
  const own = `${id}-${name}`.replaceAll(/[^\w-]/g, "_");
  const { [name]: value = "", ...others } = values.value;
  return (
    <div class="field">
      <label for={own}>
        {title ?? name}
        {title && title !== name && <code>{name}</code>}
        {required && <small>required</small>}
      </label>
      <CompletedInput
        id={own}
        reference={reference}
        argument={name}
        value={value}
        others={others}
        isRequired={required}
        about={description && `${own}-about`}
        onChange={(changed) => {
          values.value = { ...values.value, [name]: changed };
        }}
      />
      {description && (
        <p class="about" id={`${own}-about`}>
          {description}
        </p>
      )}
    </div>
  );
}
