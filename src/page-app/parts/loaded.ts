import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { messageOf } from "../state/calls.ts";

/** The state of a load: a value, an error message, or neither while it is pending. */
export interface Loaded<T> {
  readonly value: T | undefined;
  readonly problem: string;
}

/** Loads a value, and reloads it whenever an input changes. Until then, the previous value is returned. */
export function useLoaded<T>(load: () => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const loaded = useSignal<Loaded<T>>({ value: undefined, problem: "" });
  useEffect(() => {
    let isOld = false;
    const set = (next: Loaded<T>) => {
      if (!isOld) loaded.value = next;
    };
    load().then(
      (value) => set({ value, problem: "" }),
      (error: unknown) => set({ value: undefined, problem: messageOf(error) }),
    );
    return () => {
      isOld = true;
    };
  }, inputs);
  return loaded.value;
}
