/** Finds the process that runs workerd, so that a test can kill it and no other process. Miniflare does not expose it. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";

const owner = new AsyncLocalStorage<ChildProcess[]>();
let isListening = false;

/** Runs a function, and adds every process that it starts, even asynchronously, to a list. */
export function collectChildren<T>(children: ChildProcess[], run: () => T): T {
  if (!isListening) {
    isListening = true;
    // The event is published synchronously by the code that starts a process, so the store belongs to that code.
    subscribe("child_process", (message) => {
      owner.getStore()?.push((message as { process: ChildProcess }).process);
    });
  }
  return owner.run(children, run);
}

/** Returns the running process in a list; undefined if there is none. */
export function findRunning(children: readonly ChildProcess[]): ChildProcess | undefined {
  return children.findLast((child) => child.pid !== undefined && child.exitCode === null && child.signalCode === null);
}

/** Kills a process with SIGKILL. Resolves when the process has ended. */
export async function killNow(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once("exit", resolve));
  if (child.kill("SIGKILL")) await gone;
}
