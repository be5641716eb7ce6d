/**
 * A progress bar for a call, on standard error. It is shown only in a terminal.
 *
 * @module
 */
import type { Progress } from "../../client/index.ts";
import { oneLine, type Terminal } from "./terminal.ts";

const WIDTH = 24;

/** Formats progress as one line, such as `████░░░░ 50% 5/10 reading`. */
export function formatProgress({ progress, total, message }: Progress): string {
  const text = message === undefined ? "" : ` ${oneLine(message)}`;
  if (total === undefined || !(total > 0)) return `${progress}${text}`;
  const part = Math.min(Math.max(progress / total, 0), 1);
  const full = Math.round(part * WIDTH);
  return `${"█".repeat(full)}${"░".repeat(WIDTH - full)} ${Math.floor(part * 100)}% ${progress}/${total}${text}`;
}

/** The interval at which the elapsed time is updated, in milliseconds. */
const TICK_MS = 1_000;

/** Runs a call, and shows its progress and the elapsed time. */
export async function withProgress<T>(
  terminal: Terminal,
  call: (onProgress: (progress: Progress) => void) => Promise<T>,
): Promise<T> {
  let last: Progress | undefined;
  let seconds = 0;
  const show = () => {
    const time = seconds > 0 ? ` ${seconds}s` : "";
    terminal.status((last ? formatProgress(last) : "waiting") + time);
  };
  const timer = setInterval(() => {
    seconds += 1;
    show();
  }, TICK_MS);
  try {
    return await call((progress) => {
      last = progress;
      show();
    });
  } finally {
    clearInterval(timer);
    terminal.status(undefined);
  }
}
