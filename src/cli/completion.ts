/**
 * Shell completion: the scripts, and the words that they request.
 *
 * @module
 */
import type { Command, Option } from "commander";
import { COMPLETE } from "./command.ts";

/** The completion scripts. Each passes the words up to the cursor, without the name of the program. */
export const SCRIPTS = {
  bash: `_mcp_edge() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$(printf %q "$word")")
  done < <(mcp-edge ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _mcp_edge mcp-edge
`,
  zsh: `_mcp_edge() {
  local -a found
  found=("\${(@f)$(mcp-edge ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _mcp_edge mcp-edge
`,
  fish: `function __mcp_edge_complete
  set -l words (commandline -opc) (commandline -ct)
  mcp-edge ${COMPLETE} $words[2..-1] 2>/dev/null
end
complete -c mcp-edge -a '(__mcp_edge_complete)'
`,
} as const;

/** Returns the words that can complete the last word, which may be empty. Does not contact a server. */
export async function listCompletions(
  program: Command,
  words: readonly string[],
  takesServer: (command: string) => boolean,
): Promise<string[]> {
  const [name = "", ...rest] = words;
  const last = words.at(-1) ?? "";
  const fits = (all: readonly string[]) => all.filter((each) => each.startsWith(last)).sort();
  if (words.length <= 1) return fits([...program.commands.map((each) => each.name()), ...listFlags(program)]);
  const command = program.commands.find((each) => each.name() === name);
  // What follows -- is the command of a server.
  if (!command || rest.slice(0, -1).includes("--")) return [];
  const before = optionNamed(command, rest.at(-2));
  if (before?.required) return fits(before.argChoices ?? []);
  if (last.startsWith("-")) return fits(listFlags(command));
  const index = countPositionals(command, rest.slice(0, -1));
  const argument = command.registeredArguments[index];
  if (argument?.argChoices) return fits(argument.argChoices);
  if (index !== 0 || !takesServer(name)) return [];
  const { configuredNames } = await import("./hosts/find.ts");
  return fits((await configuredNames()).filter(isHarmless));
}

/**
 * Whether a name is safe to insert into a command line. A name from a project's file is untrusted: it could contain shell code, or
 * look like an option.
 */
function isHarmless(name: string): boolean {
  return /^[A-Za-z0-9_@][A-Za-z0-9_.:@-]*$/.test(name);
}

function listFlags(command: Command): string[] {
  const own = command.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []));
  return [...new Set([...own, "--help"])];
}

function optionNamed(command: Command, flag: string | undefined): Option | undefined {
  return command.options.find(({ short, long }) => flag !== undefined && (flag === short || flag === long));
}

/** Counts the words that are neither options nor their values. */
function countPositionals(command: Command, words: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    if (!word.startsWith("-")) count += 1;
    else if (optionNamed(command, word)?.required) at += 1;
  }
  return count;
}
