/**
 * Installs all packages from their packed files in empty folders, with each package manager on each supported Node, imports every entry,
 * calls a server over stdio, and creates a project. Prints a table, and exits with 1 if something failed.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Command, Option } from "commander";
import { nodeOf } from "../test/harness/nodes.ts";
import { MANAGERS, type Manager } from "./installs/managers.ts";
import { type Packed, type Tried, tryInstall } from "./installs/try.ts";
import { packInto } from "./release/pack.ts";
import { PACKAGES, Repository } from "./release/repository.ts";
import { ROOT } from "./tools.ts";

const NODES = ["20", "22", "24"];

interface Options {
  readonly manager: readonly Manager[];
  readonly node: readonly string[];
  readonly from?: string;
}

const { manager, node, from } = new Command("npm run installs --")
  .description("Installs the packed files with each package manager on each supported Node.")
  .addOption(new Option("--manager <names...>", "the package managers").choices(MANAGERS).default(MANAGERS))
  .addOption(new Option("--node <majors...>", "the versions of Node").choices(NODES).default(NODES))
  .option(
    "--from <folder>",
    "a folder with files that npm run release has packed; by default, the repository is packed",
  )
  .helpCommand(false)
  .parse()
  .opts<Options>();

const folder = mkdtempSync(join(tmpdir(), "mcp-edge-installs-"));
try {
  const repository = new Repository(ROOT);
  const packed = from === undefined ? packInto(repository, join(folder, "packed")) : packedIn(resolve(from));
  const results: Tried[] = [];
  for (const major of node) {
    for (const name of manager) {
      const tried = await tryInstall(folder, packed, {
        manager: name,
        node: Number(major),
        path: nodeOf(Number(major)),
      });
      console.log(`${tried.failure === undefined ? "✓" : "✗"} ${tried.manager} on Node ${major}`);
      results.push(tried);
    }
  }
  console.table(
    results.map(({ failure, ...row }) => ({ ...row, result: failure === undefined ? "passed" : "failed" })),
  );
  for (const { manager: name, node: major, failure } of results) {
    if (failure !== undefined) console.error(`\n${name} on Node ${major}:\n${failure}`);
  }
  if (results.some(({ failure }) => failure !== undefined)) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Finds the packed files in a folder. */
function packedIn(place: string): Packed {
  const files = readdirSync(place).filter((file) => file.endsWith(".tgz"));
  const find = (name: string) => {
    const file = files.find((each) => each.startsWith(`${name}-`) && /^\d/.test(each.slice(name.length + 1)));
    if (file === undefined) throw new Error(`${place} has no packed file of ${name}.`);
    return [name, join(place, file)];
  };
  return Object.fromEntries(Object.keys(PACKAGES).map(find));
}
