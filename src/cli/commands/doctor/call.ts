/**
 * The result of a call that the user has asked for.
 *
 * @module
 */
import { isObject } from "../../../core/protocol/jsonrpc.ts";
import { findOfResult, type ListedTool } from "../../host-profiles/find-limits.ts";
import type { Diagnosis } from "./diagnosis.ts";

const BASE = { step: "call", severity: "breaks", fault: "server" } as const;

/** The code of a JSON-RPC error about parameters. */
const INVALID_PARAMS = -32_602;

/** What a call returned, or why it failed. */
export interface CallOutcome {
  readonly result?: unknown;
  readonly failure?: string;
  /** The code of the JSON-RPC error. */
  readonly code?: unknown;
}

/** Adds why a call of a listed tool failed, or what hosts cut from its result. */
export function checkCall(
  name: string,
  tools: readonly ListedTool[],
  { result, failure, code }: CallOutcome,
  diagnosis: Diagnosis,
): void {
  diagnosis.isCallChecked = true;
  const tool = tools.find((each) => each.name === name);
  if (!tool) {
    const what = `There is no tool ${JSON.stringify(name)} in the list.`;
    diagnosis.add({ ...BASE, fault: "configuration", id: "tool-unknown", what, fix: "Check its spelling." });
    return;
  }
  if (failure !== undefined) {
    const isExpected = code === INVALID_PARAMS && requiresArguments(tool);
    diagnosis.add({
      ...BASE,
      severity: isExpected ? "note" : "breaks",
      id: "call-failed",
      what: `A call of ${name} without arguments fails${isExpected ? ", and the tool requires arguments" : ""}: ${failure}.`,
      fix: "Return a result with isError for wrong arguments.",
    });
    return;
  }
  for (const each of findOfResult(name, result)) diagnosis.add({ ...each, step: "call", fault: "host" });
}

function requiresArguments({ inputSchema }: ListedTool): boolean {
  return isObject(inputSchema) && Array.isArray(inputSchema.required) && inputSchema.required.length > 0;
}

/** Adds that a tool was not called, because an earlier step failed. */
export function addNotCalled(name: string, diagnosis: Diagnosis): void {
  diagnosis.add({
    ...BASE,
    severity: "note",
    id: "call-skipped",
    what: `${name} was not called, because the list of tools could not be read.`,
    fix: "Repair the findings of the earlier steps first.",
  });
}
