/**
 * `mcp-edge list`: prints the lists of a server.
 *
 * @module
 */

import { Exit } from "../../exit.ts";
import { noHandlers, withClient } from "../../server/connection.ts";
import type { ConnectionOptions } from "../../server/options.ts";
import { type Offer, printJson, printOffer } from "../../terminal/show.ts";

/** Runs the command and returns its exit code. */
export async function listServer(
  server: string,
  what: string | undefined,
  options: ConnectionOptions,
): Promise<number> {
  return withClient(server, options, noHandlers, async ({ client, terminal, signal }) => {
    const { capabilities } = client.server;
    const isListed = (name: string, declared: unknown) =>
      what === name || (what === undefined && declared !== undefined);
    const [tools, prompts, resources, resourceTemplates] = await Promise.all([
      isListed("tools", capabilities.tools) ? client.tools({ signal }).all() : undefined,
      isListed("prompts", capabilities.prompts) ? client.prompts({ signal }).all() : undefined,
      isListed("resources", capabilities.resources) ? client.resources({ signal }).all() : undefined,
      isListed("templates", capabilities.resources) ? client.resourceTemplates({ signal }).all() : undefined,
    ]);
    const offer: Offer = {
      server: client.server,
      ...(tools ? { tools } : {}),
      ...(prompts ? { prompts } : {}),
      ...(resources ? { resources } : {}),
      ...(resourceTemplates ? { resourceTemplates } : {}),
    };
    if (options.json) printJson(terminal, offer);
    else printOffer(terminal, offer);
    return Exit.ok;
  });
}
