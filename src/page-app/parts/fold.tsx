import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";

/** A collapsible section. Its children are only rendered while it is open. */
export function Fold({
  title,
  isOpen = false,
  children,
}: {
  readonly title: ComponentChildren;
  /** Opens the section. It stays open until the user closes it. */
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
