/**
 * `inputRequired()` as authors import it. Loading this module installs the rounds that serve its values, so that
 * programs whose handlers never return questions do not bundle them (docs/decisions/006-questions-and-replay.md).
 *
 * @module
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import type { Question } from "../ask/questions.ts";
import { createInputRequired, type InputRequired } from "../define/input-required.ts";
import { createRounds } from "./create-rounds.ts";
import { installRounds } from "./run-rounds.ts";

/**
 * Ends this run of a handler with questions. The handler runs again with `ctx.inputResponses` (by the same keys) and
 * `ctx.requestState`; if a response is missing or invalid, return the question again.
 *
 * The same handler works in both eras: modern clients get an `input_required` result and repeat the request. Legacy
 * clients receive the questions on the stream of the pending request, and the server runs the handler again itself.
 *
 * @throws {KitError} `options-invalid` if there is neither a question nor a state.
 * @param requestState A string for the next run. It is sealed: clients can neither read nor change it, and it is valid
 *   only for the same request of the same principal.
 */
export function inputRequired(
  inputRequests: { readonly [key: string]: Question },
  requestState?: string,
): InputRequired {
  return createInputRequired(inputRequests, requestState);
}

installRounds(createRounds());
