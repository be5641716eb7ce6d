/** The Worker with an authorization server, for the tests of a file. */
import { afterAll, beforeAll } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import type { Members } from "../http/messages.ts";
import { type Asked, authorizeUrl, Browser, newVerifier, postForm, visit } from "./authorization.ts";
import { ModernClient, readAnswer } from "./client.ts";

export let worker: TestWorker;

/**
 * Starts the Worker.
 *
 * @param upstream Returns the URL of the identity provider with tokens.
 * @param bindings Additional bindings, such as sealing keys that the test uses.
 */
export function setUp(
  upstream: () => string = () => "http://127.0.0.1:1",
  outbound?: (request: Request) => Response | Promise<Response>,
  bindings: Record<string, string> = {},
): void {
  beforeAll(async () => {
    worker = await startWorker({
      entry: "test/worker/fixtures/authorization-server.ts",
      objects: { MCP: "McpObject" },
      bindings: { UPSTREAM: upstream(), ...bindings },
      twin: true,
      ...(outbound && { outbound }),
    });
  });
  afterAll(() => worker?.stop());
}

export const url = (path = "/mcp"): string => worker.url(path);
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** A client that the author has named. */
export const KNOWN: Asked = { client_id: "known", redirect_uri: "https://known.example/callback" };

/** Calls a tool, and returns the status. */
export async function statusOf(
  token: string,
  tool = "who",
  headers: Record<string, string> = bearer(token),
): Promise<number> {
  const response = await new ModernClient(url()).call(tool, {}, { headers });
  await response.body?.cancel();
  return response.status;
}

/** Returns what handlers see as `ctx.auth`. */
export async function principalOf(token: string): Promise<Members> {
  const { status, raw, text } = await readAnswer(new ModernClient(url()).call("who", {}, { headers: bearer(token) }));
  if (status !== 200) throw new Error(`${status} ${raw}`);
  return JSON.parse(text ?? "{}") as Members;
}

type Fields = Readonly<Record<string, string | undefined>>;

/** Sends a refresh. */
export function refresh(token: string, more: Fields = {}, headers: Record<string, string> = {}) {
  const fields = { grant_type: "refresh_token", refresh_token: token, client_id: "known", ...more };
  return postForm(url("/token"), fields, headers);
}

/** Where an authorization request leads a user: the parameters for the client, or the page with its status. */
export async function outcomeOf(
  asked: Partial<Asked>,
  { query = "", user = "ada", browser = new Browser() } = {},
): Promise<{ readonly client?: Record<string, string>; readonly status: number; readonly page: string }> {
  const to = authorizeUrl(worker.origin, newVerifier(), { ...KNOWN, ...asked } as Asked) + query;
  const { url: at, page, status } = await visit(browser, to, user);
  if (at.startsWith(worker.origin)) return { status, page };
  return { status, page, client: Object.fromEntries(new URL(at).searchParams) };
}
