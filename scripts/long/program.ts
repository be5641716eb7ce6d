/**
 * The long checks and counts. Each is a file of this folder that describes itself; its action imports what it needs, so that `--help`
 * stays fast, and sets `process.exitCode` to 1 when it has found something.
 */
import { Command, CommanderError } from "commander";
import { chaos } from "./chaos.ts";
import { chaosDeploys } from "./chaos-deploys.ts";
import { chaosTasks } from "./chaos-tasks.ts";
import { companies } from "./companies.ts";
import { cost } from "./cost.ts";
import { fuzz } from "./fuzz.ts";
import { migrateServers } from "./migrate.ts";
import { mutate } from "./mutate.ts";
import { openapi } from "./openapi.ts";
import { recorderCost } from "./recorder-cost.ts";
import { refreshes } from "./refreshes.ts";
import { replay } from "./replay.ts";
import { scale } from "./scale.ts";
import { soak } from "./soak.ts";
import { tenants } from "./tenants.ts";

const CHECKS: readonly ((command: (name: string) => Command) => unknown)[] = [
  chaos,
  chaosDeploys,
  chaosTasks,
  fuzz,
  replay,
  refreshes,
  tenants,
  companies,
  soak,
  scale,
  cost,
  recorderCost,
  mutate,
  migrateServers,
  openapi,
];

/** Runs a check with the arguments of the command line, and returns the exit code: 1 for a finding, 2 for a wrong command line. */
export async function runLong(
  args: readonly string[],
  write: (text: string) => unknown = (text) => process.stdout.write(text),
): Promise<number> {
  const program = new Command("npm run long --")
    .description("Runs one of the checks and counts that take long.")
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: write,
      writeErr: write,
      // The line is wide enough that no entry of the help is wrapped.
      getOutHelpWidth: () => 160,
      getErrHelpWidth: () => 160,
      outputError: (text) => write(sentence(text)),
    });
  for (const describe of CHECKS) describe((name) => program.command(name).copyInheritedSettings(program));
  try {
    await program.parseAsync(args.length > 0 ? [...args] : ["--help"], { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
}

/** Converts an error of the parser to one sentence. It may consist of two sentences, with a suggestion on a separate line. */
function sentence(error: string): string {
  const [, problem = error, suggestion] = /^error: (.*?)\.?\n(?:\(Did (.*)\))?/s.exec(error) ?? [];
  const hint = suggestion ? `did ${suggestion}` : 'see "npm run long -- --help".';
  return `long: ${problem.replace(/\. ([A-Z])/, (_, first: string) => `: ${first.toLowerCase()}`)}; ${hint}\n`;
}
