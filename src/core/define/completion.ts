/**
 * Completion of prompt arguments and template variables.
 *
 * @module
 * @see MCP 2026-07-28, server/utilities/completion
 */

import { quote } from "../basics/quote.ts";
import { invalidParams, KitError } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/jsonrpc.ts";
import type { HandlerContext } from "./handler-context.ts";

/** Suggests values. `chosen` has the other arguments, as far as the user has filled them in. */
export type Completer<Env = unknown> = (
  value: string,
  chosen: { readonly [name: string]: string },
  ctx: HandlerContext<Env>,
) => readonly string[] | Promise<readonly string[]>;

/** Completers by the name of the argument or variable. */
export type Completers<Env = unknown> = { readonly [name: string]: Completer<Env> };

/**
 * The maximum number of values in one result. @see `CompleteResult` in the schema
 * @limit count Values in one result of a completer. Additional values are left out, and `hasMore` is true.
 */
const VALUES_MAX = 100;

/** A parsed `completion/complete` request. */
export interface CompletionRequest {
  readonly ref:
    | { readonly type: "ref/prompt"; readonly name: string }
    | { readonly type: "ref/resource"; readonly uri: string };
  readonly name: string;
  readonly value: string;
  readonly chosen: { readonly [name: string]: string };
}

/** Parses the params of `completion/complete`. @throws {McpError} -32602 naming the field. */
export function readCompletionRequest(params: JsonObject | undefined): CompletionRequest {
  const { ref, argument, context } = params ?? {};
  if (!isObject(argument) || typeof argument.name !== "string" || typeof argument.value !== "string") {
    throw invalidParams("completion/complete: params.argument needs string name and value.", { field: "argument" });
  }
  const chosen = isObject(context) && isObject(context.arguments) ? context.arguments : {};
  for (const [name, value] of Object.entries(chosen)) {
    if (typeof value !== "string")
      throw invalidParams(`completion/complete: params.context.arguments[${quote(name)}] is not a string.`);
  }
  return {
    ref: readRef(ref),
    name: argument.name,
    value: argument.value,
    chosen: chosen as { [name: string]: string },
  };
}

function readRef(ref: unknown): CompletionRequest["ref"] {
  const { type, name, uri } = isObject(ref) ? ref : {};
  if (type === "ref/prompt" && typeof name === "string") return { type, name };
  if (type === "ref/resource" && typeof uri === "string") return { type, uri };
  throw invalidParams(
    'completion/complete: params.ref is neither a "ref/prompt" with name nor a "ref/resource" with uri.',
    { field: "ref" },
  );
}

/** Returns the result: at most 100 values, and the full count. An argument without a completer has no values. */
export async function complete(
  completers: Completers | undefined,
  { name, value, chosen }: CompletionRequest,
  ctx: HandlerContext,
): Promise<JsonObject> {
  const completer = completers && Object.hasOwn(completers, name) ? completers[name] : undefined;
  const values = completer ? await completer(value, chosen, ctx) : [];
  if (!Array.isArray(values) || values.some((suggestion) => typeof suggestion !== "string")) {
    throw new KitError("result-invalid", `The completer of "${name}" did not return a list of strings.`);
  }
  return {
    completion: { values: values.slice(0, VALUES_MAX), total: values.length, hasMore: values.length > VALUES_MAX },
  };
}
