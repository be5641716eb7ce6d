/**
 * The end of the output: another program that stops reading, such as `head`, is no error.
 *
 * @module
 */

let isClosed = false;

/** Whether nobody reads standard output any more. */
export function isOutputClosed(): boolean {
  return isClosed;
}

/** Ends the command as a closed terminal does, if the program that reads its output has ended. */
export function watchOutput(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    if (isClosed) return;
    isClosed = true;
    // Nothing has to be ended if no command waits for the signal.
    if (!process.emit("SIGHUP", "SIGHUP")) process.exit();
  });
  // Notes that nobody reads are not missed.
  process.stderr.on("error", () => undefined);
}
