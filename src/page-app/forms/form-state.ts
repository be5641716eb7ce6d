/**
 * The state of one form.
 *
 * @module
 */
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { CompletionReference } from "../../client/index.ts";
import type { JsonObject } from "../../core/protocol/jsonrpc.ts";
import { check, type Mistake } from "./check.ts";
import { SchemaReader } from "./schema.ts";
import { initialValue, type Path, toArguments, valueAt, withValue } from "./values.ts";

/** The editors of a form. */
export type Mode = "form" | "json";

export class FormState {
  readonly reader: SchemaReader;
  readonly schema: JsonObject;
  /** The prefix of element ids in the form. */
  readonly id: string;
  readonly mode: Signal<Mode> = signal("form");
  readonly value: Signal<unknown>;
  /** The text of the JSON editor. */
  readonly text: Signal<string> = signal("");
  /** Whether errors are shown. They are hidden until the user tries to send the form. */
  readonly showsMistakes: Signal<boolean> = signal(false);
  readonly mistakes: ReadonlySignal<readonly Mistake[]>;
  readonly completes: CompletionReference | undefined;

  /** @param completes The prompt or template whose arguments the server completes. */
  constructor(id: string, schema: JsonObject, completes?: CompletionReference) {
    this.completes = completes;
    this.id = id;
    this.schema = schema;
    this.reader = new SchemaReader(schema);
    this.value = signal(initialValue(this.reader, schema) ?? {});
    this.mistakes = computed(() => check(this.reader, schema, this.value.value));
  }

  /** The arguments that would be sent. */
  get args(): JsonObject {
    return toArguments(this.value.value);
  }

  at(path: Path): unknown {
    return valueAt(this.value.value, path);
  }

  set(path: Path, value: unknown): void {
    this.value.value = withValue(this.value.value, path, value);
  }

  /** The id of the element for a value. */
  idOf(path: Path): string {
    return [this.id, ...path].join("-").replaceAll(/[^\w-]/g, "_");
  }

  /** Returns the error of a value, if errors are shown. */
  mistakeAt(path: Path): string | undefined {
    if (!this.showsMistakes.value) return undefined;
    return this.mistakes.value.find((mistake) => JSON.stringify(mistake.path) === JSON.stringify(path))?.text;
  }

  setMode(mode: Mode): void {
    if (mode === "json") this.text.value = JSON.stringify(this.value.value, null, 2);
    this.mode.value = mode;
  }

  /** Sets the text of the JSON editor. Returns its syntax error, if there is one. */
  takeText(text: string): string | undefined {
    this.text.value = text;
    try {
      this.value.value = JSON.parse(text) as unknown;
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }
}

/** The forms of the page. They keep their values while the page shows something else. */
const forms = new Map<string, FormState>();

/** Returns the form of a definition. Creates a new form if its schema has changed. */
export function formOf(id: string, schema: JsonObject, completes?: CompletionReference): FormState {
  const known = forms.get(id);
  if (known && JSON.stringify(known.schema) === JSON.stringify(schema)) return known;
  const made = new FormState(id, schema, completes);
  forms.set(id, made);
  return made;
}
