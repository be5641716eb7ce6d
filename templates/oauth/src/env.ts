import { type HandlerContext, ToolError } from "mcp-edge";
import type { RemoteNotes } from "./notes.ts";

/** The bindings that the server uses. Over stdio, stdio.ts provides them. */
export interface NotebookEnv {
  readonly NOTES: { getByName(name: string): RemoteNotes };
  readonly GITHUB_URL: string;
  /** The only user over stdio, who does not sign in. Undefined in the Worker, where every request needs a token. */
  readonly localUser?: { readonly name: string; readonly githubToken: string | undefined };
}

export type NotebookContext = HandlerContext<NotebookEnv>;

/**
 * Returns the notes of the user who makes the request. `subject` identifies the user and never changes: it is a hash of the account at
 * the identity provider.
 */
export function openNotes({ auth, env }: NotebookContext): RemoteNotes {
  const owner = auth?.subject ?? env.localUser?.name;
  if (owner === undefined) throw new Error("There is no user, because the endpoint has no plugin that authenticates.");
  return env.NOTES.getByName(owner);
}

/** Returns the user's own access token for GitHub. */
export async function getGithubToken({ auth, env }: NotebookContext): Promise<string> {
  if (auth?.upstream) {
    try {
      return (await auth.upstream()).accessToken;
    } catch (error) {
      // The message says what the user can do. The class is not imported, because its module works only in Workers.
      if (error instanceof Error && error.name === "UpstreamError") throw new ToolError(error.message);
      throw error;
    }
  }
  const token = env.localUser?.githubToken;
  if (!token) throw new ToolError("There is no GitHub token. Set the environment variable GITHUB_TOKEN.");
  return token;
}
