import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { messageOf } from "../state/calls.ts";

/** What was read: a value, or the reason why there is none, or neither while it is read. */
export interface Loaded<T> {
  readonly value: T | undefined;
  readonly problem: string;
}

/** Reads something, and again whenever an input changes. What was read before stays in view meanwhile. */
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
