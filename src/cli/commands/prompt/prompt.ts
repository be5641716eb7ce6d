/**
 * `mcp-edge prompt`: finds a prompt, reads its arguments, and prints its messages.
 *
 * @module
 */
import type { Prompt } from "../../../client/index.ts";
import type { Argument } from "../../arguments/arguments.ts";
import { readArguments, showArguments } from "../../arguments/read-arguments.ts";
import { Exit, usageError } from "../../exit.ts";
import { didYouMean } from "../../names.ts";
import { withClient } from "../../server/connection.ts";
import { asWritten } from "../../server/target.ts";
import { withProgress } from "../../terminal/progress.ts";
import { handlersFor } from "../../terminal/questions.ts";
import { getParameters, printJson, printPrompt } from "../../terminal/show.ts";
import { oneLine } from "../../terminal/terminal.ts";
import type { PromptCommandOptions } from "./options.ts";

/** Runs the command and returns its exit code. */
export async function getPrompt(
  server: string,
  name: string | undefined,
  rest: readonly string[],
  options: PromptCommandOptions,
): Promise<number> {
  if (name === undefined)
    throw usageError(`Name a prompt. To list the prompts, run: mcp-edge list ${asWritten(server)} prompts`);
  if (name.startsWith("-")) throw usageError(`Write the prompt name before options such as ${name}.`);
  return withClient(server, options, handlersFor, async ({ client, terminal, signal }) => {
    const prompts = await client.prompts({ signal }).all();
    const prompt = prompts.find((each) => each.name === name);
    if (!prompt) {
      const names = prompts.map((each) => each.name);
      throw usageError(`The server has no prompt ${JSON.stringify(name)}.${didYouMean(name, names)}`);
    }
    const command = `prompt <server> ${name}`;
    const known = listPromptArguments(prompt);
    if (options.help) {
      showArguments(command, known, prompt.description, terminal);
      return Exit.ok;
    }
    const values = await readArguments({ command, known, rest, options }, terminal);
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

/** Returns the arguments of a prompt. All of them are strings. */
function listPromptArguments(prompt: Prompt): Argument[] {
  return getParameters(prompt).map(({ name, title, description, required }) => ({
    name,
    kind: "string",
    isList: false,
    isRequired: required === true,
    isNullable: false,
    description: oneLine(description ?? title ?? "", 300),
  }));
}
