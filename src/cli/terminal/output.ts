/**
 * Ends the command quietly when the program that reads its output, such as `head`, stops reading.
 *
 * @module
 */

let isClosed = false;

/** Whether the reader of standard output has closed it. */
export function isOutputClosed(): boolean {
  return isClosed;
}

/** When the reader of standard output closes it, ends the command as a closed terminal does, with SIGHUP. */
export function watchOutput(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    if (isClosed) return;
    isClosed = true;
    // If no listener handles the signal, there is nothing to clean up.
    if (!process.emit("SIGHUP", "SIGHUP")) process.exit();
  });
  // A failure to write to standard error can be ignored.
  process.stderr.on("error", () => undefined);
}
