/**
 * What screen readers say without the focus moving.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { JSX } from "preact";

const text = signal("");

/** Lets screen readers say a sentence. */
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
