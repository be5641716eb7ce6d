import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";

/** A part that unfolds. What is in it is created when it is first opened. */
export function Fold({
  title,
  isOpen = false,
  children,
}: {
  readonly title: ComponentChildren;
  /** Opens it. It stays open until the person closes it. */
  readonly isOpen?: boolean;
  readonly children: ComponentChildren;
}): JSX.Element {
  const open = useSignal(isOpen);
  useEffect(() => {
    if (isOpen) open.value = true;
  }, [isOpen]);
  return (
    <details
      open={open.value}
      onToggle={({ currentTarget }) => {
        open.value = currentTarget.open;
      }}
    >
      <summary>{title}</summary>
      {open.value && children}
    </details>
  );
}
