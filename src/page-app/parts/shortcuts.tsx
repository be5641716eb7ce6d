/**
 * The keyboard shortcuts of the page, and the dialog that lists them.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { Dialog } from "./dialog.tsx";

const isShown = signal(false);

const SHORTCUTS: readonly (readonly [keys: string, meaning: string])[] = [
  ["/", "Search tools, prompts and resources"],
  ["c", "Go to the calls; select one with the arrow keys"],
  ["f", "Filter the calls"],
  ["m", "Go to the details"],
  ["Ctrl Enter", "Send the form"],
  ["Esc", "Close a dialog or list"],
  ["?", "Show these keys"],
];

export function showShortcuts(): void {
  isShown.value = true;
}

/** Listens to shortcuts, except in form controls. */
export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    const isWriting = target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
    if (isWriting || ctrlKey || metaKey || altKey) return;
    const act = ACTIONS[key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

const focus = (selector: string) => document.querySelector<HTMLElement>(selector)?.focus();

const ACTIONS: Readonly<Record<string, () => void>> = {
  "/": () => focus("#search"),
  c: () => focus(".entries"),
  f: () => focus("#filter"),
  m: () => focus("#open"),
  "?": showShortcuts,
};

export function Shortcuts(): JSX.Element | null {
  if (!isShown.value) return null;
  const close = () => {
    isShown.value = false;
  };
  return (
    <Dialog title="Keys" onClose={close}>
      <dl class="keys">
        {SHORTCUTS.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((each) => (
                <kbd key={each}>{each}</kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <div class="actions">
        <button type="button" class="main" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
