/** Creates issues with GitHub's REST API: https://docs.github.com/rest/issues/issues#create-an-issue */
import { ToolError } from "mcp-edge";
import * as z from "zod";

const TIMEOUT_MS = 20_000;

export interface NewIssue {
  /** `owner/name`. */
  readonly repository: string;
  readonly title: string;
  readonly body: string;
}

const created = z.object({ number: z.number(), html_url: z.url() });
export type Issue = z.infer<typeof created>;

/** Messages for the model, by HTTP status. GitHub also returns 404 if the token has no access to the repository. */
const REFUSALS: Readonly<Record<number, string>> = {
  301: "The repository was renamed. Use its new name.",
  401: "GitHub no longer accepts the user's token. The user must sign in again.",
  403: "The user is not allowed to do this, or the rate limit is exceeded.",
  404: "The repository does not exist, or the user has not given this app access to it.",
  410: "Issues are disabled in this repository.",
  422: "GitHub did not accept the issue: the title or the body is not valid.",
};

/** Creates an issue as the user to whom the token belongs. @throws {ToolError} if GitHub refuses. */
export async function createIssue(
  url: string,
  token: string,
  { repository, title, body }: NewIssue,
  signal: AbortSignal,
): Promise<Issue> {
  const api = url === "https://github.com" ? "https://api.github.com" : `${url}/api/v3`;
  const response = await fetch(`${api}/repos/${repository}/issues`, {
    method: "POST",
    headers: {
      Accept: "application/vnd.github+json",
      Authorization: `Bearer ${token}`,
      "Content-Type": "application/json",
      // GitHub refuses requests without a User-Agent.
      "User-Agent": "mcp-notebook",
      "X-GitHub-Api-Version": "2022-11-28",
    },
    body: JSON.stringify({ title, body }),
    // A redirect could lead to another host, which must not receive the token.
    redirect: "manual",
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  if (response.status === 201) return created.parse(await response.json());
  await response.body?.cancel();
  throw new ToolError(REFUSALS[response.status] ?? `GitHub returned HTTP status ${response.status}. Try again later.`);
}
