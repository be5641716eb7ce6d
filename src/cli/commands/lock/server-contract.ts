/**
 * Reads the contract of a running server.
 *
 * @module
 */
import type { Contract } from "../../../lock/contract.ts";
import { createContract } from "../../../lock/contract.ts";
import { formatError, withMarks } from "../../exit.ts";
import type { CommandSession } from "../../server/connection.ts";
import type { ConnectionOptions } from "../../server/options.ts";
import { redactText } from "../../terminal/redact.ts";

/** The time limit of the request for the metadata of a protected resource, in milliseconds, unless the user gives another one. */
const TIMEOUT_MS = 10_000;

/**
 * Reads all lists of a server, and its scopes.
 *
 * @throws {KitError} `definition-invalid` if a definition is nested too deeply.
 */
export async function readServerContract(session: CommandSession, options: ConnectionOptions): Promise<Contract> {
  const { client, signal } = session;
  const { capabilities, info, instructions } = client.server;
  const [tools, prompts, resources, resourceTemplates, scopes] = await Promise.all([
    capabilities.tools ? client.tools({ signal }).all() : [],
    capabilities.prompts ? client.prompts({ signal }).all() : [],
    capabilities.resources ? client.resources({ signal }).all() : [],
    capabilities.resources ? client.resourceTemplates({ signal }).all() : [],
    readScopes(session, options),
  ]);
  return createContract({ name: info?.name, instructions, scopes, tools, prompts, resources, resourceTemplates });
}

/** Returns the scopes in the metadata of a server with a URL; undefined if it has none, or if they cannot be read. */
async function readScopes(
  { target, terminal }: CommandSession,
  { timeout }: ConnectionOptions,
): Promise<readonly string[] | undefined> {
  if (target.kind !== "http") return undefined;
  const { discoverResource } = await import("../../../client/oauth/discovery.ts");
  const { resolveHost } = await import("../../../node/index.ts");
  const net = { server: new URL(target.url), fetch, timeoutMs: timeout ?? TIMEOUT_MS, resolve: resolveHost };
  try {
    const { scopes } = await discoverResource(net, undefined);
    return scopes?.split(" ");
  } catch (error) {
    const reason = withMarks(redactText(formatError(error)));
    terminal.note(terminal.err.yellow(`Warning: the scopes could not be read, so they are left out: ${reason}`));
    return undefined;
  }
}
