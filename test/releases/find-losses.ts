/** Checks that everything that was stored still works, possibly with another build: see everything.ts. */
import type { SigningKey } from "../harness/issuer.ts";
import { proofOf } from "../harness/proofs.ts";
import type { Members } from "../http/messages.ts";
import { LegacyClient, ModernClient, Reading, readAnswer } from "../worker/client.ts";
import { answersTo, TaskClient, textOf } from "../worker/task-client.ts";
import {
  ASKS,
  accept,
  acceptsAssertions,
  ada,
  exchangeAssertion,
  ISSUER,
  IssuerBrowser,
  KEY,
  type Kept,
  messagesAfter,
  openSession,
  readFile,
  refresh,
  type StoredSession,
  statusOf,
  type Target,
  takesFiles,
  upload,
  url,
} from "./everything.ts";

/** A finding: something that was stored and no longer works. */
type Report = (what: string) => void;

/**
 * Checks that everything still works. Returns what does not.
 *
 * @param nowMs The time of the Worker, which is soon after everything was stored.
 */
export async function findLosses(target: Target, kept: Kept, nowMs: () => number): Promise<string[]> {
  const losses: string[] = [];
  const checks: Readonly<Record<string, (report: Report) => Promise<void>>> = {
    session: (report) => checkSessions(target, kept, report),
    stream: (report) => checkStream(target, kept, report),
    asking: (report) => checkAsking(target, kept, report),
    tasks: (report) => checkTasks(target, kept, report),
    calls: (report) => checkCalls(target, kept, report),
    proofs: (report) => checkProofs(target, kept, nowMs, report),
    grants: (report) => checkGrants(target, kept, report),
    managed: (report) => checkManaged(target, kept, report),
    files: (report) => checkFiles(target, kept, report),
  };
  for (const [name, check] of Object.entries(checks)) {
    const report: Report = (what) => void losses.push(`${name}: ${what}`);
    await check(report).catch((error: unknown) => report(String(error)));
  }
  return losses;
}

function expectEqual(report: Report, what: string, found: unknown, wanted: unknown): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (one !== other) report(`${what} is ${one?.slice(0, 500)}, not ${other?.slice(0, 500)}`);
}

async function checkSessions(target: Target, kept: Kept, report: Report): Promise<void> {
  const session = await resumed(target, kept.session);
  expectEqual(report, "a call", (await readAnswer(session.call("plain"))).text, "plain");
  const stop = new AbortController();
  const reading = new Reading(await session.get({ signal: stop.signal }));
  await readAnswer(session.call("touch"));
  await reading.has("a notification for the stored subscription", ({ messages }) =>
    messages.some(({ method }) => method === "notifications/resources/updated"),
  );
  stop.abort();
  const ended = await resumed(target, kept.ended);
  expectEqual(report, "the status of an ended session", (await readAnswer(ended.call("plain"))).status, 404);
  const shared = await resumed(target, kept.shared, "/shared");
  expectEqual(report, "the status of a shared session", (await readAnswer(shared.request("ping"))).status, 200);
}

async function checkStream(target: Target, { session: stored, stream }: Kept, report: Report): Promise<void> {
  const session = await resumed(target, stored);
  expectEqual(report, "a stream", await messagesAfter(session, stream.first), stream.messages);
}

async function checkAsking(target: Target, { asking }: Kept, report: Report): Promise<void> {
  const session = await resumed(target, asking);
  const reading = new Reading(await session.get({ lastEventId: asking.last }));
  const answered = await session.send({ jsonrpc: "2.0", id: asking.question, result: accept("Ada") });
  expectEqual(report, "the status of an answer", answered.status, 202);
  await reading.has("the result", ({ isOver }) => isOver);
  expectEqual(report, "the result", textOf(reading.messages.at(-1) ?? {}), "Ada 8");
}

async function checkTasks(target: Target, { tasks, completed, legacyTask }: Kept, report: Report): Promise<void> {
  const client = new TaskClient(url(target), { headers: ada });
  const get = (state: string) => client.get(tasks[state] ?? "");
  expectEqual(report, "the result of a completed task", textOf(await get("completed")), completed);
  for (const state of ["failed", "cancelled"]) {
    expectEqual(report, `the status of a ${state} task`, (await get(state)).status, state);
  }
  expectEqual(report, "the status of a waiting task", (await get("waiting")).status, "working");
  const asked = await get("asking");
  await client.update(
    tasks.asking ?? "",
    answersTo(asked, () => "Ada"),
  );
  const ended = textOf(await client.reaches(tasks.asking ?? "", "completed"));
  if (!ended.startsWith("Ada ")) report(`the result of a task that asked is ${ended}`);
  const legacy = await openSession(target);
  const { messages } = await readAnswer(legacy.request("tasks/get", { taskId: legacyTask }));
  const [{ result }] = messages as [{ result: Members }];
  expectEqual(report, "the status of a task of 2025-11-25", result.status, "completed");
}

async function checkCalls(target: Target, kept: Kept, report: Report): Promise<void> {
  const client = new ModernClient(url(target));
  const { paid, paidAnonymously, paying, round } = kept;
  const repeat = async (key: string, headers: Readonly<Record<string, string>>) =>
    (await readAnswer(client.call("pay", {}, { meta: { [KEY]: key }, headers }))).text;
  expectEqual(report, "the outcome of a call with a key", await repeat(paid.key, ada), paid.text);
  const anonymously = await repeat(paidAnonymously.key, {});
  expectEqual(report, "the outcome of an anonymous call with a key", anonymously, paidAnonymously.text);
  const go = async (name: string, { requestState, question }: Kept["round"], meta: Members) => {
    const params = { name, arguments: { count: 2 }, requestState, inputResponses: { [question]: accept("Ada") } };
    const headers = { ...ada, "mcp-name": name };
    return (await readAnswer(client.request("tools/call", params, { meta: { ...ASKS, ...meta }, headers }))).text ?? "";
  };
  expectEqual(report, "a continued call", await go("ask", round, {}), "Ada 2");
  const first = await go("pay_asking", paying, { [KEY]: paying.key });
  if (!first.startsWith("paid by Ada ")) report(`a continued call with a key returned ${first}`);
  expectEqual(report, "its repetition", await go("pay_asking", paying, { [KEY]: paying.key }), first);
}

async function checkProofs(target: Target, { proof }: Kept, nowMs: () => number, report: Report): Promise<void> {
  const { access, used } = proof;
  const send = (dpop: string) => statusOf(target, { authorization: `DPoP ${access}`, dpop });
  expectEqual(report, "the status of a used proof", await send(used), 401);
  const key = await importKey(proof.jwk);
  const iat = Math.floor(nowMs() / 1000);
  const fresh = await proofOf(key, access, `${ISSUER}/signed`, { iat, jti: crypto.randomUUID() });
  expectEqual(report, "the status of a new proof", await send(fresh), 200);
}

async function checkGrants(target: Target, { tokens, replaced, cookies }: Kept, report: Report): Promise<void> {
  const bearer = { authorization: `Bearer ${tokens.access}` };
  expectEqual(report, "the status of an access token", await statusOf(target, bearer), 200);
  // A lost response is repeated.
  const again = await refresh(target, replaced);
  expectEqual(report, "the repetition of a refresh", again.refresh_token, tokens.refresh);
  const next = await refresh(target, tokens.refresh);
  const renewed = { authorization: `Bearer ${String(next.access_token)}` };
  expectEqual(report, "the status of a refreshed token", await statusOf(target, renewed), 200);
  const browser = new IssuerBrowser(target);
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  const page = await (await browser.get(`${ISSUER}/authorize/allowed`)).text();
  if (!page.includes("Known")) report(`the page of allowed clients is ${page.slice(0, 300)}`);
}

/** Access that a company has given. An older build, which accepts no assertions, ends it. */
async function checkManaged(target: Target, { managed }: Kept, report: Report): Promise<void> {
  if (!managed || !(await acceptsAssertions(target))) return;
  const bearer = { authorization: `Bearer ${managed.access}` };
  expectEqual(report, "the status of the token of an assertion", await statusOf(target, bearer), 200);
  const { body } = await exchangeAssertion(target, managed.assertion);
  expectEqual(report, "the repetition of an assertion", body.error_description, "The assertion was used before.");
}

/** A file of a client, and a link that was not used. An older build, which has no tools for files, cannot read them. */
async function checkFiles(target: Target, { uploaded }: Kept, report: Report): Promise<void> {
  if (!uploaded || !(await takesFiles(target))) return;
  expectEqual(report, "a file", await readFile(target, uploaded.file), uploaded.text);
  const { file, url: place } = uploaded.link;
  expectEqual(report, "the status of an upload", await upload(target, place, "another file"), 201);
  expectEqual(report, "the uploaded file", await readFile(target, file), "another file");
}

/** The session of an id. */
async function resumed(target: Target, { id, version }: StoredSession, path = "/all"): Promise<LegacyClient> {
  const client = await LegacyClient.open(target.url(path), { version, silent: true });
  return Object.assign(client, {
    sessionId: id,
    headers: { "mcp-session-id": id, "mcp-protocol-version": version },
  });
}

/** The key of a client, from its private half. */
async function importKey(jwk: JsonWebKey): Promise<SigningKey> {
  const parameters = { name: "ECDSA", namedCurve: "P-256" };
  const privateKey = await crypto.subtle.importKey("jwk", jwk, parameters, true, ["sign"]);
  const { kty, crv, x, y } = jwk;
  return { algorithm: "ES256", pair: { privateKey, publicKey: privateKey }, jwk: { kty, crv, x, y } };
}
