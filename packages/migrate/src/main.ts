/**
 * The program: shows the difference, asks, writes, and reports. It is run by `mcp-edge migrate`.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { diff } from "./diff.ts";
import { FolderError, readProject, writeChanges } from "./files.ts";
import { hasChanges } from "./git.ts";
import { migrate, type Outcome, type TextFile } from "./migrate.ts";
import { reportLines } from "./report.ts";
import { clean, paintFor } from "./terminal.ts";

const HELP = `Usage: mcp-edge-migrate [options] [folder]

Rewrites MCP servers made with McpAgent, the official SDK or mcp-handler for mcp-edge.

  --write     write the changes without asking
  --force     write even if git has uncommitted changes
  --no-diff   show only the report
  --version   print the version
  --help      show this help
`;

/** Runs the program with the arguments of the command line. Returns the exit code: 0, 1 after an error, 2 for a wrong command line. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    return await runParsed(args);
  } catch (error) {
    const isUsage =
      error instanceof TypeError && String((error as NodeJS.ErrnoException).code).startsWith("ERR_PARSE_ARGS");
    if (!isUsage && !(error instanceof FolderError)) throw error;
    process.stderr.write(`mcp-edge migrate: ${clean(error.message)}\n`);
    return isUsage ? 2 : 1;
  }
}

async function runParsed(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      write: { type: "boolean" },
      force: { type: "boolean" },
      "no-diff": { type: "boolean" },
      version: { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help) return print(HELP);
  if (values.version) return print(`${readVersion()}\n`);
  if (positionals.length > 1) throw new FolderError("Name one folder.");
  const { folder, files, skipped } = readProject(positionals[0] ?? ".");
  const outcome = migrateFiles(files);
  show(outcome, skipped, values["no-diff"] !== true);
  if (outcome.changes.length === 0) {
    if (outcome.todos.length === 0) process.stdout.write("Nothing to migrate was found.\n");
    return 0;
  }
  if (!(await isConfirmed(values.write === true))) return 0;
  if (values.force !== true && hasChanges(folder) === true) {
    throw new FolderError(
      "Git has uncommitted changes in this folder, so nothing was written. Commit them first, or add --force.",
    );
  }
  writeChanges(folder, outcome.changes);
  process.stdout.write(`Written. Next: npm install, then search for TODO(mcp-edge).\n`);
  return 0;
}

function migrateFiles(files: readonly TextFile[]): Outcome {
  try {
    return migrate(files, readVersion());
  } catch (error) {
    // The type checker has exhausted the stack.
    if (error instanceof RangeError) throw new FolderError("A file is nested too deeply. Name a smaller folder.");
    throw error;
  }
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

function show(outcome: Outcome, unread: Outcome["skipped"], showsDiff: boolean): void {
  const paint = paintFor(process.stdout, process.env);
  const lines: string[] = [];
  for (const { path, before, after } of showsDiff ? outcome.changes : [])
    lines.push(paint.bold(path), diff(before, after, paint), "");
  lines.push(...reportLines(outcome, unread, paint));
  process.stdout.write(`${lines.join("\n")}\n`);
}

/** Asks in a terminal. Without one, changes are only shown. */
async function isConfirmed(isWritten: boolean): Promise<boolean> {
  if (isWritten) return true;
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    process.stdout.write("Nothing was written. Add --write to make the changes.\n");
    return false;
  }
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await lines.question("Make these changes? [y/N] ");
    if (/^y(es)?$/i.test(answer.trim())) return true;
    process.stdout.write("Nothing was written.\n");
    return false;
  } finally {
    lines.close();
  }
}

function readVersion(): string {
  const file = join(import.meta.dirname, "../package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
