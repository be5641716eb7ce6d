/** Counts the shapes of use with mcp-edge on workerd. */
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { ROOT } from "../tools.ts";
import type { Billed } from "./counted-worker.ts";
import { type Counted, countShapes } from "./shapes.ts";

/** After this time every session with default settings has expired, and the alarm that deletes its rows has run. */
const EXPIRED_MS = 30 * 24 * 60 * 60_000;

/** Returns the counts by shape. Takes about a minute. */
export async function countOurs(): Promise<Record<string, Counted>> {
  await using worker = await startWorker({
    entry: "scripts/cost/worker.ts",
    root: ROOT,
    objects: { MCP: "McpObject" },
    // The keys object is asked once for each isolate, and not for each session.
    bindings: { MCP_KEYS: newKeys() },
  });
  return await countWorker(worker, "/mcp");
}

/** Counts the shapes with a Worker that `countedWorker` wraps. */
export function countWorker(worker: TestWorker, path: string): Promise<Record<string, Counted>> {
  return countShapes({
    url: worker.url(path),
    take: async () => (await (await fetch(worker.url("/billed"))).json()) as Billed,
    expire: async () => {
      await worker.advance(EXPIRED_MS);
    },
  });
}
