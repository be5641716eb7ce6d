/** A Worker on real workerd, as the tests start it: `mcp-edge/testing` with entries relative to the project's root. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { startWorker, type TestWorker, type WorkerOptions } from "../../src/testing/worker.ts";

export { newKeys } from "../../src/testing/keys.ts";

const ROOT = join(import.meta.dirname, "../..");

/** `entry` is relative to the project's root, or TypeScript source. */
export type WorkerdOptions = Omit<WorkerOptions, "root" | "environment">;

/** A running Worker. `worker` has all functions of `mcp-edge/testing`. */
export class Workerd {
  readonly worker: TestWorker;

  private constructor(worker: TestWorker) {
    this.worker = worker;
  }

  static async start(options: WorkerdOptions): Promise<Workerd> {
    return new Workerd(await startWorker({ ...options, root: ROOT }));
  }

  get origin(): string {
    return this.worker.origin;
  }

  get pid(): number | undefined {
    return this.worker.pid;
  }

  /** Kills workerd as a crash would (SIGKILL) and starts it again with the same state. */
  killAndRestart(): Promise<void> {
    return this.worker.restart();
  }

  stop(): Promise<void> {
    return this.worker.stop();
  }

  /** Ids of the objects of a class that have a database on disk. */
  storedObjects(className: string): string[] {
    const folders = readdirSync(this.worker.stateFolder, { recursive: true, encoding: "utf8" });
    return folders.filter(
      (path) => path.includes(`-${className}`) && path.endsWith(".sqlite") && !path.includes("metadata"),
    );
  }
}
