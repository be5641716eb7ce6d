/**
 * The value that a handler returns to ask the client.
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import type { Question } from "../ask/questions.ts";
import { KitError } from "../protocol/errors.ts";
import { isObject } from "../protocol/jsonrpc.ts";

/** Marks the value, so that another copy of the package recognises it. */
const ASKS: unique symbol = Symbol.for("mcp-edge.input-required");

/** The value that a handler returns to ask the client, as created by `inputRequired`. */
export interface InputRequired {
  /** Marks the value, so that another copy of the package recognises it. */
  readonly [ASKS]: true;
  /** The questions, by the keys under which their answers arrive. */
  readonly inputRequests: { readonly [key: string]: Question };
  /** The state that comes back with the answers, if there is one. The client sees it sealed. */
  readonly requestState: string | undefined;
}

/** Creates the value. @throws {KitError} `options-invalid` if there is neither a question nor a state. */
export function createInputRequired(
  inputRequests: { readonly [key: string]: Question },
  requestState?: string,
): InputRequired {
  if (Object.keys(inputRequests).length === 0 && requestState === undefined) {
    throw new KitError("options-invalid", "inputRequired({}) has neither a question nor a state; pass at least one.");
  }
  return { [ASKS]: true, inputRequests, requestState };
}

/** Whether a value was created by `inputRequired` of this or another copy of the package. */
export function isInputRequired(value: unknown): value is InputRequired {
  return isObject(value) && (value as { [ASKS]?: unknown })[ASKS] === true;
}
