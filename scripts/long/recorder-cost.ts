import type { Command } from "commander";
import { number } from "./number.ts";

/** Compares the calls per second of `mcp-edge dev` and `mcp-edge dev --no-record`, in turns, on the real wrangler. */
export function recorderCost(command: (name: string) => Command): void {
  command("recorder-cost")
    .description("measures calls a second through the recorder of mcp-edge dev beside --no-record")
    .option("--seconds <count>", "how long each measurement takes", number, 5)
    .option("--rounds <count>", "how often each is measured, in turns", number, 3)
    .option("--clients <count>", "the number of clients that call at the same time", number, 8)
    .action(run);
}

interface Options {
  readonly seconds: number;
  readonly rounds: number;
  readonly clients: number;
}

async function run({ seconds, rounds, clients }: Options): Promise<void> {
  const { Project } = await import("../../test/recorder/dev-project.ts");
  const { LegacyClient, ModernClient } = await import("../../test/worker/client.ts");
  using project = new Project();
  using other = new Project();
  await using recorded = await project.dev();
  await using plain = await other.dev("--no-record");
  const kinds = {
    "modern call": async (url: string) => new ModernClient(url),
    "call of a session": (url: string) => LegacyClient.open(url),
  };
  console.log(`calls a second of ${clients} clients, ${seconds} s each, in ${rounds} rounds`);
  for (const [kind, open] of Object.entries(kinds)) {
    const rates = { record: [] as number[], "--no-record": [] as number[] };
    for (let round = 0; round < rounds; round += 1) {
      for (const [how, dev] of [
        ["record", recorded],
        ["--no-record", plain],
      ] as const) {
        const all = await Promise.all(Array.from({ length: clients }, () => open(dev.url())));
        rates[how].push(await measure(all, seconds * 1_000));
      }
    }
    const [record, noRecord] = [median(rates.record), median(rates["--no-record"])];
    console.log(
      `${kind}: ${record.toFixed(0)} recorded, ${noRecord.toFixed(0)} with --no-record (${(record / noRecord).toFixed(2)})`,
    );
  }
}

interface Caller {
  call(name: string): Promise<Response>;
}

/** Returns the calls per second of all clients together. */
async function measure(clients: readonly Caller[], ms: number): Promise<number> {
  const startedAtMs = performance.now();
  const counts = await Promise.all(
    clients.map(async (client) => {
      let calls = 0;
      for (; performance.now() - startedAtMs < ms; calls += 1) {
        const text = await (await client.call("hello")).text();
        if (!text.includes("Hello from Berlin")) throw new Error(text);
      }
      return calls;
    }),
  );
  return counts.reduce((sum, each) => sum + each, 0) / ((performance.now() - startedAtMs) / 1_000);
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
