// @module-tag long
/** What a release has stored works with the present code, and the other way around; layouts do not change unnoticed. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ignoreLogs } from "../harness/logs.ts";
import type { Shape } from "../harness/shapes.ts";
import { bundleSwitching, bundleWorker, type Change, ROOT } from "./bundle.ts";
import { storeEverything } from "./everything.ts";
import { findLosses } from "./find-losses.ts";
import { findDifferences, findUnnumbered, numberLayouts } from "./layouts.ts";
import { listReleases, observeLayouts, readLayouts, readStored, readWorker, type Stored } from "./releases.ts";
import { readState, startBuilds, writeState } from "./state.ts";

ignoreLogs(/^mcp-edge: "tools\/call" "later" failed/);
ignoreLogs(/^mcp-edge: "\(/);
ignoreLogs(/^mcp-edge: "tools\/call" "ask" failed .* did not answer elicitation\/create in time/);

/** Starts a build with stored data, at the time when it was stored, and returns what no longer works. */
async function findLostWith(build: string, { kept, state }: Stored): Promise<string[]> {
  const clockMs = kept.atMs - Date.now();
  const worker = await startBuilds(await bundleSwitching({ build }), { clockMs });
  try {
    await writeState(worker, state);
    return await findLosses(worker, kept, () => Date.now() + clockMs);
  } finally {
    await worker.stop();
  }
}

/** Stores one of everything with a build. */
async function storedBy(build: string): Promise<Stored> {
  const worker = await startBuilds(await bundleSwitching({ build }));
  try {
    const kept = await storeEverything(worker);
    return { kept, state: await readState(worker) };
  } finally {
    await worker.stop();
  }
}

describe.each(listReleases())("release %s", (version) => {
  test("has stored data with which the present code continues", async () => {
    expect(await findLostWith(await bundleWorker(), readStored(version))).toEqual([]);
  });

  test("continues with data of the present code after a rollback", async () => {
    expect(await findLostWith(readWorker(version), await storedBy(await bundleWorker()))).toEqual([]);
  });

  test("has no layout that has changed since without a higher number", () => {
    expect(findUnnumbered(readLayouts(), readLayouts(version))).toEqual([]);
  });
});

/** A careless change: the stored claim of a call has another member. */
const CARELESS: Change = {
  file: "src/worker/once/once-object.ts",
  find: 'const PREFIX = "claim:";',
  replace: 'const PREFIX = "claim-2:";',
};

test("a change of a stored key is noticed with the data of the last release", async () => {
  const version = listReleases().at(-1) ?? "";
  const losses = await findLostWith(await bundleWorker({ changes: [CARELESS] }), readStored(version));
  expect(losses.join("\n")).toContain("the outcome of a call with a key");
});

describe("layouts", () => {
  let observed: Readonly<Record<string, Shape>>;

  test("are described in layouts.json", async () => {
    observed = await observeLayouts();
    expect(findDifferences(observed, readLayouts()), "Run npm run release-fixture -- --layouts.").toEqual([]);
  });

  test("include every method that a Worker calls", () => {
    const names = Object.keys(readLayouts());
    const isDescribed = (method: string) => names.some((name) => name.endsWith(`/${method}`));
    expect(methodsOf("src").filter((method) => !isDescribed(method))).toEqual([]);
  });

  test("are refused if they change without a higher number", () => {
    const released = readLayouts();
    const name = "key keys/keys";
    const changed = { ...released, [name]: { number: 1, layout: { "[]": { secret: "string" } } } };
    expect(findUnnumbered(changed, released)).toEqual([
      expect.stringContaining(`"${name}" has changed since number 1`),
    ]);
    const shapes = Object.fromEntries(Object.entries(changed).map(([each, { layout }]) => [each, layout]));
    const numbered = numberLayouts(shapes, released);
    expect(numbered[name]?.number).toBe(2);
    expect(findUnnumbered(numbered, released)).toEqual([]);
    const { [name]: _, ...fewer } = released;
    expect(findUnnumbered(fewer, released)).toEqual([expect.stringContaining("is missing")]);
  });
});

/** The methods of the RPC interfaces in a folder, except for `workflows()`, which the Worker of this folder does not have. */
function methodsOf(folder: string): string[] {
  const paths = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  const files = paths.filter((path) => path.endsWith(".ts") && !path.startsWith("worker/workflows/"));
  const sources = files.map((path) => readFileSync(join(ROOT, folder, path), "utf8"));
  const bodies = sources.flatMap((source) => [...source.matchAll(/interface (?!ObjectRpc)\w+Rpc\b[^{]*\{(.*?)\n\}/gs)]);
  const names = bodies.flatMap(([, body = ""]) => [...body.matchAll(/^ {2}(\w+)\(/gm)].map(([, name = ""]) => name));
  if (names.length < 20) throw new Error(`Only ${names.length} methods were found.`);
  return [...new Set(names)];
}
