/** Counts the costs of other servers for the document that `npm run long -- cost --peers` writes. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { countWorker } from "../scripts/cost/ours.ts";
import type { Server } from "../scripts/cost/page.ts";
import { PEERS } from "../scripts/cost/write.ts";
import { startWorker } from "../src/testing/index.ts";
import { bundle } from "./bundle.ts";
import { CONTESTANTS } from "./contestants.ts";

const COUNTED = [
  ["mcp-agent", "agents"],
  ["sdk-v2", "@modelcontextprotocol/server"],
] as const;

const { dependencies } = JSON.parse(readFileSync(join(import.meta.dirname, "package.json"), "utf8")) as {
  dependencies: Record<string, string>;
};
const servers: Server[] = [];
for (const [name, library] of COUNTED) {
  const contestant = CONTESTANTS.find((each) => each.name === name);
  if (!contestant) throw new Error(`There is no contestant "${name}".`);
  const { path } = await bundle(contestant, { counter: "cost" });
  await using worker = await startWorker({ entry: path, objects: contestant.objects ?? {} });
  console.error(`counting ${name}`);
  servers.push({ name: `${contestant.what} ${dependencies[library]}`, counts: await countWorker(worker, "/mcp") });
}
writeFileSync(PEERS, `${JSON.stringify(servers, null, 2)}\n`);
