/**
 * The fields of a form, which may contain other fields.
 *
 * @module
 */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { Control, type ControlProps, type FieldProps, Labelled, type LabelProps, Name, Notes } from "./control.tsx";
import type { Field, Variant } from "./schema.ts";
import { initialValue } from "./values.ts";

/** A labelled field of any kind. */
export function FieldView(props: FieldProps): JSX.Element {
  const { form, schema } = props;
  const field = form.reader.read(schema);
  switch (field.kind) {
    case "object":
      return <ObjectField {...props} field={field} />;
    case "list":
      return <ListField {...props} field={field} />;
    case "choices":
      return <ChoicesField {...props} field={field} />;
    case "variants":
      return <VariantsField {...props} field={field} />;
    default:
      return (
        <Labelled {...props} field={field}>
          <Control {...props} field={field} />
        </Labelled>
      );
  }
}

/** A group of fields. @param suffix Makes its id differ from the id of a field in it with the same path. */
function Group(props: LabelProps & { readonly suffix?: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <fieldset class="field group" id={props.form.idOf(props.path) + (props.suffix ?? "")} tabIndex={-1}>
      <legend>
        <Name {...props} />
      </legend>
      <Notes {...props} />
      {props.children}
    </fieldset>
  );
}

function ObjectField(props: ControlProps<"object">): JSX.Element {
  const { form, path, field } = props;
  const members = field.members.map(({ name, schema, isRequired }) => (
    <FieldView key={name} form={form} schema={schema} path={[...path, name]} name={name} isRequired={isRequired} />
  ));
  if (path.length === 0) return <>{members}</>;
  if (form.at(path) === undefined) {
    return (
      <Group {...props}>
        <button
          type="button"
          class="quiet"
          onClick={() => form.set(path, initialValue(form.reader, props.schema) ?? {})}
        >
          <Icon name="add" /> Add
        </button>
      </Group>
    );
  }
  return (
    <Group {...props}>
      {members}
      {!props.isRequired && (
        <button type="button" class="quiet" onClick={() => form.set(path, undefined)}>
          <Icon name="remove" /> Leave out
        </button>
      )}
    </Group>
  );
}

function ListField(props: ControlProps<"list">): JSX.Element {
  const { form, path, field } = props;
  const value = form.at(path);
  const items = Array.isArray(value) ? value : [];
  const add = () => {
    const item = initialValue(form.reader, field.item);
    form.set([...path, items.length], item ?? "");
  };
  return (
    <Group {...props}>
      {items.map((_, at) => (
        // Items have no identity other than their position.
        <div class="item" key={at}>
          <FieldView form={form} schema={field.item} path={[...path, at]} name={`${props.name} ${at + 1}`} isRequired />
          <button
            type="button"
            class="quiet"
            aria-label={`Remove ${props.name} ${at + 1}`}
            onClick={() => form.set([...path, at], undefined)}
          >
            <Icon name="remove" />
          </button>
        </div>
      ))}
      <button type="button" class="quiet" onClick={add}>
        <Icon name="add" /> Add {field.title ?? props.name}
      </button>
    </Group>
  );
}

function ChoicesField(props: ControlProps<"choices">): JSX.Element {
  const { form, path, field } = props;
  const value = form.at(path);
  const chosen = (Array.isArray(value) ? value : []).map((each) => JSON.stringify(each));
  const toggle = (text: string, isOn: boolean) => {
    // Keep the order of the schema.
    const next = field.choices
      .map((choice) => JSON.stringify(choice.value))
      .filter((each) => (each === text ? isOn : chosen.includes(each)));
    form.set(
      path,
      next.length === 0 && !props.isRequired ? undefined : next.map((each) => JSON.parse(each) as unknown),
    );
  };
  return (
    <Group {...props}>
      {field.choices.map(({ value, title }) => {
        const text = JSON.stringify(value);
        return (
          <label class="check" key={text}>
            <input
              type="checkbox"
              checked={chosen.includes(text)}
              onChange={({ currentTarget }) => toggle(text, currentTarget.checked)}
            />
            {title}
          </label>
        );
      })}
    </Group>
  );
}

function VariantsField(props: ControlProps<"variants">): JSX.Element {
  const { form, path, field } = props;
  const [at, setAt] = useState(() =>
    Math.max(
      0,
      field.variants.findIndex(({ schema }) => suits(form.at(path), form.reader.read(schema))),
    ),
  );
  const choose = (next: number) => {
    setAt(next);
    form.set(path, initialValue(form.reader, field.variants[next]?.schema, true));
  };
  const id = `${form.idOf(path)}-variant`;
  const variant = field.variants[at] as Variant;
  return (
    <Group {...props} suffix="-any">
      <label for={id}>Variant</label>
      <select id={id} value={String(at)} onChange={({ currentTarget }) => choose(Number(currentTarget.value))}>
        {field.variants.map(({ title }, index) => (
          <option key={index} value={String(index)}>
            {title}
          </option>
        ))}
      </select>
      <FieldView
        key={at}
        form={form}
        schema={variant.schema}
        path={path}
        name={props.name}
        isRequired={props.isRequired}
      />
    </Group>
  );
}

/** Returns whether a value has the type of a field. */
function suits(value: unknown, { kind }: Field): boolean {
  if (value === undefined) return false;
  if (kind === "object") return typeof value === "object" && !Array.isArray(value);
  if (kind === "list" || kind === "choices") return Array.isArray(value);
  return kind === "text" ? typeof value === "string" : kind === typeof value;
}
