/**
 * Creates a project from each template outside the repository, with the package as npm packs it, and does with it what a
 * user would: install, check types, test, serve over stdio and HTTP, `mcp-edge check`, and `wrangler deploy --dry-run`.
 * Without arguments it tries every template on Node 24, and `weather` on Node 20 and 22 as well. Prints a table, and exits
 * with 1 if a step failed. The last lines of a failed step are printed too.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Argument, Command, InvalidArgumentError } from "commander";
import { nodeOf } from "../test/harness/nodes.ts";
import { installPackage, type Job, type Tried, tryTemplate } from "./templates/try.ts";
import { ROOT } from "./tools.ts";

/** How many projects are tried at the same time: more than cores, because they wait for the network and for timers. */
const AT_ONCE = 3;
/** The version of Node on which every template is tried. */
const MAJOR = 24;
/** The versions of Node that the project's packages bring. */
const MAJORS = [20, 22, 24];
/**
 * The template that the official suite calls when all are tried: the one that requires a token. The engine is the same in all
 * templates, and the suite also calls the reference server, which requires none: test/cli/check.test.ts.
 */
const WITH_SUITE = "gateway";
/** The template that is tried on every version on which projects can be created, and the other versions. */
const ON_ALL = { template: "weather", majors: [20, 22] };

interface Options {
  readonly node?: readonly number[];
  readonly built: boolean;
}

await new Command("npm run templates --")
  .description("Creates a project from each template with the packed package, and does with it what a user would.")
  .addArgument(new Argument("[names...]", "the templates, all of them unless given").choices(templates()))
  .option("--node <majors>", "the versions of Node, such as 20,22,24", majors)
  .option("--built", "packs the package as it was built last", false)
  .helpCommand(false)
  .action(tryAll)
  .parseAsync();

/** Tries what was chosen, several projects at the same time. */
async function tryAll(names: readonly string[], { node, built }: Options): Promise<void> {
  const queue = chosen(names, node);
  // npm repeats reads of the registry that fail. Nothing else is tried twice.
  process.env.npm_config_fetch_retries ??= "5";
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-templates-"));
  const startMs = performance.now();
  try {
    const installed = await installPackage(folder, built);
    const results: Tried[] = [];
    const work = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        results.push(await tryTemplate({ ...installed, ...next, node: nodeOf(next.major) }));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    print(results);
    console.log(`${((performance.now() - startMs) / 1000).toFixed(0)} s in all`);
    if (results.some(({ failure }) => failure)) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function templates(): string[] {
  return readdirSync(join(ROOT, "templates"));
}

/** Reads the option `--node`. */
function majors(text: string): number[] {
  const read = text.split(",").map(Number);
  if (read.every((major) => MAJORS.includes(major))) return read;
  throw new InvalidArgumentError(`Write one or more of ${MAJORS.join(", ")}, with commas between them.`);
}

/** Returns what to try. The templates whose tests take longest come first, so that both workers end at about the same time. */
function chosen(names: readonly string[], node?: readonly number[]): Job[] {
  const all: Job[] = (names.length > 0 ? names : templates()).flatMap((template) =>
    (node ?? [MAJOR]).map((major) => ({
      template,
      major,
      withSuite: names.length > 0 || template === WITH_SUITE,
    })),
  );
  if (names.length === 0 && node === undefined) {
    all.push(...ON_ALL.majors.map((major) => ({ template: ON_ALL.template, major, withSuite: false })));
  }
  return all.sort((one, other) => lengthOfTests(other.template) - lengthOfTests(one.template));
}

function lengthOfTests(template: string): number {
  const folder = join(ROOT, "templates", template, "test");
  return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

function print(results: readonly Tried[]): void {
  console.table(
    results.map(({ template, major, steps, size, failure }) => ({
      template,
      Node: major,
      ...Object.fromEntries(steps.map(({ name, ms }) => [name, `${(ms / 1000).toFixed(1)} s`])),
      gzip: size ?? "",
      result: failure ? `${failure.step} failed` : "passed",
    })),
  );
  for (const { template, major, failure } of results) {
    if (failure) console.error(`\n${template} on Node ${major}: ${failure.step}\n${failure.output}`);
  }
}
