/**
 * Ctrl-C and the other signals that end a command.
 *
 * @module
 */
import { InterruptedError } from "../exit.ts";

/** The numbers of the signals that end a command. */
const SIGNALS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;

/** Aborts on the first signal. The second one ends the process at once. */
export function listenForSignals(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const listeners = Object.entries(SIGNALS).map(([name, number]) => {
    const listener = () => {
      if (controller.signal.aborted) process.exit(128 + number);
      controller.abort(new InterruptedError(number));
    };
    process.on(name, listener);
    return () => process.off(name, listener);
  });
  return {
    signal: controller.signal,
    stop: () => {
      for (const remove of listeners) remove();
    },
  };
}

/** Settles like the promise, or rejects when the signal has aborted and the promise has not settled within a moment. */
export async function untilInterrupted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw signal.reason;
  let stop = () => {};
  const interrupted = new Promise<never>((_, reject) => {
    // The call gets a moment to tell the server.
    const listener = () => setTimeout(() => reject(signal.reason), 50);
    signal.addEventListener("abort", listener);
    stop = () => signal.removeEventListener("abort", listener);
  });
  try {
    return await Promise.race([promise, interrupted]);
  } finally {
    stop();
    promise.catch(() => undefined);
  }
}
