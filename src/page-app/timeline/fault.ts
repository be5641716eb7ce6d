import { useSignal } from "@preact/signals";
import type { FaultRequest } from "../../recorder/api.ts";
import { cause } from "../api/recorder-api.ts";
import { announce } from "../parts/announce.tsx";
import { messageOf } from "../state/calls.ts";

/** Returns a function that causes a fault, and what came of the last one, as a sentence. */
export function useFault(): readonly [run: (fault: FaultRequest) => Promise<void>, said: string] {
  const said = useSignal("");
  const run = async (fault: FaultRequest) => {
    said.value = await cause(fault).then(({ text }) => text, messageOf);
    announce(said.value);
  };
  return [run, said.value];
}
