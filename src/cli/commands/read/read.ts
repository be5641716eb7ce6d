/**
 * `mcp-edge read`: reads a resource and prints it.
 *
 * @module
 */
import { Exit } from "../../exit.ts";
import { withClient } from "../../server/connection.ts";
import type { ConnectionOptions } from "../../server/options.ts";
import { withProgress } from "../../terminal/progress.ts";
import { handlersFor } from "../../terminal/questions.ts";
import { printJson, printResource } from "../../terminal/show.ts";

/** Runs the command and returns its exit code. */
export function readResource(server: string, uri: string, options: ConnectionOptions): Promise<number> {
  return withClient(server, options, handlersFor, async ({ client, terminal, signal }) => {
    const read = await withProgress(terminal, (onProgress) => client.readResource(uri, { signal, onProgress }));
    if (options.json) printJson(terminal, read);
    else printResource(terminal, read);
    return Exit.ok;
  });
}
