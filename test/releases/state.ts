/** The stored state of a Worker as a single value: its databases, each with all data in one file. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { ROOT } from "./bundle.ts";

/** The classes of the Worker in this folder. */
export const CLASSES = ["McpObject", "TightObject", "SharedObject", "AllObject", "SignedObject"] as const;

/** The configuration of the Worker, with the bucket, for which startWorker() has no option. */
export const WRANGLER: string = join(import.meta.dirname, "wrangler.toml");

/** The databases of a Worker, in base64, by their paths in its state folder. */
export type State = Readonly<Record<string, string>>;

export interface StartOptions {
  /** How far the clock is ahead, in milliseconds. */
  readonly clockMs?: number;
  readonly ttlMs?: number;
  readonly resumeMs?: number;
}

/** Starts a Worker that consists of builds: see switching-worker.ts. Without keys in its configuration, it creates them. */
export function startBuilds(
  source: string,
  { clockMs = 0, ttlMs = 3_600_000, resumeMs = 600_000 }: StartOptions = {},
): Promise<TestWorker> {
  const bindings = { CLOCK_MS: clockMs, TTL_MS: ttlMs, RESUME_MS: resumeMs };
  return startWorker({ wrangler: WRANGLER, entry: { source }, objects: CLASSES, bindings, root: ROOT });
}

/** Kills a Worker and returns its databases. */
export async function readState(worker: TestWorker): Promise<State> {
  await worker.kill();
  const folder = join(worker.stateFolder, "do");
  const state: Record<string, string> = {};
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    // Without the metadata, whose only content are the alarms, which the objects store too.
    if (!path.endsWith(".sqlite") || path.endsWith("metadata.sqlite")) continue;
    const database = new DatabaseSync(join(folder, path));
    const copy = join(folder, "copy");
    database.exec(`PRAGMA page_size = 512; VACUUM INTO '${copy}'`);
    database.close();
    state[path] = readFileSync(copy).toString("base64");
    rmSync(copy);
  }
  return state;
}

/** Replaces the databases of a Worker, and restarts it. */
export async function writeState(worker: TestWorker, state: State): Promise<void> {
  await worker.kill();
  const folder = join(worker.stateFolder, "do");
  rmSync(folder, { recursive: true, force: true });
  for (const [path, content] of Object.entries(state)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), Buffer.from(content, "base64"));
  }
  await worker.restart();
}
