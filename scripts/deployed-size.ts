/** Measures the bundle that `wrangler deploy --minify` uploads, with wrangler itself. Needs no account and no network. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { COMPILE_CACHE, NODE } from "../test/oracle/node.ts";
import { ROOT } from "./tools.ts";

/**
 * The measured programs: 53 tools on zod. All of them import the built package, as a project does. The budgets are in KiB, as wrangler
 * prints them after "gzip", for the configuration of the README and the templates, which has `keep_names = false`. The other programs
 * show what wrangler's default and `import { z }` cost.
 */
export const DEPLOYED = [
  { name: "as deployed: 53 tools on zod, stateless", entry: "stateless.ts", keepNames: false, gzipKibMax: 60.1 },
  {
    name: "as deployed: the same with sessions, hub and keys",
    entry: "sessions.ts",
    keepNames: false,
    gzipKibMax: 86.6,
  },
  { name: "without keep_names = false: stateless", entry: "stateless.ts", keepNames: true, gzipKibMax: undefined },
  {
    name: "without keep_names = false: sessions, hub and keys",
    entry: "sessions.ts",
    keepNames: true,
    gzipKibMax: undefined,
  },
  {
    name: "as deployed: stateless, with import { z }",
    entry: "named-stateless.ts",
    keepNames: false,
    gzipKibMax: undefined,
  },
] as const;

const run = promisify(execFile);

/** Returns the KiB that wrangler reports for an entry of test/size/deployed. */
export async function deployedKib({
  entry,
  keepNames,
}: Pick<(typeof DEPLOYED)[number], "entry" | "keepNames">): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "mcp-edge-size-"));
  try {
    const main = join(ROOT, "test/size/deployed", entry);
    const configuration = { name: "size", main, compatibility_date: "2026-10-20", keep_names: keepNames };
    writeFileSync(join(folder, "wrangler.json"), JSON.stringify(configuration));
    const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
    const { stdout } = await run(NODE, [wrangler, "deploy", "--dry-run", "--minify", "--outdir", join(folder, "out")], {
      cwd: folder,
      env: withoutAccount(folder),
    });
    const found = /gzip: ([\d.]+) KiB/.exec(stdout)?.[1];
    if (found === undefined) throw new Error(`wrangler deploy --dry-run printed no size: ${stdout}`);
    return Number(found);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function withoutAccount(folder: string): NodeJS.ProcessEnv {
  return {
    PATH: `${dirname(NODE)}:${process.env.PATH}`,
    HOME: folder,
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_SEND_ERROR_REPORTS: "false",
    CI: "true",
    NODE_COMPILE_CACHE: COMPILE_CACHE,
  };
}
