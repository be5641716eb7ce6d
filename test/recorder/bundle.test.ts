// @module-tag long
/** The recorder does not change the Worker: the bundle that `mcp-edge dev` runs is the deployed bundle, byte for byte. */
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { formatConfig, readUserConfig, withTail } from "../../src/node/record/dev/config-copy.ts";
import { NODE } from "../oracle/node.ts";
import { Project } from "./dev-project.ts";

const WRANGLER = join(import.meta.dirname, "../../node_modules/.bin/wrangler");

/** Bundles a Worker as for a deployment, and returns the files by name. */
function bundle({ folder }: Project, config: string, environment: string | undefined): Record<string, string> {
  const out = `out-${config}`;
  const args = [WRANGLER, "deploy", "--dry-run", `--config=${config}`, `--outdir=${out}`];
  const env = { ...process.env, PATH: `${dirname(NODE)}:${process.env.PATH}`, CI: "true" };
  const all = environment === undefined ? args : [...args, `--env=${environment}`];
  const { status, stderr } = spawnSync(NODE, all, { cwd: folder, env, encoding: "utf8" });
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  const names = readdirSync(join(folder, out)).filter((name) => name.endsWith(".js"));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, out, name), "latin1")]));
}

test.each([undefined, "staging"])(
  "the bundle with the recorder is the deployed bundle (environment %s)",
  async (environment) => {
    using project = new Project();
    const user = readUserConfig(project.folder, join(project.folder, "wrangler.toml"));
    const copied = formatConfig(withTail(user?.config ?? {}, { environment }));
    expect(copied).toContain("streaming_tail_consumers");
    project.write(".mcp-edge.1.wrangler.json", copied);
    const own = bundle(project, "wrangler.toml", environment);
    expect(Object.keys(own)).toEqual(["index.js"]);
    expect(bundle(project, ".mcp-edge.1.wrangler.json", environment)).toEqual(own);
  },
);
