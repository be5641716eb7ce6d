/** Finds the process that runs workerd. Miniflare does not expose it, and a test must not kill any other process. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ChildProcess } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";

const owner = new AsyncLocalStorage<ChildProcess[]>();
let isListening = false;

/** Runs a function, and adds every process that it starts, now or later, to a list. */
export function collectChildren<T>(children: ChildProcess[], run: () => T): T {
  if (!isListening) {
    isListening = true;
    // Published synchronously when a process is created, so the store is that of the code that creates it.
    subscribe("child_process", (message) => {
      owner.getStore()?.push((message as { process: ChildProcess }).process);
    });
  }
  return owner.run(children, run);
}

/** Returns the process in the list that is running. */
export function findRunning(children: readonly ChildProcess[]): ChildProcess | undefined {
  return children.findLast((child) => child.pid !== undefined && child.exitCode === null && child.signalCode === null);
}

/** Kills a process with SIGKILL. Resolves when it has ended. */
export async function killNow(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once("exit", resolve));
  if (child.kill("SIGKILL")) await gone;
}
