import { type HandlerContext, ToolError } from "mcp-edge";
import type { RemoteNotes } from "./notes.ts";

/** The bindings that the server uses. On stdio, stdio.ts provides them. */
export interface NotebookEnv {
  readonly NOTES: { getByName(name: string): RemoteNotes };
  readonly GITHUB_URL: string;
  /** On stdio there is one user, who does not sign in. Absent at the edge, where nobody is let in without a token. */
  readonly localUser?: { readonly name: string; readonly githubToken: string | undefined };
}

export type NotebookContext = HandlerContext<NotebookEnv>;

/**
 * Returns the notes of the user for whom the request was made. `subject` names the user and never changes: it is a hash
 * of the account at the identity provider.
 */
export function openNotes({ auth, env }: NotebookContext): RemoteNotes {
  const owner = auth?.subject ?? env.localUser?.name;
  if (owner === undefined) throw new Error("There is no user: the endpoint has no plugin that authenticates.");
  return env.NOTES.getByName(owner);
}

/** Returns the user's own access token for GitHub. */
export async function getGithubToken({ auth, env }: NotebookContext): Promise<string> {
  if (auth?.upstream) {
    try {
      return (await auth.upstream()).accessToken;
    } catch (error) {
      // Its text says what the user can do. Its class is not imported, because its module works only in Workers.
      if (error instanceof Error && error.name === "UpstreamError") throw new ToolError(error.message);
      throw error;
    }
  }
  const token = env.localUser?.githubToken;
  if (!token) throw new ToolError("There is no token for GitHub. Set the environment variable GITHUB_TOKEN.");
  return token;
}
