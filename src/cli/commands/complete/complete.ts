/**
 * `mcp-edge complete`: prints the values that a server suggests for an argument.
 *
 * @module
 */
import type { CompletionReference } from "../../../client/index.ts";
import { Exit, usageError } from "../../exit.ts";
import { withClient } from "../../server/connection.ts";
import { handlersFor } from "../../terminal/questions.ts";
import { printJson } from "../../terminal/show.ts";
import { oneLine } from "../../terminal/terminal.ts";
import type { CompleteCommandOptions } from "./options.ts";

/** Runs the command and returns its exit code. */
export function completeArgument(
  server: string,
  what: string,
  argument: string,
  value: string,
  options: CompleteCommandOptions,
): Promise<number> {
  // The name of a prompt has neither a scheme nor a variable.
  const isTemplate = /^[a-z][a-z\d+.-]*:|\{/i.test(what);
  const reference: CompletionReference = isTemplate
    ? { type: "ref/resource", uri: what }
    : { type: "ref/prompt", name: what };
  return withClient(server, options, handlersFor, async ({ client, terminal, signal }) => {
    const more = options.context ? { context: Object.fromEntries(options.context.map(splitPair)) } : {};
    const completion = await client.complete(reference, argument, value, { signal, ...more });
    if (options.json) printJson(terminal, completion);
    else for (const each of completion.values) terminal.print(oneLine(each, 1_000));
    if (completion.hasMore && !options.json) terminal.note("There are more values.");
    return Exit.ok;
  });
}

/** @throws {CliError} if the text is not `name=value`. */
function splitPair(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw usageError(`--context ${JSON.stringify(text)}: write it as name=value.`);
  return [text.slice(0, at), text.slice(at + 1)];
}
