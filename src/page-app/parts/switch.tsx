import type { JSX } from "preact";

/** A segmented control: exactly one option is selected. */
export function Switch<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [value: T, text: string])[];
  readonly onChange: (value: T) => void;
}): JSX.Element {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend in sight.
    <div class="switch" role="group" aria-label={label}>
      {options.map(([each, text]) => (
        <button type="button" key={each} aria-pressed={each === value} onClick={() => onChange(each)}>
          {text}
        </button>
      ))}
    </div>
  );
}
