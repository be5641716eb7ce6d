/**
 * `mcp-edge new`: asks for missing values, creates the project, and prints the next steps.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { basename, dirname, relative, resolve } from "node:path";
import { CliError, Exit, usageError } from "../../exit.ts";
import { listenForSignals } from "../../terminal/signals.ts";
import { createTerminal, type Terminal } from "../../terminal/terminal.ts";
import { packageVersion } from "../../version.ts";
import { checkFree, createFolder } from "./create.ts";
import { findNameProblem, nameFrom } from "./fill-in.ts";
import { runIn } from "./install.ts";
import type { NewOptions } from "./options.ts";
import { findTemplate, readTemplates, type Template } from "./templates.ts";
import { userNodeMajor } from "./user-node.ts";

/** The oldest major version of Node that wrangler supports. */
const WRANGLER_NODE_MIN = 22;

/** The project to create. */
interface Plan {
  readonly folder: string;
  readonly name: string;
  readonly template: Template;
  readonly packageSpec: string;
  readonly addsNode: boolean;
}

/** Runs the command and returns its exit code. */
export async function createProject(folder: string | undefined, options: NewOptions): Promise<number> {
  const terminal = createTerminal();
  const interruption = listenForSignals();
  const { signal } = interruption;
  try {
    const plan = await planProject(folder, options, terminal, signal);
    const problems: string[] = [];
    await createFolder(plan.folder, plan.template, plan, async (building) => {
      if (options.git) await startRepository(building, signal);
      if (!options.install) return;
      terminal.status("installing the dependencies with npm; this takes about a minute");
      const { isOk, output } = await runIn(building, "npm", ["install", "--no-audit", "--no-fund"], signal);
      if (!isOk) problems.push(`npm install failed:\n${output}`);
    });
    terminal.status(undefined);
    report(plan, options, problems, terminal);
    return problems.length === 0 ? Exit.ok : Exit.connection;
  } finally {
    terminal.status(undefined);
    interruption.stop();
  }
}

/** Checks the given values and asks for the missing ones, without changing anything. */
async function planProject(
  given: string | undefined,
  options: NewOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<Plan> {
  const templates = readTemplates();
  if (options.template !== undefined) findTemplate(options.template, templates);
  if (given !== undefined) checkFree(resolve(given));
  const folder = resolve(given ?? (await askFolder(terminal, signal)));
  const name = options.name ?? basename(folder);
  const problem = findNameProblem(name);
  if (problem !== undefined) {
    const other =
      options.name === undefined ? ` To keep the name of the folder, add: --name ${nameFrom(name) || "my-server"}` : "";
    throw usageError(problem + other);
  }
  const template = findTemplate(options.template ?? (await askTemplate(templates, terminal, signal)), templates);
  const packageSpec = toSpec(options.package, folder);
  const addsNode = userNodeMajor() < WRANGLER_NODE_MIN;
  return { folder, name, template, packageSpec, addsNode };
}

async function askFolder(terminal: Terminal, signal: AbortSignal): Promise<string> {
  if (!terminal.canAsk) throw usageError("Name the folder to create: mcp-edge new my-server --template weather");
  const { askText } = await import("../../terminal/ask.ts");
  const check = (text: string) => {
    try {
      checkFree(resolve(text));
    } catch (error) {
      return (error as Error).message;
    }
    return findNameProblem(basename(resolve(text)));
  };
  return (await askText("Which folder should be created?", signal, { initial: "my-server", check })) ?? refuse(signal);
}

async function askTemplate(templates: readonly Template[], terminal: Terminal, signal: AbortSignal): Promise<string> {
  if (!terminal.canAsk) {
    const names = templates.map(({ name }) => name).join(", ");
    throw usageError(`There is no terminal to ask in. Add --template with one of: ${names}`);
  }
  const { askChoice } = await import("../../terminal/ask.ts");
  const width = Math.max(...templates.map(({ name }) => name.length));
  const choices = templates.map(({ name, description }) => ({
    value: name,
    label: `${name.padEnd(width)}  ${description}`,
  }));
  return (await askChoice("Which template?", choices, signal)) ?? refuse(signal);
}

/** Ends the command after the user pressed Escape, or Ctrl-C, which aborts the signal. */
function refuse(signal: AbortSignal): never {
  signal.throwIfAborted();
  throw new CliError(Exit.cancelled, "Nothing was created.");
}

/** Returns the value for mcp-edge in package.json: a version, or the path of a file relative to the project. */
function toSpec(given: string | undefined, folder: string): string {
  if (given === undefined) return `^${packageVersion()}`;
  if (/^[\^~]?\d+\.\d+\.\d+[\w.+-]*$/.test(given) || /^[a-z][a-z0-9-]*$/.test(given)) return given;
  const file = resolve(given);
  if (!existsSync(file)) {
    throw usageError(
      `--package ${JSON.stringify(given)} is neither a version such as ${packageVersion()} nor a file that exists.`,
    );
  }
  return `file:${relative(folder, file).replaceAll("\\", "/")}`;
}

/** Creates a git repository, unless git is missing or the folder is already in a repository. A failure is ignored. */
async function startRepository(folder: string, signal: AbortSignal): Promise<void> {
  const inside = await runIn(dirname(folder), "git", ["rev-parse", "--is-inside-work-tree"], signal);
  if (!inside.isOk) await runIn(folder, "git", ["init", "--quiet"], signal);
}

function report(plan: Plan, { install }: NewOptions, problems: readonly string[], terminal: Terminal): void {
  const { err } = terminal;
  const where = relative(process.cwd(), plan.folder) || ".";
  for (const problem of problems) terminal.note(err.red(problem));
  const hint = problems.length > 0 && plan.packageSpec.startsWith("^") ? NOT_FOUND : "";
  if (hint !== "") terminal.note(hint);
  terminal.note(`Created ${err.bold(plan.name)} from the template ${plan.template.name}.`);
  if (plan.addsNode)
    terminal.note(`It includes Node 24, because wrangler requires Node ${WRANGLER_NODE_MIN} or newer.`);
  const needsInstall = !install || problems.length > 0;
  const steps: [string, string][] = [
    ...(where === "." ? [] : [[`cd ${where}`, ""] as [string, string]]),
    ...(needsInstall ? [["npm install", ""] as [string, string]] : []),
    ["npm start", "serves it at http://127.0.0.1:8787/mcp"],
    ["npm test", "runs its tests"],
    ["npx mcp-edge connect", "adds it to Claude Code, Cursor or another host"],
    ["npm run deploy", "deploys it to Cloudflare"],
  ];
  const width = Math.max(...steps.map(([command]) => command.length));
  const lines = steps.map(([command, what]) => `  ${command.padEnd(width)}  ${err.dim(what)}`.trimEnd());
  terminal.note(`\nNext:\n${lines.join("\n")}`);
}

const NOT_FOUND =
  "If mcp-edge is not in your npm registry, give the file created by npm pack: mcp-edge new ... --package mcp-edge.tgz";
