import type { Command } from "commander";

/** Migrates public servers, compiles them, and compares the answers of the old and the new server. */
export function migrateServers(command: (name: string) => Command): void {
  command("migrate")
    .description("migrates public servers, compiles them, and compares the results of the old and the new server")
    .argument("<sources>", "folder of the fetched repositories, as owner+name/...")
    .requiredOption("--packages <folder>", "node_modules with the packages of the servers")
    .option("--only <name>", "measure only the servers whose name contains this")
    .option("--keep <folder>", "keep the migrated servers in this folder")
    .action(run);
}

interface Options {
  readonly packages: string;
  readonly only?: string;
  readonly keep?: string;
}

async function run(sources: string, options: Options): Promise<void> {
  const { measure } = await import("../migrate/measure.ts");
  const rows = await measure(sources, options);
  const isComplete = (row: (typeof rows)[number]) =>
    row.compiles === "yes" && row.notes === 0 && !row.equal.startsWith("no:");
  const share = rows.filter(isComplete).length / rows.length;
  console.log(`\n${rows.filter(isComplete).length} of ${rows.length} without a hand (${Math.round(share * 100)} %)`);
  if (share < 0.75) process.exitCode = 1;
}
