/**
 * A form for a JSON Schema, with a JSON editor as an alternative.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { announce } from "../parts/announce.tsx";
import { Icon } from "../parts/icon.tsx";
import { Mistake } from "../parts/panel-frame.tsx";
import { Switch } from "../parts/switch.tsx";
import { FieldView } from "./field.tsx";
import type { FormState } from "./form-state.ts";

interface FormProps {
  readonly form: FormState;
  /** The text of the submit button. */
  readonly action: string;
  readonly onSend: () => void;
  /** Additional buttons. */
  readonly children?: ComponentChildren;
}

/** Sends the values if they fit the schema. Otherwise, shows the errors, and the user can still send the values. */
export function SchemaForm({ form, action, onSend, children }: FormProps): JSX.Element {
  const send = (isForced: boolean) => {
    const [first] = form.mistakes.value;
    if (first && !isForced) {
      form.showsMistakes.value = true;
      announce(doNotFit(form.mistakes.value.length));
      // The errors are rendered first, so that the focused field is described by its error.
      requestAnimationFrame(() => document.getElementById(form.idOf(first.path))?.focus());
      return;
    }
    form.showsMistakes.value = false;
    onSend();
  };
  return (
    <form
      class="schema"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send(false);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        send(false);
      }}
    >
      {form.mode.value === "json" ? <JsonText form={form} /> : <Fields form={form} />}
      <Mistakes form={form} onForce={() => send(true)} />
      <div class="actions">
        <button type="submit" class="main" aria-keyshortcuts="Control+Enter">
          <Icon name="run" /> {action}
        </button>
        {children}
        <Switch
          label="Fill in as"
          value={form.mode.value}
          options={[
            ["form", "Form"],
            ["json", "JSON"],
          ]}
          onChange={(mode) => form.setMode(mode)}
        />
      </div>
    </form>
  );
}

function Fields({ form }: { readonly form: FormState }): JSX.Element {
  const field = form.reader.read(form.schema);
  if (field.kind === "object" ? field.members.length === 0 : field.kind === "json")
    return <p class="empty">No arguments.</p>;
  return <FieldView form={form} schema={form.schema} path={[]} name="Arguments" isRequired />;
}

function JsonText({ form }: { readonly form: FormState }): JSX.Element {
  const problem = useSignal<string | undefined>(undefined);
  const id = `${form.id}-text`;
  return (
    <div class="field">
      <label for={id}>Arguments as JSON</label>
      <textarea
        id={id}
        class="code"
        rows={8}
        spellcheck={false}
        value={form.text.value}
        aria-invalid={problem.value !== undefined}
        onInput={({ currentTarget }) => {
          problem.value = form.takeText(currentTarget.value);
        }}
      />
      <Mistake text={problem.value} />
    </div>
  );
}

function Mistakes({ form, onForce }: { readonly form: FormState; readonly onForce: () => void }): JSX.Element | null {
  const { length } = form.mistakes.value;
  if (!form.showsMistakes.value || length === 0) return null;
  return (
    <div class="bar">
      <Mistake text={doNotFit(length)} />
      <button type="button" onClick={onForce}>
        Send anyway
      </button>
    </div>
  );
}

function doNotFit(mistakes: number): string {
  return mistakes === 1 ? "One value does not fit the schema." : `${mistakes} values do not fit the schema.`;
}
