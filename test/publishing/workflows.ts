/** Reads the workflows of GitHub with GitHub's own parser, and checks the rules of this repository for them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { parse } from "yaml";

const FOLDER = join(import.meta.dirname, "../../.github/workflows");

/** A step of a job, as far as the rules read it. */
interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly "timeout-minutes"?: number;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps?: readonly Step[];
}
interface Workflow {
  readonly permissions?: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

/** The part of GitHub's parser that is used here. */
interface Parser {
  parseWorkflow(
    file: { readonly name: string; readonly content: string },
    trace: object,
  ): {
    readonly context: unknown;
    readonly value?: unknown;
  };
  convertWorkflowTemplate(
    context: unknown,
    value: unknown,
  ): Promise<{ readonly errors?: readonly { readonly Message: string }[] }>;
  readonly NoOperationTraceWriter: new () => object;
}

/** The workflows, by the name of their file. */
export function readWorkflows(): Record<string, string> {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".yml"));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(FOLDER, name), "utf8")]));
}

/** Loads GitHub's parser. It imports JSON in a way that only bundlers accept. */
export async function loadParser(): Promise<Parser> {
  const entry = fileURLToPath(import.meta.resolve("@actions/workflow-parser"));
  const bundled = await build({ entryPoints: [entry], bundle: true, format: "esm", platform: "browser", write: false });
  const code = bundled.outputFiles[0]?.text ?? "";
  return (await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`)) as Parser;
}

/** Returns the errors that GitHub would show for a workflow. */
export async function errorsOf(parser: Parser, name: string, content: string): Promise<string[]> {
  const { context, value } = parser.parseWorkflow({ name, content }, new parser.NoOperationTraceWriter());
  if (value === undefined) return ["It cannot be parsed."];
  const { errors = [] } = await parser.convertWorkflowTemplate(context, value);
  return errors.map(({ Message }) => Message);
}

/** Returns what breaks the rules: pinned actions, minimal permissions, time limits, and no value of a stranger in a command. */
export function breachesOf(content: string): string[] {
  const workflow = parse(content) as Workflow;
  const found: string[] = [];
  if (JSON.stringify(workflow.permissions) !== '{"contents":"read"}') {
    found.push("The workflow must have permissions of contents: read, and jobs only what they need beyond it.");
  }
  for (const [name, job] of Object.entries(workflow.jobs)) {
    if (job["timeout-minutes"] === undefined) found.push(`${name}: timeout-minutes is missing.`);
    if (job.permissions?.["id-token"] === "write" && job.steps?.some(({ run = "" }) => /\bnp[mx] |\.ci\//.test(run))) {
      found.push(`${name}: a job that may publish must not install packages or run their code.`);
    }
    for (const step of job.steps ?? []) found.push(...breachesOfStep(step).map((text) => `${name}: ${text}`));
  }
  for (const [line] of content.matchAll(/^.*\bwrite\b.*$/gm)) {
    if (/^\s+[\w-]+: write\s*$/.test(line) && !/^\s+issues: write$/.test(line)) {
      found.push(`"${line.trim()}" needs a comment with its reason.`);
    }
  }
  for (const [, comment] of content.matchAll(/uses: \S+@[0-9a-f]{40}(.*)$/gm)) {
    if (!/^ # v\d+\.\d+\.\d+$/.test(comment ?? "")) found.push("A pinned action needs its version as a comment.");
  }
  return found;
}

function breachesOfStep({ uses, run, with: inputs }: Step): string[] {
  const found: string[] = [];
  if (uses !== undefined && !/^[\w.-]+(\/[\w.-]+)+@[0-9a-f]{40}$/.test(uses)) {
    found.push(`${uses} is not pinned to a commit.`);
  }
  if (uses?.startsWith("actions/checkout@") && inputs?.["persist-credentials"] !== false) {
    found.push("checkout must not keep its credentials.");
  }
  // An expression in a command is text that the shell interprets. Values reach a command as environment variables.
  if (run?.includes("${{")) found.push(`an expression in a command: ${run}`);
  return found;
}
