/**
 * The result of a call that the user has asked for.
 *
 * @module
 */
import { findOfResult, type ListedTool } from "../../host-profiles/find-limits.ts";
import type { Diagnosis } from "./diagnosis.ts";

const BASE = { step: "call", severity: "breaks", fault: "server" } as const;

/** Adds why a call of a listed tool failed, or what hosts cut from its result. */
export function checkCall(
  name: string,
  tools: readonly ListedTool[],
  { result, failure }: { readonly result?: unknown; readonly failure?: string },
  diagnosis: Diagnosis,
): void {
  if (!tools.some((each) => each.name === name)) {
    const what = `There is no tool ${JSON.stringify(name)} in the list.`;
    diagnosis.add({ ...BASE, fault: "configuration", id: "tool-unknown", what, fix: "Check its spelling." });
    return;
  }
  if (failure !== undefined) {
    const what = `A call of ${name} without arguments fails: ${failure}.`;
    diagnosis.add({
      ...BASE,
      id: "call-failed",
      what,
      fix: "Return a result with isError for wrong arguments.",
    });
    return;
  }
  for (const each of findOfResult(name, result)) diagnosis.add({ ...each, step: "call", fault: "host" });
}
