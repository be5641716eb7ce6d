/**
 * Counts what sessions cost and writes docs/cost.md. With `--peers` it also counts the other servers, whose libraries it
 * installs into bench/node_modules; without it, the document contains their stored counts.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { countOurs } from "./cost/ours.ts";
import { countSignIn } from "./cost/sign-in.ts";
import { OURS, PAGE, pageOfStored, SIGN_IN } from "./cost/write.ts";
import { runTool } from "./tools.ts";

const { values } = parseArgs({ options: { peers: { type: "boolean", default: false } } });
if (values.peers && runTool("npm", ["--prefix", "bench", "run", "cost"]) !== 0) process.exit(1);
writeFileSync(OURS, `${JSON.stringify([{ name: "mcp-edge", counts: await countOurs() }], null, 2)}\n`);
writeFileSync(SIGN_IN, `${JSON.stringify(await countSignIn(), null, 2)}\n`);
const page = pageOfStored();
writeFileSync(PAGE, page);
console.log(page);
