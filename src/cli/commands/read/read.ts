/**
 * `mcp-edge read`, `mcp-edge prompt` and `mcp-edge complete`.
 *
 * @module
 */
import type { CompletionReference, Prompt } from "../../../client/index.ts";
import type { Argument } from "../../arguments/arguments.ts";
import { readArguments, showArguments } from "../../arguments/read-arguments.ts";
import { Exit, usageError } from "../../exit.ts";
import { didYouMean } from "../../names.ts";
import { withClient } from "../../server/connection.ts";
import type { ConnectionOptions } from "../../server/options.ts";
import { asWritten } from "../../server/target.ts";
import { withProgress } from "../../terminal/progress.ts";
import { handlersFor } from "../../terminal/questions.ts";
import { getParameters, printJson, printPrompt, printResource } from "../../terminal/show.ts";
import { oneLine } from "../../terminal/terminal.ts";
import type { CompleteOptions, PromptOptions } from "./options.ts";

/** Runs `read` and returns its exit code. */
export function readResource(server: string, uri: string, options: ConnectionOptions): Promise<number> {
  return withClient(server, options, handlersFor, async ({ client, terminal, signal }) => {
    const read = await withProgress(terminal, (onProgress) => client.readResource(uri, { signal, onProgress }));
    if (options.json) printJson(terminal, read);
    else printResource(terminal, read);
    return Exit.ok;
  });
}

/** Runs `prompt` and returns its exit code. */
export async function getPrompt(
  server: string,
  name: string | undefined,
  rest: readonly string[],
  options: PromptOptions,
): Promise<number> {
  if (name === undefined)
    throw usageError(`Name a prompt. This shows them: mcp-edge list ${asWritten(server)} prompts`);
  if (name.startsWith("-")) throw usageError(`Write the prompt name before options such as ${name}.`);
  return withClient(server, options, handlersFor, async ({ client, terminal, signal }) => {
    const prompts = await client.prompts({ signal }).all();
    const prompt = prompts.find((each) => each.name === name);
    if (!prompt) {
      const names = prompts.map((each) => each.name);
      throw usageError(`The server has no prompt ${JSON.stringify(name)}.${didYouMean(name, names)}`);
    }
    const of = `prompt <server> ${name}`;
    const known = argumentsOfPrompt(prompt);
    if (options.help) {
      showArguments(of, known, prompt.description, terminal);
      return Exit.ok;
    }
    const values = await readArguments({ of, known, rest, options }, terminal);
    const texts = Object.entries(values).map(([key, value]) => [
      key,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
    const args: Record<string, string> = Object.fromEntries(texts);
    const result = await withProgress(terminal, (onProgress) => client.getPrompt(name, args, { signal, onProgress }));
    if (options.json) printJson(terminal, result);
    else printPrompt(terminal, result);
    return Exit.ok;
  });
}

/** The arguments of a prompt are texts. */
function argumentsOfPrompt(prompt: Prompt): Argument[] {
  return getParameters(prompt).map(({ name, title, description, required }) => ({
    name,
    kind: "string",
    isList: false,
    isRequired: required === true,
    isNullable: false,
    description: oneLine(description ?? title ?? "", 300),
  }));
}

/** Runs `complete` and returns its exit code. */
export function completeArgument(
  server: string,
  what: string,
  argument: string,
  value: string,
  options: CompleteOptions,
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

/** @throws {CliError} if a text is not `name=value`. */
function splitPair(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw usageError(`--context ${JSON.stringify(text)}: write it as name=value.`);
  return [text.slice(0, at), text.slice(at + 1)];
}
