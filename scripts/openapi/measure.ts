/** Measures `mcp-edge add openapi` with descriptions that others have written. */

import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Description, Files } from "../../packages/openapi/src/document.ts";
import { readOperations } from "../../packages/openapi/src/operations.ts";
import { writeProject } from "../../packages/openapi/src/project.ts";
import { serverUrls } from "../../packages/openapi/src/servers.ts";
import { makeTools, type Tool } from "../../packages/openapi/src/tools.ts";
import { Source } from "../../src/cli/commands/add/openapi/source.ts";
import { SCHEMA_BYTES } from "../../src/cli/host-profiles/limits.ts";
import { ROOT } from "../tools.ts";
import { callTools } from "./call.ts";
import { validateBodies } from "./validate.ts";

/** The outcome for one description. */
export interface Row {
  readonly name: string;
  /** What failed, with the reason. */
  readonly failures: readonly string[];
}

interface Options {
  readonly only?: string;
  readonly keep?: string;
}

/** The number of failures that are shown for each description. */
const SHOWN = 8;

/** Measures all descriptions of a folder and prints a row for each. */
export async function measure(folder: string, { only = "", keep }: Options): Promise<Row[]> {
  const work = keep ?? mkdtempSync(join(tmpdir(), "openapi-"));
  const rows: Row[] = [];
  console.log(
    "| description | size | operations | tools | not possible | list | largest schema | compiles | calls | bodies |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
  );
  for (const entry of readdirSync(folder)
    .sort()
    .filter((name) => name.includes(only))) {
    rows.push(await measureOne(entry, findMain(join(folder, entry)), join(work, entry.replace(/\W+/g, "-"))));
  }
  if (keep === undefined) rmSync(work, { recursive: true, force: true });
  return rows;
}

/** Returns the file with the description: the entry itself, or the first file in its folders that begins like a description. */
function findMain(entry: string): string {
  if (statSync(entry).isFile()) return entry;
  const files = readdirSync(entry, { recursive: true, encoding: "utf8" }).sort(
    (one, other) => one.length - other.length,
  );
  const found = files.find((name) => {
    return /\.(json|ya?ml)$/.test(name) && /^\s*"?(openapi|swagger)"?:/m.test(readFileSync(join(entry, name), "utf8"));
  });
  return join(entry, found ?? "");
}

async function measureOne(name: string, path: string, work: string): Promise<Row> {
  const failures: string[] = [];
  const { description, bytes } = await readDescription(path);
  const { operations, refused } = readOperations(description);
  const made = makeTools(description, operations, SCHEMA_BYTES.max);
  const baseUrl = serverUrls(description).find((url) => url.startsWith("https:")) ?? "https://api.example.com";
  const generated = writeProject(description, made.tools, { name: "measured", baseUrl, access: "service" });
  prepare(work);
  for (const { path, text } of generated.files) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    writeFileSync(join(work, path), text);
  }
  const errors = typeErrors(work);
  failures.push(...errors);
  const { listed, passed, failed } = await callTools(work, generated, made.tools, baseUrl);
  failures.push(...failed);
  const bodies = validateBodies(description, made.tools);
  const largest = Math.max(...made.tools.map(schemaBytes));
  const reasons = [...refused, ...made.refused];
  const cells = [
    name.replace(/\.\w+$/, ""),
    `${Math.ceil(bytes / 1024).toLocaleString("en")} KiB`,
    operations.length + refused.length,
    made.tools.length,
    reasons.length,
    `${listed.toLocaleString("en")} B`,
    `${largest.toLocaleString("en")} B`,
    errors.length === 0 ? "yes" : `no (${errors.length})`,
    `${passed} of ${made.tools.length}`,
    `${bodies.valid} of ${bodies.all}`,
  ];
  console.log(`| ${cells.join(" | ")} |`);
  const estimated = made.tools.reduce((sum, tool) => sum + tool.bytes, 0) + 1;
  if (Math.abs(estimated - listed) > listed / 50) failures.push(`the list has ${listed} bytes, not ${estimated}`);
  for (const [reason, count] of countBy(reasons.map((each) => each.reason)))
    console.error(`  not possible: ${count} × ${reason}`);
  for (const reason of bodies.reasons.slice(0, SHOWN)) console.error(`  body not valid: ${reason}`);
  for (const failure of failures.slice(0, SHOWN)) console.error(`  ${failure}`);
  return { name, failures };
}

async function readDescription(main: string): Promise<{ description: Description; bytes: number }> {
  const source = await Source.read(main);
  const files = new Files(source.main);
  for (;;) {
    for (const [name, text] of Object.entries(source.takeNew())) files.add(name, text);
    const description = new Description(files);
    if (description.missing.size === 0) {
      return { description, bytes: [...source.texts.values()].reduce((sum, text) => sum + text.length, 0) };
    }
    await source.add([...description.missing]);
  }
}

function schemaBytes({ listed }: Tool): number {
  return Buffer.byteLength(JSON.stringify(listed.inputSchema));
}

function countBy(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

/** Creates a project that has the settings of the templates. */
function prepare(work: string): void {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(work, "node_modules"));
  const template = JSON.parse(readFileSync(join(ROOT, "templates/weather/tsconfig.json"), "utf8"));
  template.compilerOptions.types = ["node", "@cloudflare/workers-types"];
  writeFileSync(join(work, "tsconfig.json"), JSON.stringify(template));
  writeFileSync(join(work, "package.json"), '{ "type": "module" }');
}

function typeErrors(work: string): string[] {
  const { stdout } = spawnSync(join(ROOT, "node_modules/.bin/tsc"), ["--pretty", "false"], {
    cwd: work,
    encoding: "utf8",
  });
  return stdout.split("\n").filter((line) => line.includes("error TS"));
}
