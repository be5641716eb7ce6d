import type { Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";

interface CheckProps {
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
  readonly children: ComponentChildren;
}

/** A checkbox for a signal. */
export function CheckOf({
  of,
  children,
}: {
  readonly of: Signal<boolean>;
  readonly children: ComponentChildren;
}): JSX.Element {
  const set = (isOn: boolean) => {
    of.value = isOn;
  };
  return (
    <Check isOn={of.value} onChange={set}>
      {children}
    </Check>
  );
}

/** A checkbox with its label. */
export function Check({ isOn, onChange, children }: CheckProps): JSX.Element {
  return (
    <label class="check">
      <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
      <span>{children}</span>
    </label>
  );
}
