/**
 * Chooses the operations that become tools.
 *
 * @module
 */
import { CliError, Exit, usageError } from "../../../exit.ts";
import { TOOL_COUNTS } from "../../../host-profiles/limits.ts";
import { titleOf } from "../../../host-profiles/profiles.ts";
import { listenForSignals } from "../../../terminal/signals.ts";
import { counted, oneLine } from "../../../terminal/terminal.ts";
import type { OfferedTool } from "./generator.ts";
import type { OpenapiOptions } from "./options.ts";

/** The maximum number of operations in a prompt. If there are more, the user first chooses tags. */
const LISTED_MAX = 40;

/** The state to which the options refer. */
export interface Known {
  /** The operations that were chosen in the last run; undefined in the first run. */
  readonly before: readonly string[] | undefined;
  /** The name of the folder, which is the prefix of names of tools that are already taken. */
  readonly folder: string;
}

/** The circumstances in which operations are chosen. */
export interface Choice extends Known {
  readonly access: "service" | "user";
  readonly canAsk: boolean;
  /** Runs the checks that would otherwise fail only after the user has chosen. */
  readonly beforeAsking: () => Promise<void>;
}

/**
 * Chooses operations by the options, by the choice of the last run, or by asking the user.
 *
 * @throws {CliError} if nothing is chosen, the user cannot be asked, or an operation does not accept the access of users.
 */
export async function chooseTools(
  tools: readonly OfferedTool[],
  options: OpenapiOptions,
  choice: Choice,
): Promise<readonly OfferedTool[]> {
  const { access } = choice;
  const chosen = hasChoice(options) ? filterTools(tools, options, choice) : await chooseOtherwise(tools, choice);
  if (chosen.length === 0) throw usageError("No operation was chosen. Nothing was changed. List all: add --list");
  if (access === "user") refuseSecrets(chosen);
  const [max, hosts] = limitOf(chosen.length);
  if (hosts.length > 0 && options.force !== true) {
    throw usageError(
      `${chosen.length} tools are more than some hosts accept (${hosts.join(", ")}: ${max}), and each takes room in the context of the model. Choose fewer with --tag or --include, or add --force.`,
    );
  }
  return chosen;
}

/** Returns the smallest number of tools that hosts accept, and the hosts that do not accept a number. */
function limitOf(count: number): [max: number, hosts: string[]] {
  const exceeded = TOOL_COUNTS.filter(({ max }) => count > max);
  return [Math.min(...TOOL_COUNTS.map(({ max }) => max)), exceeded.flatMap(({ hosts }) => hosts.map(titleOf))];
}

/** The maximum number of operations listed in an error message. */
const NAMED_MAX = 5;

/** @throws {CliError} if tools would use a secret of the server, although each user should act with their own access. */
function refuseSecrets(tools: readonly OfferedTool[]): void {
  const found = tools.filter(({ needsSecret }) => needsSecret);
  if (found.length === 0) return;
  const named = found.slice(0, NAMED_MAX).map(({ name, id }) => `${name} (${oneLine(id, 80)})`);
  const more = found.length > NAMED_MAX ? ` and ${found.length - NAMED_MAX} more` : "";
  const [accept, them] = found.length === 1 ? ["does", "it"] : ["do", "them"];
  throw usageError(
    `${named.join(", ")}${more} ${accept} not accept the token of a user, and would use a secret that all users share. Nothing was changed. Leave ${them} out with --exclude, or take ${them} with --access service and another --name.`,
  );
}

/** Whether the options choose operations. */
export function hasChoice({ all, include, also, tag, exclude }: OpenapiOptions): boolean {
  return all === true || [include, also, tag, exclude].some((each) => each !== undefined && each.length > 0);
}

async function chooseOtherwise(
  tools: readonly OfferedTool[],
  { before, canAsk, access, beforeAsking }: Choice,
): Promise<readonly OfferedTool[]> {
  if (before !== undefined) return tools.filter(({ id }) => before.includes(id));
  if (canAsk) {
    await beforeAsking();
    const possible = access === "user" ? tools.filter(({ needsSecret }) => !needsSecret) : tools;
    if (possible.length === 0) refuseSecrets(tools);
    return ask(possible);
  }
  throw usageError(
    `The API has ${counted(tools.length, "operation")}, and there is no terminal to ask in. Choose with --tag, --include or --all; --list shows them.`,
  );
}

/**
 * Returns the tools that the options choose. A pattern matches the name of a tool, or its method and path; `*` stands for any text.
 *
 * @param known The previous choice: `--also` adds to it, and `--exclude` alone removes from it.
 * @throws {CliError} if there is no such tag.
 */
export function filterTools(
  tools: readonly OfferedTool[],
  options: OpenapiOptions,
  { before, folder }: Known,
): OfferedTool[] {
  const { include = [], also = [], exclude = [], tag = [], all = false } = options;
  checkTags(tools, tag);
  const prefix = `${folder.replaceAll("-", "_")}_`;
  const namesOf = ({ name, id }: OfferedTool) => [
    name,
    id,
    ...(name.startsWith(prefix) ? [name.slice(prefix.length)] : []),
  ];
  const matches = (tool: OfferedTool, patterns: readonly string[]) =>
    patterns.some((pattern) => namesOf(tool).some((each) => isMatch(each, pattern)));
  const names = include.length > 0 || tag.length > 0;
  const isBase = ({ id }: OfferedTool) => (before === undefined ? also.length === 0 : before.includes(id));
  return tools.filter((tool) => {
    const isNamed = tag.some((each) => tool.tags.some((own) => isMatch(own, each))) || matches(tool, include);
    const isTaken = all || (names ? isNamed : isBase(tool)) || matches(tool, also);
    return isTaken && !matches(tool, exclude);
  });
}

/** The maximum number of tags listed in an error message. */
const TAGS_MAX = 20;

function checkTags(tools: readonly OfferedTool[], wanted: readonly string[]): void {
  const tags = [...new Set(tools.flatMap((tool) => tool.tags))];
  const unknown = wanted.find((each) => !tags.some((tag) => isMatch(tag, each)));
  if (unknown === undefined) return;
  const named = tags.slice(0, TAGS_MAX).map((tag) => oneLine(tag, 60));
  const more = tags.length > TAGS_MAX ? `, and ${tags.length - TAGS_MAX} more` : "";
  throw usageError(
    `There is no tag ${JSON.stringify(oneLine(unknown, 100))}. Nothing was changed. Tags: ${named.join(", ")}${more}`,
  );
}

/** Whether a text matches a pattern, without regard to upper and lower case. */
function isMatch(text: string, pattern: string): boolean {
  const parts = pattern.toLowerCase().split(/\*+/);
  const lower = text.toLowerCase();
  if (parts.length === 1) return lower === parts[0];
  let at = 0;
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    const found = isLast ? Math.max(at, lower.length - part.length) : lower.indexOf(part, at);
    if (found < 0 || (index === 0 && found !== 0) || !lower.startsWith(part, found)) return false;
    at = found + part.length;
  }
  return true;
}

async function ask(tools: readonly OfferedTool[]): Promise<readonly OfferedTool[]> {
  const interruption = listenForSignals();
  try {
    const { askChoices } = await import("../../../terminal/ask.ts");
    const { signal } = interruption;
    const choose = async <T>(question: string, choices: readonly { value: T; label: string }[]): Promise<T[]> => {
      const chosen = await askChoices(question, choices, signal, { isRequired: true });
      signal.throwIfAborted();
      if (chosen === undefined) throw new CliError(Exit.cancelled, "Nothing was changed.");
      return chosen;
    };
    let offered = tools;
    if (tools.length > LISTED_MAX) {
      const tags = [...new Set(tools.map(({ tag }) => tag))];
      const choices = tags.map((tag) => ({ value: tag, label: labelOfTag(tag, tools) }));
      const wanted = await choose("Which parts of the API?", choices);
      offered = tools.filter(({ tag }) => wanted.includes(tag));
    }
    const choices = offered.map((tool) => ({ value: tool, label: labelOf(tool) }));
    const question = "Which operations? (the size is what each adds to the list of tools)";
    return await choose(question, choices);
  } finally {
    interruption.stop();
  }
}

function labelOfTag(tag: string, tools: readonly OfferedTool[]): string {
  const own = tools.filter((each) => each.tag === tag);
  return `${oneLine(tag, 60)} (${counted(own.length, "operation")}, ${bytes(own.reduce((sum, each) => sum + each.bytes, 0))})`;
}

/** Describes a tool on one line. */
export function labelOf({ name, id, bytes: size }: OfferedTool): string {
  return `${name} (${oneLine(id, 80)}, ${bytes(size)})`;
}

function bytes(count: number): string {
  return `${count.toLocaleString("en")} bytes`;
}
