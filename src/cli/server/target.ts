/**
 * What `<server>` on the command line means: a URL, a command, or a configured name.
 *
 * @module
 */
import { usageError } from "../exit.ts";
import type { ServerAddress } from "./server-address.ts";

/** Marks a `<server>` that was written as a command after `--`, as JSON. */
export const COMMAND = "command:";

/**
 * Moves a command after `--` to the place of `<server>`, so that `call add --a 1 -- node server.js` reads like
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

/** Returns `<server>` as the user has written it, for a command line that an error proposes. */
export function asWritten(server: string): string {
  if (!server.startsWith(COMMAND)) return server;
  return `"${(JSON.parse(server.slice(COMMAND.length)) as string[]).join(" ")}"`;
}

/**
 * Reads `<server>`.
 *
 * @param consent Whether a server of a project's file is used without asking.
 * @throws {CliError} if it is none of the three, or if the user does not agree to it.
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

/** Whether `<server>` is the name under which a host has it. */
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
 * Splits a command as a POSIX shell does, with quotes and backslashes. Nothing else has a meaning, because no shell runs it.
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

/** Describes a target in one line, without its arguments' values, which may be secrets. */
export function findName(target: ServerAddress): string {
  if (target.kind === "stdio") return [target.command, ...target.args].join(" ");
  const { origin, pathname } = new URL(target.url);
  return origin + pathname;
}
