/**
 * The live region for screen readers.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { JSX } from "preact";

const text = signal("");

/** Announces a sentence to screen readers, without moving the focus. */
export function announce(sentence: string): void {
  text.value = sentence;
}

export function Announcer(): JSX.Element {
  return (
    <p class="heard" role="status">
      {text}
    </p>
  );
}
