/**
 * `mcp-edge logout`: removes the tokens for a server, and revokes them.
 *
 * @module
 */
import { OAuthError, type RevocationOutcome } from "../../../client/oauth/index.ts";
import { CliError, Exit, usageError } from "../../exit.ts";
import { signOut } from "../../server/sign-in.ts";
import { findName, readTarget } from "../../server/target.ts";
import { createTerminal, oneLine } from "../../terminal/terminal.ts";

/** Runs the command and returns its exit code. */
export async function logout(server: string): Promise<number> {
  // Only the user's own tokens are affected, so no consent is needed.
  const target = await readTarget(server, { yes: true });
  if (target.kind !== "http") throw usageError("Only servers with a URL support sign-in.");
  const name = oneLine(findName(target), 500);
  try {
    createTerminal().note(describe(await signOut(target.url), name));
    return Exit.ok;
  } catch (error) {
    if (!(error instanceof OAuthError) || error.reason === "store-failed") throw error;
    const text = `The tokens for ${name} were removed from this machine, but they could not be revoked: ${error.message}`;
    throw new CliError(Exit.connection, text, { cause: error });
  }
}

function describe(outcome: RevocationOutcome, name: string): string {
  if (outcome === "no-tokens") return `There are no tokens for ${name} on this machine.`;
  if (outcome === "revoked") return `Signed out of ${name}. The tokens were removed from this machine and revoked.`;
  return `The tokens for ${name} were removed from this machine. The authorization server cannot revoke tokens, so they stay valid until they expire.`;
}
