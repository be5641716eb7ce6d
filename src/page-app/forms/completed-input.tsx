/**
 * An input with suggestions of the server.
 *
 * @module
 */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { CompletionReference } from "../../client/index.ts";
import { connected, status } from "../state/connection.ts";

/** How long typing rests before the server is asked, in milliseconds. */
const REST_MS = 150;

interface Props {
  readonly id: string;
  readonly reference: CompletionReference;
  readonly argument: string;
  readonly value: string;
  /** The values of the other arguments. */
  readonly others: Readonly<Record<string, string>>;
  readonly isRequired: boolean;
  readonly about?: string | undefined;
  readonly onChange: (value: string) => void;
}

/** Arrow keys choose a suggestion, Enter takes it, and Escape closes the list. */
export function CompletedInput({
  id,
  reference,
  argument,
  value,
  others,
  isRequired,
  about,
  onChange,
}: Props): JSX.Element {
  const suggestions = useSignal<readonly string[]>([]);
  const chosen = useSignal(-1);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const close = () => {
    clearTimeout(timer.current);
    suggestions.value = [];
    chosen.value = -1;
  };
  const ask = (typed: string) => {
    clearTimeout(timer.current);
    if (!canComplete()) return;
    timer.current = setTimeout(async () => {
      const found = await connected()
        .complete(reference, argument, typed, { context: others })
        .catch(() => undefined);
      suggestions.value = found?.values ?? [];
      chosen.value = -1;
    }, REST_MS);
  };
  const take = (suggestion: string) => {
    onChange(suggestion);
    close();
  };
  const press = (event: KeyboardEvent) => {
    const { length } = suggestions.value;
    if (length === 0) return;
    if (event.key === "ArrowDown") chosen.value = (chosen.value + 1) % length;
    else if (event.key === "ArrowUp") chosen.value = (chosen.value - 1 + length) % length;
    else if (event.key === "Enter" && chosen.value >= 0) take(suggestions.value[chosen.value] as string);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  };
  const isOpen = suggestions.value.length > 0;
  return (
    <div class="completed">
      <input
        id={id}
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-required={isRequired}
        {...(about && { "aria-describedby": about })}
        {...(chosen.value >= 0 && { "aria-activedescendant": `${id}-${chosen.value}` })}
        value={value}
        onFocus={() => ask(value)}
        onBlur={close}
        onKeyDown={press}
        onInput={({ currentTarget }) => {
          onChange(currentTarget.value);
          ask(currentTarget.value);
        }}
      />
      <div class="suggestions" id={`${id}-list`} role="listbox" aria-label="Suggestions" hidden={!isOpen}>
        {suggestions.value.map((each, at) => (
          // The input keeps the focus, and its keys choose.
          // biome-ignore lint/a11y/useKeyWithClickEvents: see above
          // biome-ignore lint/a11y/useFocusableInteractive: see above
          <div
            key={each}
            id={`${id}-${at}`}
            role="option"
            aria-selected={at === chosen.value}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => take(each)}
          >
            {each}
          </div>
        ))}
      </div>
    </div>
  );
}

function canComplete(): boolean {
  const { value } = status;
  // Versions before 2025-03-26 have completion without a capability.
  return value.is === "connected" && value.client.server.capabilities.completions !== undefined;
}
