import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { announce } from "./announce.tsx";
import { Icon } from "./icon.tsx";

/** How long the button shows its result, in milliseconds. */
const SHOWN_MS = 2_000;

/** A button that copies text. @param text The text, or a function that returns it. */
export function Copy({
  text,
  label = "Copy",
}: {
  readonly text: string | (() => string | Promise<string>);
  readonly label?: string;
}): JSX.Element {
  const status = useSignal("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
      status.value = "Copied";
    } catch (error) {
      status.value = (error as Error).message;
    }
    announce(status.value);
    setTimeout(() => {
      status.value = "";
    }, SHOWN_MS);
  };
  return (
    <button type="button" class="quiet" onClick={copy}>
      <Icon name={status.value === "Copied" ? "good" : "copy"} /> {status.value || label}
    </button>
  );
}
