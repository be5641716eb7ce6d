/**
 * Resolves `<server>` on the command line: a URL, a command, or a configured name.
 *
 * @module
 */
import { usageError } from "../exit.ts";
import type { ServerAddress } from "./server-address.ts";

/** The prefix of a `<server>` that was written as a command after `--`. The words of the command follow as JSON. */
export const COMMAND = "command:";

/**
 * Moves a command after `--` to the position of `<server>`, so that `call add --a 1 -- node server.js` is equivalent to
 * `call "node server.js" add --a 1`, and the arguments of the command need no quotes.
 */
export function moveCommand(args: readonly string[]): readonly string[] {
  const at = args.indexOf("--");
  if (at < 1) return args;
  const command = args.slice(at + 1);
  if (command.length === 0) throw usageError("Write the command of the server after --, such as: -- node server.js");
  const [name = "", ...rest] = args.slice(0, at);
  return [name, COMMAND + JSON.stringify(command), ...rest];
}

/** Returns `<server>` as it would be written on a command line, for the suggestion in an error. */
export function asWritten(server: string): string {
  if (!server.startsWith(COMMAND)) return server;
  return `"${(JSON.parse(server.slice(COMMAND.length)) as string[]).join(" ")}"`;
}

/**
 * Resolves `<server>` to an address.
 *
 * @param consent `yes`: whether to use a server from a project's file without asking.
 * @throws {CliError} if it is not a URL, a command or a configured name, or if the user refuses to use it.
 */
export async function readTarget(text: string, consent: { readonly yes?: boolean } = {}): Promise<ServerAddress> {
  if (isName(text)) {
    const { findConfigured } = await import("../hosts/find.ts");
    return findConfigured(text, consent.yes ?? false);
  }
  if (text.startsWith(COMMAND)) return toCommandTarget(JSON.parse(text.slice(COMMAND.length)) as string[]);
  if (/^https?:\/\//i.test(text)) return { kind: "http", url: checkedUrl(text) };
  return toCommandTarget(splitCommand(text));
}

/** Whether `<server>` has the form of a configured name. */
export function isName(text: string): boolean {
  return !text.startsWith(COMMAND) && !/^https?:\/\//i.test(text) && !/\s/.test(text.trim());
}

function checkedUrl(text: string): string {
  if (!URL.canParse(text)) throw usageError(`${JSON.stringify(text)} is not a URL.`);
  const { username, password } = new URL(text);
  if (username === "" && password === "") return text;
  throw usageError('A URL must not contain a password. Write --header "Authorization: Basic ..." instead.');
}

function toCommandTarget([command = "", ...args]: readonly string[]): ServerAddress {
  return { kind: "stdio", command, args };
}

/**
 * Splits a command into words as a POSIX shell does, with quotes and backslashes. No other character is special, because no shell
 * runs the command.
 *
 * @throws {CliError} if a quote is not closed.
 */
export function splitCommand(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] ?? "";
    const next = text[at + 1] ?? "";
    const isEscape = char === "\\" && quote !== "'" && (quote === '"' ? /["\\$`]/.test(next) : next !== "");
    if (isEscape) {
      word = (word ?? "") + next;
      at += 1;
    } else if (quote !== "") {
      if (char === quote) quote = "";
      else word = (word ?? "") + char;
    } else if (char === '"' || char === "'") {
      quote = char;
      word ??= "";
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + char;
  }
  if (quote !== "") throw usageError(`The command ${JSON.stringify(text)} has a quote that is not closed.`);
  return word === undefined ? words : [...words, word];
}

/** Returns the name of a server to show to the user: its command, or its URL without the query, which may contain secrets. */
export function findName(target: ServerAddress): string {
  if (target.kind === "stdio") return [target.command, ...target.args].join(" ");
  const { origin, pathname } = new URL(target.url);
  return origin + pathname;
}
