/**
 * Ctrl-C and other signals that end a command.
 *
 * @module
 */
import { InterruptedError } from "../exit.ts";

/** The numbers of the signals that end a command. */
const SIGNALS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;

/** Returns an abort signal that aborts when the process receives a signal. A second signal ends the process immediately. */
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

/** Settles like the promise, or rejects 50 ms after the signal aborts if the promise has not settled by then. */
export async function untilInterrupted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw signal.reason;
  let stop = () => {};
  const interrupted = new Promise<never>((_, reject) => {
    // The call gets a moment to notify the server that it was cancelled.
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
