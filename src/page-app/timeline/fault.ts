import { useSignal } from "@preact/signals";
import type { FaultRequest } from "../../recorder/api.ts";
import { cause } from "../api/recorder-api.ts";
import { announce } from "../parts/announce.tsx";
import { messageOf } from "../state/calls.ts";

/** Returns a function that injects a fault, and a sentence with the result of the last fault. */
export function useFault(): readonly [run: (fault: FaultRequest) => Promise<void>, result: string] {
  const result = useSignal("");
  const run = async (fault: FaultRequest) => {
    result.value = await cause(fault).then(({ text }) => text, messageOf);
    announce(result.value);
  };
  return [run, result.value];
}
