/**
 * Reads the contract of a running server.
 *
 * @module
 */
import type { ListPageOptions } from "../../../client/index.ts";
import { McpError } from "../../../core/protocol/errors.ts";
import type { Contract } from "../../../lock/contract.ts";
import { createContract } from "../../../lock/contract.ts";
import { CliError, Exit, formatError, withMarks, withMore } from "../../exit.ts";
import type { CommandSession } from "../../server/connection.ts";
import type { ConnectionOptions } from "../../server/options.ts";
import { redactText } from "../../terminal/redact.ts";

/** The time limit of the request for the metadata of a protected resource, in milliseconds, unless the user sets another limit. */
const TIMEOUT_MS = 10_000;
/** The maximum number of pages of a list, and of characters of all its pages together. */
const [PAGES_MAX, LIST_CHARS_MAX] = [1_000, 32 * 1024 * 1024];
/** The error code for a method that the server does not have. */
const METHOD_NOT_FOUND = -32601;

/**
 * Reads all lists of a server, and its scopes.
 *
 * @throws {CliError} if a list is not complete, so that a part of the contract is never taken for the whole.
 * @throws {KitError} `definition-invalid` if a definition is nested too deeply.
 */
export async function readServerContract(session: CommandSession, options: ConnectionOptions): Promise<Contract> {
  const { client, signal } = session;
  const { capabilities, info, instructions } = client.server;
  const at = (cursor: string | undefined): ListPageOptions => (cursor === undefined ? { signal } : { cursor, signal });
  const [tools, prompts, resources, resourceTemplates, scopes] = await Promise.all([
    capabilities.tools
      ? readList("tools/list", (cursor) => client.listTools(at(cursor)).then((page) => toPage(page.tools, page)))
      : [],
    capabilities.prompts
      ? readList("prompts/list", (cursor) => client.listPrompts(at(cursor)).then((page) => toPage(page.prompts, page)))
      : [],
    // A server can have resources without templates, or templates without resources.
    capabilities.resources
      ? readOptionalList(session, "resources/list", (cursor) =>
          client.listResources(at(cursor)).then((page) => toPage(page.resources, page)),
        )
      : [],
    capabilities.resources
      ? readOptionalList(session, "resources/templates/list", (cursor) =>
          client.listResourceTemplates(at(cursor)).then((page) => toPage(page.resourceTemplates, page)),
        )
      : [],
    readScopes(session, options),
  ]);
  return createContract({ name: info?.name, instructions, scopes, tools, prompts, resources, resourceTemplates });
}

/** A page of a list. */
interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: unknown;
}

type ReadPage<T> = (cursor: string | undefined) => Promise<Page<T>>;

function toPage<T>(items: readonly T[], { nextCursor }: { readonly nextCursor?: unknown }): Page<T> {
  return { items, nextCursor };
}

/** Reads a list that a server may lack although it has the capability. */
async function readOptionalList<T>({ terminal }: CommandSession, method: string, read: ReadPage<T>): Promise<T[]> {
  try {
    return await readList(method, read);
  } catch (error) {
    const cause = error instanceof CliError ? error.cause : error;
    if (!McpError.is(cause) || cause.code !== METHOD_NOT_FOUND) throw error;
    const text = `Warning: the server does not have the method ${method}, so this list counts as empty.`;
    terminal.note(terminal.err.yellow(text));
    return [];
  }
}

/** Reads all pages of a list. @throws {CliError} naming the method if a page cannot be read, or if the list does not end. */
async function readList<T>(method: string, read: ReadPage<T>): Promise<T[]> {
  const items: T[] = [];
  const seen = new Set<string>();
  let length = 0;
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const page = await read(cursor).catch((error: unknown) => {
      throw McpError.is(error) ? withMore(error, `The method was ${method}.`) : error;
    });
    items.push(...page.items);
    // Some servers send null on the last page.
    if (typeof page.nextCursor !== "string") return items;
    length += JSON.stringify([page.items, page.nextCursor]).length;
    if (seen.has(page.nextCursor)) throw incomplete(method, "the server returned a cursor twice");
    if (pages >= PAGES_MAX) throw incomplete(method, `it has more than ${PAGES_MAX} pages`);
    if (length > LIST_CHARS_MAX) throw incomplete(method, `it has more than ${LIST_CHARS_MAX} characters`);
    seen.add(page.nextCursor);
    cursor = page.nextCursor;
  }
}

function incomplete(method: string, reason: string): CliError {
  return new CliError(Exit.serverError, `The list of ${method} could not be read completely: ${reason}.`);
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
    return scopes?.split(/\s+/).filter((scope) => scope !== "");
  } catch (error) {
    const reason = withMarks(redactText(formatError(error)));
    terminal.note(terminal.err.yellow(`Warning: the scopes could not be read, so they are left out: ${reason}`));
    return undefined;
  }
}
