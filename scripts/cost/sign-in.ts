/** Counts what signing in, refreshing and calling cost with an authorization server in the Worker. */
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { allow, authorizeUrl, Browser, newVerifier, postForm, signIn } from "../../test/worker/authorization.ts";
import { ModernClient } from "../../test/worker/client.ts";
import { ROOT } from "../tools.ts";
import type { Billed } from "./counted-worker.ts";

const CLIENT = { client_id: "known", redirect_uri: "https://known.example/callback" };
const DAY_MS = 24 * 60 * 60_000;

/** The counts, by their description in the document. */
export type SignInCounts = Readonly<Record<string, Billed>>;

/** Counts each kind of use once. */
export async function countSignIn(): Promise<SignInCounts> {
  await using worker = await start();
  const counted = async (work: () => Promise<unknown>) => {
    await take(worker);
    await work();
    return take(worker);
  };
  const [browser, counts] = [new Browser(), {} as Record<string, Billed>];
  const origin = worker.origin;
  let tokens = await signIn(origin, CLIENT, { user: "first" });
  counts["a user signs in and allows a client, which gets its tokens"] = await counted(async () => {
    tokens = await signIn(origin, CLIENT, { browser });
  });
  counts["the same user allows the client again, without being asked"] = await counted(async () => {
    await allow(browser, authorizeUrl(origin, newVerifier(), CLIENT), "ada");
  });
  counts["a refresh"] = await counted(() => refresh(origin, tokens.refresh_token));
  const { body } = await refresh(origin, tokens.refresh_token);
  counts["nine equal refreshes after it"] = await counted(() =>
    Promise.all(Array.from({ length: 9 }, () => refresh(origin, tokens.refresh_token))),
  );
  const token = String(body.access_token);
  counts["the first call with an access token in an isolate, and one each minute"] = await counted(() =>
    call(worker, token),
  );
  counts["every other call"] = await counted(() => call(worker, token));
  counts["a refused call with a forged token"] = await counted(() => call(worker, "forged"));
  counts["a revocation"] = await counted(() => {
    return postForm(`${origin}/revoke`, { token: String(body.refresh_token), client_id: "known" });
  });
  // A user who never returns, alone in a Worker, until no data is left.
  counts["the alarms and rows that delete what a user has left who never comes back"] = await countEnd();
  return counts;
}

/** Counts what happens after a sign-in until no data is left. */
async function countEnd(): Promise<Billed> {
  await using worker = await start();
  await signIn(worker.origin, CLIENT);
  await take(worker);
  // The clock advances one day at a time, as in reality.
  for (let day = 0; day < 40; day += 1) await worker.advance(DAY_MS);
  // Moving the clock from outside reads the storage of every object, which the alarms do not.
  return { ...(await take(worker)), workerRequests: 0, requests: 0, wakes: 0, rowsRead: 0 };
}

function start(): Promise<TestWorker> {
  return startWorker({
    entry: "scripts/cost/sign-in-worker.ts",
    root: ROOT,
    objects: { MCP: "McpObject" },
    // The keys object is asked once for each isolate.
    bindings: { MCP_KEYS: newKeys() },
  });
}

async function take(worker: TestWorker): Promise<Billed> {
  return (await (await fetch(worker.url("/billed"))).json()) as Billed;
}

function refresh(origin: string, token: string) {
  return postForm(`${origin}/token`, { grant_type: "refresh_token", refresh_token: token, client_id: "known" });
}

async function call(worker: TestWorker, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await new ModernClient(worker.url("/mcp")).call("who", {}, { headers });
  await response.body?.cancel();
}
