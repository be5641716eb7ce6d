/** Reads the size of a Worker's heap through its inspector. */
import type { TestWorker } from "../../src/testing/index.ts";

/** The isolate of the Worker under test, as the inspector lists it. */
const ISOLATE = "core:user:worker";
/** The number of garbage collections. Finalizers of one collection release objects that the next one collects. */
const COLLECTIONS = 3;

/**
 * Returns the MiB that objects of JavaScript use after garbage was collected. Not the resident memory, which is what the
 * process needed at its busiest moment.
 */
export async function heapMib(worker: TestWorker, inspectorPort: number): Promise<number> {
  const inspector = new WebSocket(`ws://127.0.0.1:${inspectorPort}/${ISOLATE}`);
  await new Promise((resolve, reject) => {
    inspector.addEventListener("open", resolve);
    inspector.addEventListener("error", () => reject(new Error("The inspector does not answer.")));
  });
  // An isolate collects garbage only while it serves requests.
  const requests = setInterval(() => void fetch(worker.url("/none")).then((answer) => answer.text()), 50);
  try {
    for (let collection = 1; collection <= COLLECTIONS; collection += 1) {
      await ask(inspector, collection, "HeapProfiler.collectGarbage");
    }
    const { usedSize = 0, backingStorageSize = 0 } = await ask(inspector, COLLECTIONS + 1, "Runtime.getHeapUsage");
    return Math.round(((usedSize + backingStorageSize) / 1024 / 1024) * 10) / 10;
  } finally {
    clearInterval(requests);
    inspector.close();
  }
}

function ask(inspector: WebSocket, id: number, method: string): Promise<Record<string, number>> {
  return new Promise((resolve, reject) => {
    const hear = ({ data }: MessageEvent) => {
      const answer = JSON.parse(String(data)) as { id?: number; result?: Record<string, number> };
      if (answer.id !== id) return;
      clearTimeout(timer);
      inspector.removeEventListener("message", hear);
      resolve(answer.result ?? {});
    };
    const timer = setTimeout(() => reject(new Error(`The inspector did not answer ${method}.`)), 30_000);
    inspector.addEventListener("message", hear);
    inspector.send(JSON.stringify({ id, method }));
  });
}
