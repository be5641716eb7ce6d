/**
 * Prompts in the terminal. They are written to standard error, so that standard output has data only. Every text of a prompt is
 * cleaned here, because the prompts write to the terminal themselves.
 *
 * @module
 */
import { confirm, isCancel, multiselect, select, text } from "@clack/prompts";
import { clean } from "./terminal.ts";

/** A choice of a list. */
export interface Choice<T> {
  readonly value: T;
  readonly label: string;
}

/** Further conditions for a text. */
export interface TextRules {
  readonly initial?: string | undefined;
  /** Returns what is wrong with a text, or undefined. */
  readonly check?: (text: string) => string | undefined;
}

/** Asks a question that is answered by yes or no; Escape means no. */
export async function askYesNo(message: string, signal: AbortSignal, initial = false): Promise<boolean> {
  return (
    (await ask<boolean>((common) => confirm({ message: clean(message), initialValue: initial, ...common }), signal)) ??
    false
  );
}

/** Asks for a text. Returns undefined after Escape. */
export function askText(
  message: string,
  signal: AbortSignal,
  { initial, check }: TextRules = {},
): Promise<string | undefined> {
  return ask<string>(
    (common) =>
      text({
        message: clean(message),
        ...(initial === undefined ? {} : { initialValue: clean(initial) }),
        validate: (value) => cleaned(check?.(value ?? "")),
        ...common,
      }),
    signal,
  );
}

/** Asks for one of several values. Returns undefined after Escape. */
export async function askChoice<T>(
  message: string,
  choices: readonly Choice<T>[],
  signal: AbortSignal,
  initial?: T,
): Promise<T | undefined> {
  const at = choices.findIndex(({ value }) => value === initial);
  const options = choices.map(({ label }, index) => ({ value: index, label: clean(label) }));
  const chosen = await ask<number>(
    (common) => select({ message: clean(message), options, ...(at < 0 ? {} : { initialValue: at }), ...common }),
    signal,
  );
  return chosen === undefined ? undefined : choices[chosen]?.value;
}

/** Asks for any number of values. Returns undefined after Escape. */
export async function askChoices<T>(
  message: string,
  choices: readonly Choice<T>[],
  signal: AbortSignal,
  { initial = [], isRequired = false }: { initial?: readonly T[]; isRequired?: boolean } = {},
): Promise<T[] | undefined> {
  const options = choices.map(({ label }, index) => ({ value: index, label: clean(label) }));
  const initialValues = choices.flatMap(({ value }, index) => (initial.includes(value) ? [index] : []));
  const chosen = await ask<number[]>(
    (common) => multiselect({ message: clean(message), options, initialValues, required: isRequired, ...common }),
    signal,
  );
  return chosen?.flatMap((index) => choices.slice(index, index + 1).map(({ value }) => value));
}

function cleaned(text: string | undefined): string | undefined {
  return text === undefined ? undefined : clean(text);
}

interface Common {
  readonly output: NodeJS.WriteStream;
  readonly signal: AbortSignal;
}

/**
 * Shows a prompt. Returns undefined after Escape. A terminal in raw mode sends Ctrl-C as a key, so it is turned back into
 * the signal that ends the program.
 */
async function ask<T>(prompt: (common: Common) => Promise<T | symbol>, signal: AbortSignal): Promise<T | undefined> {
  let isInterrupted = false;
  const onKey = (_: unknown, key: { readonly ctrl?: boolean; readonly name?: string } | undefined) => {
    isInterrupted ||= key?.ctrl === true && key.name === "c";
  };
  process.stdin.on("keypress", onKey);
  try {
    const answer = await prompt({ output: process.stderr, signal });
    if (!isCancel(answer)) return answer as T;
    if (isInterrupted) process.emit("SIGINT");
    return undefined;
  } finally {
    process.stdin.off("keypress", onKey);
  }
}
