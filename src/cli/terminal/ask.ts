/**
 * Prompts in the terminal. They are written to standard error, so that standard output contains only data. All text of a prompt is
 * cleaned here, because the prompt library writes to the terminal directly.
 *
 * @module
 */
import { confirm, isCancel, multiselect, select, text } from "@clack/prompts";
import { clean } from "./terminal.ts";

/** An entry of a list to choose from. */
export interface Choice<T> {
  readonly value: T;
  readonly label: string;
}

/** Options of a text prompt. */
export interface TextRules {
  readonly initial?: string | undefined;
  /** Returns what is wrong with the input, or undefined if it is valid. */
  readonly check?: (text: string) => string | undefined;
}

/** Asks a yes-or-no question. Escape means no. */
export async function askYesNo(message: string, signal: AbortSignal, initial = false): Promise<boolean> {
  return (
    (await ask<boolean>((common) => confirm({ message: clean(message), initialValue: initial, ...common }), signal)) ??
    false
  );
}

/** Asks for a line of text. Returns undefined if the user presses Escape. */
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

/** Asks the user to choose one of several values. Returns undefined if the user presses Escape. */
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

/** Asks the user to choose any number of values. Returns undefined if the user presses Escape. */
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
 * Shows a prompt. Returns undefined if the user presses Escape. In raw mode, a terminal reports Ctrl-C as a key, so this function
 * emits SIGINT for it.
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
