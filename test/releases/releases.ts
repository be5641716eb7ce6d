/** The fixtures of the releases: the bundled Worker of each release, what it has stored, and its layouts. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync } from "node:zlib";
import { join as joinShapes, type Shape } from "../harness/shapes.ts";
import { bundleSwitching, bundleWorker } from "./bundle.ts";
import { describeConstants } from "./constants.ts";
import { endEverything, type Kept, storeEverything } from "./everything.ts";
import { describeLayouts, type Layouts, numberLayouts } from "./layouts.ts";
import { repeatAssertion, repeatProof, storeRare } from "./rare.ts";
import { readState, type State, startBuilds } from "./state.ts";

/** What the Worker of a release has stored, and what its clients have kept. */
export interface Stored {
  readonly kept: Kept;
  readonly state: State;
}

const FOLDER = import.meta.dirname;
const LAYOUTS = join(FOLDER, "layouts.json");

/** The versions with a fixture, oldest first. */
export function listReleases(): string[] {
  const versions = readdirSync(FOLDER).filter((name) => /^\d+\.\d+\.\d+$/.test(name));
  return versions.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

/** Returns the bundled Worker of a release. */
export function readWorker(version: string): string {
  return brotliDecompressSync(readFileSync(join(FOLDER, version, "worker.js.br"))).toString();
}

export function readStored(version: string): Stored {
  return JSON.parse(brotliDecompressSync(readFileSync(join(FOLDER, version, "stored.json.br"))).toString()) as Stored;
}

/** Returns the layouts of a release, or of the present sources. */
export function readLayouts(version?: string): Layouts {
  const path = version === undefined ? LAYOUTS : join(FOLDER, version, "layouts.json");
  return JSON.parse(readFileSync(path, "utf8")) as Layouts;
}

/** Describes the layouts of the present sources. */
export async function observeLayouts(): Promise<Readonly<Record<string, Shape>>> {
  const worker = await startBuilds(await bundleSwitching({ today: await bundleWorker() }));
  try {
    const kept = await storeEverything(worker);
    const stored = await describeLayouts(worker);
    await repeatProof(worker, kept);
    await repeatAssertion(worker, kept);
    await endEverything(worker, kept);
    // What was stored is described before it is deleted.
    const ended = await describeLayouts(worker);
    await storeRare(worker);
    const rare = await describeLayouts(worker);
    return { ...describeConstants(), ...joined(stored, ended, rare) };
  } finally {
    await worker.stop();
  }
}

/** Joins descriptions. Messages and tables need not be joined: later descriptions include them. */
function joined(...all: readonly Readonly<Record<string, Shape>>[]): Readonly<Record<string, Shape>> {
  const shapes: Record<string, Shape> = {};
  for (const [name, shape] of all.flatMap((each) => Object.entries(each))) {
    const before = name.startsWith("key ") ? shapes[name] : undefined;
    shapes[name] = before === undefined ? shape : joinShapes(before, shape);
  }
  return shapes;
}

/** Writes the layouts of the present sources. Layouts that have changed since the last release get the next number. */
export async function writeLayouts(): Promise<void> {
  const last = listReleases().at(-1);
  const layouts = numberLayouts(await observeLayouts(), last === undefined ? {} : readLayouts(last));
  writeFileSync(LAYOUTS, toText(layouts));
}

/** Writes the fixture of a release with the built package. Returns the size of each file in bytes. */
export async function writeRelease(version: string): Promise<Readonly<Record<string, number>>> {
  const bundle = await bundleWorker({ from: "dist", minify: true });
  const worker = await startBuilds(await bundleSwitching({ released: bundle }));
  try {
    const kept = await storeEverything(worker);
    const state = await readState(worker);
    const files = {
      "worker.js.br": brotliCompressSync(bundle),
      "stored.json.br": brotliCompressSync(JSON.stringify({ kept, state } satisfies Stored)),
      "layouts.json": Buffer.from(toText(readLayouts())),
    };
    mkdirSync(join(FOLDER, version), { recursive: true });
    for (const [name, content] of Object.entries(files)) writeFileSync(join(FOLDER, version, name), content);
    return Object.fromEntries(Object.entries(files).map(([name, { length }]) => [name, length]));
  } finally {
    await worker.stop();
  }
}

/** One line for each layout, so that differences are short. */
function toText(layouts: Layouts): string {
  const lines = Object.entries(layouts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, layout]) => `${JSON.stringify(name)}: ${JSON.stringify(layout)}`);
  return `{\n${lines.join(",\n")}\n}\n`;
}
