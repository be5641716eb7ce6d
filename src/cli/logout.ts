/**
 * `mcp-edge logout`: forgets the tokens for a server.
 *
 * @module
 */
import { Exit, usageError } from "./exit.ts";
import { signOut } from "./sign-in.ts";
import { nameOf, readTarget } from "./target.ts";
import { createTerminal, oneLine } from "./terminal.ts";

/** Runs the command and returns its exit code. */
export async function logout(server: string): Promise<number> {
  // Only files of this machine change, so no consent is needed.
  const target = await readTarget(server, { yes: true });
  if (target.kind !== "http") throw usageError("Only servers with a URL have a sign-in.");
  await signOut(target.url);
  createTerminal().note(`Signed out of ${oneLine(nameOf(target), 500)}`);
  return Exit.ok;
}
