/** Which process runs workerd: miniflare does not tell, and a test that kills must kill no other. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";

const owner = new AsyncLocalStorage<ChildProcess[]>();
let isListening = false;

/** Runs something, and adds every process that it starts, now or later, to a list. */
export function collectChildren<T>(children: ChildProcess[], run: () => T): T {
  if (!isListening) {
    isListening = true;
    // Told in the turn that makes the process, so the store is that of whoever started it.
    subscribe("child_process", (message) => {
      owner.getStore()?.push((message as { process: ChildProcess }).process);
    });
  }
  return owner.run(children, run);
}

/** The one that runs, of a list. */
export function runningOf(children: readonly ChildProcess[]): ChildProcess | undefined {
  return children.findLast((child) => child.pid !== undefined && child.exitCode === null && child.signalCode === null);
}

/** Ends a process as a crash would. When it returns, the process is gone. */
export async function killNow(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once("exit", resolve));
  if (child.kill("SIGKILL")) await gone;
}
