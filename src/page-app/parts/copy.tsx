import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { announce } from "./announce.tsx";
import { Icon } from "./icon.tsx";

/** How long the button says that it has copied, in milliseconds. */
const SAID_MS = 2_000;

/** A button that copies text. @param text The text, or a function that gets it. */
export function Copy({
  text,
  label = "Copy",
}: {
  readonly text: string | (() => string | Promise<string>);
  readonly label?: string;
}): JSX.Element {
  const said = useSignal("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
      said.value = "Copied";
    } catch (error) {
      said.value = (error as Error).message;
    }
    announce(said.value);
    setTimeout(() => {
      said.value = "";
    }, SAID_MS);
  };
  return (
    <button type="button" class="quiet" onClick={copy}>
      <Icon name={said.value === "Copied" ? "good" : "copy"} /> {said.value || label}
    </button>
  );
}
