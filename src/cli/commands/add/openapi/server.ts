/**
 * The base URL of the API.
 *
 * @module
 */
import { usageError } from "../../../exit.ts";
import { oneLine } from "../../../terminal/terminal.ts";
import type { ReadAnswer } from "./generator.ts";
import type { Recorded } from "./record.ts";

const EXAMPLE = "--server https://api.example.com/v1";

/** Returns a base URL that the user has named, without a slash at the end. @throws {CliError} if it cannot be used. */
export function checkServer(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  if (!URL.canParse(given)) throw usageError(`${oneLine(given, 200)} is not a URL. Name the base URL: ${EXAMPLE}`);
  const { protocol, username, password, search, hash, origin, pathname } = new URL(given);
  if (username !== "" || password !== "")
    throw usageError("--server must not contain a user name or a password. Credentials are secrets of the Worker.");
  if (protocol !== "https:")
    throw usageError(
      `${oneLine(given, 200)} is not an https: URL. Name the base URL of the API: ${EXAMPLE}. To try the tools with an API on your machine, write its URL into .dev.vars afterwards, as the command prints.`,
    );
  if (search !== "" || hash !== "") throw usageError(`--server must not contain a query or a fragment: ${EXAMPLE}`);
  return `${origin}${pathname.replace(/\/+$/, "")}`;
}

/** Returns the first server of a description that can be used. */
export function describedServer({ servers }: ReadAnswer): string | undefined {
  return servers.find((url) => url.startsWith("https://"));
}

/** @throws {CliError} if the description has no server that can be used, and the user has not named one. */
export function chooseServer(read: ReadAnswer, given: string | undefined): string {
  const found = given ?? describedServer(read);
  if (found !== undefined) return found;
  throw usageError(
    `The description names no server with an https: URL. Name the base URL of the API: ${EXAMPLE}. To try the tools with an API on your machine, write its URL into .dev.vars afterwards, as the command prints.`,
  );
}

/** Describes how to use another server that the description now names. Undefined if it does not name another one. */
export function describeMoved(record: Recorded | undefined, read: ReadAnswer, name: string): string | undefined {
  const now = describedServer(read);
  if (record === undefined || now === undefined || now === record.server) return undefined;
  if (now === record.described) return undefined;
  return `The description names ${oneLine(now, 200)} now. Your tools still use ${record.server}. To change it: --name ${name} --server ${oneLine(now, 200)}`;
}
