import type { Command } from "commander";

/** Writes tools for public descriptions of APIs, compiles and lists them, and calls each against a double of the API. */
export function openapi(command: (name: string) => Command): void {
  command("openapi")
    .description("writes tools for descriptions of APIs, compiles, lists and calls them")
    .argument("<descriptions>", "folder with a file, or a folder of files, for each description")
    .option("--only <name>", "measure only the descriptions whose name contains this")
    .option("--keep <folder>", "keep what was written in this folder")
    .action(run);
}

interface Options {
  readonly only?: string;
  readonly keep?: string;
}

async function run(descriptions: string, options: Options): Promise<void> {
  const { measure } = await import("../openapi/measure.ts");
  const rows = await measure(descriptions, options);
  if (rows.length === 0 || rows.some(({ failures }) => failures.length > 0)) process.exitCode = 1;
}
