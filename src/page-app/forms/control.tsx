/**
 * The controls of a form for single values, with their labels and notes.
 *
 * @module
 */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { Mistake } from "../parts/panel-frame.tsx";
import { CompletedInput } from "./completed-input.tsx";
import type { FormState } from "./form-state.ts";
import type { Choice, Field } from "./schema.ts";
import type { Path } from "./values.ts";

/** The properties of all fields. */
export interface FieldProps {
  readonly form: FormState;
  readonly schema: unknown;
  readonly path: Path;
  /** The name of the member, or the number of the item. */
  readonly name: string;
  readonly isRequired: boolean;
}

export interface ControlProps<K extends Field["kind"]> extends FieldProps {
  readonly field: Extract<Field, { kind: K }>;
}

/** The part of a field that its label and its notes use. */
export type LabelProps = FieldProps & { readonly field: Pick<Field, "title" | "description"> };

type SimpleKind = Exclude<Field["kind"], "object" | "list" | "choices" | "variants">;

/** The control of a field with a single value. */
export function Control(props: ControlProps<SimpleKind>): JSX.Element {
  switch (props.field.kind) {
    case "text":
      return <TextControl {...props} field={props.field} />;
    case "number":
      return <NumberControl {...props} field={props.field} />;
    case "boolean":
      return <BooleanControl {...props} />;
    case "choice":
      return <ChoiceControl {...props} choices={props.field.choices} />;
    case "file":
      return <FileControl {...props} />;
    case "constant":
      return (
        <ChoiceControl
          {...props}
          choices={[{ value: props.field.preset, title: JSON.stringify(props.field.preset) }]}
        />
      );
    case "json":
      return <JsonControl {...props} />;
  }
}

/** Returns the attributes that connect a control to its label, its description and its error. */
function attributes({ form, path, field, isRequired }: LabelProps) {
  const id = form.idOf(path);
  const mistake = form.mistakeAt(path);
  const about = [field.description && `${id}-about`, mistake && `${id}-mistake`].filter(Boolean).join(" ");
  return {
    id,
    ...(about && { "aria-describedby": about }),
    ...(mistake && { "aria-invalid": true }),
    ...(isRequired && { "aria-required": true }),
  };
}

/** Shows the description of a field and its error. */
export function Notes({ form, path, field }: LabelProps): JSX.Element {
  const id = form.idOf(path);
  const mistake = form.mistakeAt(path);
  return (
    <>
      {field.description && (
        <p class="about" id={`${id}-about`}>
          {field.description}
        </p>
      )}
      <Mistake text={mistake} id={`${id}-mistake`} />
    </>
  );
}

/** Shows the title of a field, its name if it differs, and whether it is required. */
export function Name({ name, field, isRequired }: LabelProps): JSX.Element {
  return (
    <>
      {field.title ?? name}
      {field.title && field.title !== name && <code>{name}</code>}
      {isRequired && <small>required</small>}
    </>
  );
}

/** A field with its label above it. */
export function Labelled(props: LabelProps & { readonly children: ComponentChildren }): JSX.Element {
  return (
    <div class="field">
      <label for={props.form.idOf(props.path)}>
        <Name {...props} />
      </label>
      {props.children}
      <Notes {...props} />
    </div>
  );
}

function TextControl(props: ControlProps<"text">): JSX.Element {
  const { form, path, field } = props;
  const value = form.at(path);
  const shared = {
    ...attributes(props),
    value: typeof value === "string" ? value : "",
    onInput: (event: { currentTarget: { value: string } }) => form.set(path, event.currentTarget.value || undefined),
    spellcheck: false,
    autocomplete: "off",
  } as const;
  if (form.completes) return <CompletedInput form={form} path={path} shared={shared} />;
  // The types of Preact restrict the attributes for each type of input.
  return field.isLong ? <textarea rows={1} {...shared} /> : <input type={field.input as "text"} {...shared} />;
}

function NumberControl(props: ControlProps<"number">): JSX.Element {
  const { form, path, field } = props;
  const value = form.at(path);
  // Text that is not a number remains the value, so that it stays visible and can be sent.
  const take = (text: string) =>
    form.set(path, text.trim() === "" ? undefined : Number.isNaN(Number(text)) ? text : Number(text));
  const [text, setText] = useState(value === undefined ? "" : String(value));
  const isSame = (text.trim() === "" ? undefined : Number(text)) === value || text === value;
  return (
    <input
      type="text"
      inputMode={field.isInteger ? "numeric" : "decimal"}
      autocomplete="off"
      placeholder={rangeOf(field)}
      {...attributes(props)}
      value={isSame ? text : String(value ?? "")}
      onInput={({ currentTarget }) => {
        setText(currentTarget.value);
        take(currentTarget.value);
      }}
    />
  );
}

function rangeOf({ min, max }: Extract<Field, { kind: "number" }>): string {
  if (min !== undefined && max !== undefined) return `${min} to ${max}`;
  if (min !== undefined) return `${min} or more`;
  return max === undefined ? "" : `${max} or less`;
}

function BooleanControl(props: ControlProps<SimpleKind>): JSX.Element {
  const { form, path, isRequired } = props;
  const value = form.at(path);
  if (isRequired) {
    return (
      <input
        type="checkbox"
        {...attributes(props)}
        checked={value === true}
        onChange={({ currentTarget }) => form.set(path, currentTarget.checked)}
      />
    );
  }
  const choices = [
    { value: true, title: "true" },
    { value: false, title: "false" },
  ];
  return <ChoiceControl {...props} choices={choices} />;
}

function ChoiceControl(props: ControlProps<SimpleKind> & { readonly choices: readonly Choice[] }): JSX.Element {
  const { form, path, choices } = props;
  const at = choices.findIndex(({ value }) => JSON.stringify(value) === JSON.stringify(form.at(path)));
  return (
    <select
      {...attributes(props)}
      value={String(at)}
      onChange={({ currentTarget }) => form.set(path, choices[Number(currentTarget.value)]?.value)}
    >
      <option value="-1">{props.isRequired ? "Choose…" : "Not sent"}</option>
      {choices.map(({ title }, index) => (
        <option key={title} value={String(index)}>
          {title}
        </option>
      ))}
    </select>
  );
}

function FileControl(props: ControlProps<SimpleKind>): JSX.Element {
  const { form, path } = props;
  const value = form.at(path);
  const [name, setName] = useState("");
  const read = (file: File | undefined) => {
    if (!file) return;
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      // A data URL has the base64 after its comma.
      form.set(path, String(reader.result).replace(/^[^,]*,/, ""));
      setName(file.name);
    });
    reader.readAsDataURL(file);
  };
  return (
    <div class="file">
      <input type="file" {...attributes(props)} onChange={({ currentTarget }) => read(currentTarget.files?.[0])} />
      {typeof value === "string" && (
        <p class="about">
          {name} {value.length.toLocaleString("en")} characters of base64{" "}
          <button type="button" class="quiet" onClick={() => form.set(path, undefined)}>
            Remove
          </button>
        </p>
      )}
    </div>
  );
}

function JsonControl(props: ControlProps<SimpleKind>): JSX.Element {
  const { form, path } = props;
  const value = form.at(path);
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  const [isWrong, setWrong] = useState(false);
  const take = (changed: string) => {
    setText(changed);
    try {
      form.set(path, changed.trim() === "" ? undefined : (JSON.parse(changed) as unknown));
      setWrong(false);
    } catch {
      setWrong(true);
    }
  };
  const { "aria-invalid": isInvalid, ...rest } = attributes(props);
  return (
    <>
      <textarea
        class="code"
        rows={2}
        placeholder="JSON"
        spellcheck={false}
        {...rest}
        {...((isInvalid || isWrong) && { "aria-invalid": true })}
        value={text}
        onInput={({ currentTarget }) => take(currentTarget.value)}
      />
      <Mistake text={isWrong ? "Invalid JSON. The last valid JSON is used." : ""} />
    </>
  );
}
