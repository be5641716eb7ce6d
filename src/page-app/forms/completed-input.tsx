/**
 * An input with suggestions from the server.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { InputHTMLAttributes, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { connected } from "../state/connection.ts";
import type { FormState } from "./form-state.ts";
import type { Path } from "./values.ts";

/** How long to wait after the last keystroke before requesting suggestions, in milliseconds. */
const REST_MS = 150;

interface Props {
  readonly form: FormState;
  readonly path: Path;
  /** The attributes that all inputs share. */
  readonly shared: InputHTMLAttributes<HTMLInputElement>;
}

/** Shows the suggestions of the server as buttons under the input. A `<datalist>` would filter and reorder them. */
export function CompletedInput({ form, path, shared }: Props): JSX.Element {
  const suggestions = useSignal<readonly string[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const ask = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(async () => {
      const { completes, args } = form;
      const { [String(path[0])]: typed = "", ...context } = args as Readonly<Record<string, string>>;
      if (!completes) return;
      const found = await connected()
        .complete(completes, String(path[0]), typed, { context })
        .catch(() => undefined);
      suggestions.value = found?.values ?? [];
    }, REST_MS);
  };
  return (
    <>
      <input type="text" {...(shared as object)} onFocus={ask} onKeyUp={ask} />
      {suggestions.value.length > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend in sight.
        <div class="tags" role="group" aria-label="Suggestions">
          {suggestions.value.map((each) => (
            <button
              type="button"
              class="tag"
              key={each}
              onClick={() => {
                form.set(path, each);
                suggestions.value = [];
              }}
            >
              {each}
            </button>
          ))}
        </div>
      )}
    </>
  );
}
