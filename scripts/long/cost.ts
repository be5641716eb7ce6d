import { writeFileSync } from "node:fs";
import type { Command } from "commander";

export function cost(command: (name: string) => Command): void {
  command("cost")
    .description("counts what sessions cost, and writes docs/cost.md")
    .option("--peers", "count the other servers too, whose libraries are installed into bench/node_modules")
    .action(run);
}

async function run({ peers }: { readonly peers?: boolean }): Promise<void> {
  const { runTool } = await import("../tools.ts");
  if (peers && runTool("npm", ["--prefix", "bench", "run", "cost"]) !== 0) {
    process.exitCode = 1;
    return;
  }
  const { countOurs } = await import("../cost/ours.ts");
  const { watchIdle } = await import("../cost/idle.ts");
  const { countSignIn } = await import("../cost/sign-in.ts");
  const { IDLE, OURS, PAGE, pageOfStored, SIGN_IN } = await import("../cost/write.ts");
  writeFileSync(OURS, `${JSON.stringify([{ name: "mcp-edge", counts: await countOurs() }], null, 2)}\n`);
  writeFileSync(SIGN_IN, `${JSON.stringify(await countSignIn(), null, 2)}\n`);
  writeFileSync(IDLE, `${JSON.stringify(await watchIdle(60_000), null, 2)}\n`);
  const page = pageOfStored();
  writeFileSync(PAGE, page);
  console.log(page);
}
