/**
 * Stores one of everything with the Worker of this folder. find-losses.ts checks later that all of it still works.
 */

import { newKey, signJwt } from "../harness/issuer.ts";
import { proofOf } from "../harness/proofs.ts";
import { isMembers, type Members } from "../http/messages.ts";
import { allow, authorizeUrl, Browser, fieldsOf, newVerifier, postForm } from "../worker/authorization.ts";
import { LegacyClient, ModernClient, Reading, readAnswer } from "../worker/client.ts";
import { AGENT, type Answer, exchange } from "../worker/companies.ts";
import { answersTo, keysOf, TaskClient, textOf } from "../worker/task-client.ts";
import { COMPANY, COMPANY_KEY } from "./company.ts";

/** The issuer of the authorization server, which does not depend on the port of the Worker. */
export const ISSUER = "https://releases.example";
const KNOWN = { client_id: "known", redirect_uri: "https://known.example/callback" };

/** A legacy session: its id and the user of its requests. */
export interface StoredSession {
  readonly id: string;
  readonly version: string;
}

/** Everything that clients keep of what was stored. */
export interface Kept {
  /** When the last of it was stored, in epoch milliseconds. */
  readonly atMs: number;
  readonly session: StoredSession;
  /** The id of the first event of a stream, and the messages of the stream after it. */
  readonly stream: { readonly first: string; readonly messages: readonly Members[] };
  /** A session whose call waits for an answer. */
  readonly asking: StoredSession & { readonly question: string; readonly last: string };
  readonly ended: StoredSession;
  readonly shared: StoredSession;
  /** Tasks by their states. */
  readonly tasks: Readonly<Record<string, string>>;
  readonly legacyTask: string;
  readonly completed: string;
  /** A call with an idempotency key, and its result. */
  readonly paid: { readonly key: string; readonly text: string };
  readonly paidAnonymously: { readonly key: string; readonly text: string };
  /** A call that asks: its state, so that it can be continued. */
  readonly paying: { readonly key: string; readonly requestState: unknown; readonly question: string };
  readonly round: { readonly requestState: unknown; readonly question: string };
  readonly tokens: { readonly access: string; readonly refresh: string };
  readonly replaced: string;
  readonly cookies: readonly (readonly [string, string])[];
  readonly proof: { readonly jwk: JsonWebKey; readonly access: string; readonly used: string };
  /** The access token that a company's assertion gave, and the assertion. Releases before 1.0.0 accept none. */
  readonly managed?: { readonly access: string; readonly assertion: string };
  /** A file that a client has uploaded, and an unused link. Releases before 1.0.0 have no files. */
  readonly uploaded?: { readonly file: string; readonly text: string; readonly link: UploadLink };
}

/** The requests of a test to a Worker. */
export interface Target {
  url(path: string): string;
}

export const KEY = "mcp-edge/idempotencyKey";
export const ASKS = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {}, url: {} } } };
export const ada = { "x-user": "ada" };
export const accept = (name: string) => ({ action: "accept", content: { name } });

/** A browser that uses the address of the Worker for the issuer. */
export class IssuerBrowser extends Browser {
  readonly #target: Target;

  constructor(target: Target) {
    super();
    this.#target = target;
  }

  override get(url: string, headers: Record<string, string> = {}): Promise<Response> {
    return super.get(this.#to(url), headers);
  }

  override post(url: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
    return super.post(this.#to(url), fields, { Origin: ISSUER, ...headers });
  }

  #to(url: string): string {
    return url.startsWith(ISSUER) ? this.#target.url(url.slice(ISSUER.length)) : url;
  }
}

/** Stores one of everything. */
export async function storeEverything(target: Target): Promise<Kept> {
  return {
    ...(await storeSessions(target)),
    ...(await storeTasks(target)),
    ...(await storeCalls(target)),
    ...(await storeSignIns(target)),
    ...(await storeFiles(target)),
    atMs: Date.now(),
  };
}

export const url = (target: Target) => target.url("/all");

export async function openSession(target: Target, capabilities: Members = {}, path = "/all"): Promise<LegacyClient> {
  return LegacyClient.open(target.url(path), { capabilities });
}

function toStored({ sessionId = "", version }: LegacyClient): StoredSession {
  return { id: sessionId, version };
}

async function storeSessions(target: Target) {
  const session = await openSession(target);
  await readAnswer(session.request("logging/setLevel", { level: "warning" }));
  await readAnswer(session.request("resources/subscribe", { uri: "test://a" }));
  const { raw } = await readAnswer(session.call("count", { count: 5 }, { progressToken: "p" }));
  const [first = ""] = [...raw.matchAll(/^id: (\S+-\w+-1)$/gm)].map(([, id]) => id ?? "");
  const messages = await messagesAfter(session, first);
  // Two standalone streams, which need two objects of the hub.
  const stop = new AbortController();
  const listening = [new Reading(await session.get({ signal: stop.signal }))];
  const other = await openSession(target);
  await readAnswer(other.request("resources/subscribe", { uri: "test://a" }));
  listening.push(new Reading(await other.get({ signal: stop.signal })));
  await readAnswer(session.call("touch"));
  for (const each of listening) await each.has("a notification", ({ messages }) => messages.length > 0);
  stop.abort();

  const linked = await openSession(target, { elicitation: { form: {}, url: {} } });
  const link = new Reading(await linked.call("link"));
  await link.has("a link", ({ messages }) => messages.some(({ id }) => id !== undefined));
  await linked.send({ jsonrpc: "2.0", id: link.messages.at(-1)?.id, result: { action: "accept" } });
  await link.has("the end", ({ isOver }) => isOver);

  const asking = await openSession(target, { elicitation: { form: {} } });
  const cut = new AbortController();
  const asked = new Reading(await asking.call("ask", { count: 8 }, { progressToken: "q", signal: cut.signal }));
  await asked.has("a question", ({ messages }) => messages.some(({ method }) => method === "elicitation/create"));
  const question = String(asked.messages.find(({ method }) => method === "elicitation/create")?.id);
  const last = asked.ids.at(-1) ?? "";
  cut.abort();

  const ended = await openSession(target);
  await readAnswer(ended.call("count", {}, { progressToken: "p" }));
  await ended.delete();
  const shared = await openSession(target, {}, "/shared");
  await readAnswer(shared.request("logging/setLevel", { level: "warning" }));
  await listenOverHttpSse(target);
  return {
    session: toStored(session),
    stream: { first, messages },
    asking: { ...toStored(asking), question, last },
    ended: toStored(ended),
    shared: toStored(shared),
  };
}

export async function messagesAfter(session: LegacyClient, lastEventId: string): Promise<readonly Members[]> {
  return (await readAnswer(session.get({ lastEventId }))).messages;
}

/** Opens a stream of 2024-11-05, and calls a tool on it. */
async function listenOverHttpSse(target: Target): Promise<void> {
  const stop = new AbortController();
  const headers = { accept: "text/event-stream" };
  const stream = new Reading(await fetch(url(target), { headers, signal: stop.signal }));
  await stream.has("the endpoint", ({ raw }) => raw.includes("event: endpoint"));
  const [, path = ""] = /data: (\S+)/.exec(stream.raw) ?? [];
  const say = (message: Members) =>
    fetch(target.url(path), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  const clientInfo = { name: "old", version: "1.0.0" };
  const params = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo };
  await say({ id: 1, method: "initialize", params });
  await stream.has("the handshake", ({ raw }) => raw.includes('"id":1'));
  await say({ method: "notifications/initialized" });
  await say({ id: 2, method: "tools/call", params: { name: "count", arguments: { count: 3 } } });
  await stream.has("the result", ({ raw }) => raw.includes('"id":2'));
  // The receipt of the events follows within 100 ms.
  await new Promise((resolve) => setTimeout(resolve, 250));
  stop.abort();
}

async function storeTasks(target: Target) {
  const client = new TaskClient(url(target), { headers: ada });
  const start = (how: string) => client.start("later", { how });
  const [completed, failed, asking, waiting, cancelled] = await Promise.all(
    ["complete", "fail", "ask", "wait", "ask"].map(start),
  );
  const ids = { completed, failed, asking, waiting, cancelled } as Record<string, string>;
  const done = await client.reaches(ids.completed ?? "", "completed");
  await client.reaches(ids.failed ?? "", "failed");
  await client.reaches(ids.asking ?? "", "input_required");
  await client.reaches(ids.cancelled ?? "", "input_required");
  await client.cancel(ids.cancelled ?? "");
  const legacy = await openSession(target, { elicitation: { form: {} } });
  const { messages } = await readAnswer(
    legacy.request("tools/call", { name: "later", arguments: { how: "complete" }, task: {} }),
  );
  const [{ result }] = messages as [{ result: { task: { taskId: string } } }];
  const created = result.task.taskId;
  await readAnswer(legacy.request("tasks/result", { taskId: created }));
  return { tasks: ids, completed: textOf(done), legacyTask: created };
}

async function storeCalls(target: Target) {
  const client = new ModernClient(url(target));
  const pay = async (headers: Readonly<Record<string, string>>) => {
    const key = crypto.randomUUID();
    const { text = "" } = await readAnswer(client.call("pay", {}, { meta: { [KEY]: key }, headers }));
    return { key, text };
  };
  const paid = await pay(ada);
  const paidAnonymously = await pay({});
  const key = crypto.randomUUID();
  const ask = async (name: string, meta: Members) => {
    const { messages, raw } = await readAnswer(
      client.call(name, { count: 2 }, { meta: { ...ASKS, ...meta }, headers: ada }),
    );
    const result = messages[0]?.result;
    if (!isMembers(result) || result.resultType !== "input_required") throw new Error(`no question: ${raw}`);
    return { requestState: result.requestState, question: keysOf(result)[0] ?? "" };
  };
  const paying = { key, ...(await ask("pay_asking", { [KEY]: key })) };
  return { paid, paidAnonymously, paying, round: await ask("ask", {}) };
}

/** Signs in, and returns the response of the token endpoint. */
export async function signIn(target: Target, browser: Browser, headers: Record<string, string> = {}): Promise<Members> {
  const verifier = newVerifier();
  const returned = await allow(
    browser,
    authorizeUrl(ISSUER, verifier, { ...KNOWN, resource: `${ISSUER}/signed` }),
    "ada",
  );
  const fields = {
    grant_type: "authorization_code",
    code: returned.get("code") ?? "",
    ...KNOWN,
    code_verifier: verifier,
  };
  const { status, body } = await postForm(target.url("/token"), fields, headers);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

export async function refresh(target: Target, token: string): Promise<Members> {
  const fields = { grant_type: "refresh_token", refresh_token: token, client_id: KNOWN.client_id };
  const { status, body } = await postForm(target.url("/token"), fields);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

async function storeSignIns(target: Target) {
  const browser = new IssuerBrowser(target);
  const signed = await signIn(target, browser);
  const replaced = String(signed.refresh_token);
  const refreshed = await refresh(target, replaced);
  const tokens = { access: String(refreshed.access_token), refresh: String(refreshed.refresh_token) };
  const key = await newKey("ES256", undefined);
  const dpop = (await proofOf(key, "", `${ISSUER}/token`, { ath: undefined })) as string;
  const bound = await signIn(target, browser, { dpop });
  const access = String(bound.access_token);
  const used = await proofOf(key, access, `${ISSUER}/signed`);
  const status = await statusOf(target, { authorization: `DPoP ${access}`, dpop: used });
  if (status !== 200) throw new Error(`a token with a proof: ${status}`);
  const jwk = (await crypto.subtle.exportKey("jwk", key.pair.privateKey)) as JsonWebKey;
  return {
    tokens,
    replaced,
    cookies: [...browser.cookies],
    proof: { jwk, access, used },
    ...(await storeManaged(target)),
  };
}

/** A company gives a client access for its users: with a bearer token, and with one that is bound to a key. */
async function storeManaged(target: Target): Promise<Pick<Kept, "managed">> {
  if (!(await acceptsAssertions(target))) return {};
  const assertion = await assertionOf("ada");
  const { status, body } = await exchangeAssertion(target, assertion);
  const proof = await proofOf(await newKey("ES256", undefined), "", `${ISSUER}/token`, { ath: undefined });
  const bound = await exchangeAssertion(target, await assertionOf("ada"), { dpop: proof as string });
  if (status !== 200 || bound.status !== 200) throw new Error(`assertions: ${status}, ${bound.status}`);
  return { managed: { access: String(body.access_token), assertion } };
}

/** A link for an upload, and the id that the file gets. */
export interface UploadLink {
  readonly url: string;
  readonly file: string;
}

async function storeFiles(target: Target): Promise<Pick<Kept, "uploaded">> {
  if (!(await takesFiles(target))) return {};
  const { file, url: place } = await createUpload(target);
  const text = "a file of a release";
  await upload(target, place, text);
  return { uploaded: { file, text, link: await createUpload(target) } };
}

/** Returns true if the build of the Worker has tools for files. */
export async function takesFiles(target: Target): Promise<boolean> {
  const { raw } = await readAnswer(new ModernClient(url(target)).request("tools/list", {}, { headers: ada }));
  return raw.includes('"create_upload"');
}

export async function createUpload(target: Target): Promise<UploadLink> {
  const { messages } = await readAnswer(new ModernClient(url(target)).call("create_upload", {}, { headers: ada }));
  const [{ result }] = messages as [{ result: { structuredContent: UploadLink } }];
  return result.structuredContent;
}

/** Uploads a file, at the present port of the Worker. Returns the status. */
export async function upload(target: Target, place: string, text: string): Promise<number> {
  const { pathname } = new URL(place);
  return (await fetch(target.url(`${pathname}file.txt`), { method: "PUT", body: text })).status;
}

/** Calls the tool that reads a file. */
export async function readFile(target: Target, kept: string, args: Members = {}): Promise<string | undefined> {
  return (await readAnswer(new ModernClient(url(target)).call("read_file", { kept, ...args }, { headers: ada }))).text;
}

/** Returns true if the build of the Worker accepts assertions of companies. */
export async function acceptsAssertions(target: Target): Promise<boolean> {
  const metadata = await fetch(target.url("/.well-known/oauth-authorization-server"));
  return (await metadata.text()).includes("jwt-bearer");
}

async function assertionOf(sub: string): Promise<string> {
  const parameters = { name: "ECDSA", namedCurve: "P-256" };
  const privateKey = await crypto.subtle.importKey("jwk", COMPANY_KEY, parameters, false, ["sign"]);
  const key = { algorithm: "ES256", pair: { privateKey, publicKey: privateKey }, jwk: {} };
  const iat = Math.floor(Date.now() / 1000);
  const names = { iss: COMPANY.issuer, sub, aud: ISSUER, client_id: "agent" };
  const claims = { ...names, jti: crypto.randomUUID(), iat, exp: iat + 300, scope: "read" };
  return signJwt(key, claims, { typ: "oauth-id-jag+jwt", kid: undefined });
}

export function exchangeAssertion(
  target: Target,
  assertion: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return exchange({ origin: new URL(target.url("/")).origin }, assertion, {}, { ...AGENT, ...headers });
}

export async function statusOf(target: Target, headers: Readonly<Record<string, string>>): Promise<number> {
  const { status } = await readAnswer(new ModernClient(target.url("/signed")).call("plain", {}, { headers }));
  return status;
}

/** Calls what the other functions do not call, and ends what they have stored. */
export async function endEverything(target: Target, kept: Kept): Promise<void> {
  const bearer = { authorization: `Bearer ${String((await refresh(target, await newToken(target))).access_token)}` };
  await readAnswer(new ModernClient(target.url("/signed")).call("upstream", {}, { headers: bearer }));
  const browser = new IssuerBrowser(target);
  for (const [name, value] of kept.cookies) browser.cookies.set(name, value);
  const allowed = `${ISSUER}/authorize/allowed`;
  for (const decision of [{ revoke: "known" }, { "sign-out": "yes" }]) {
    const fields = fieldsOf(await (await browser.get(allowed)).text());
    await browser.post(allowed, { ...fields, ...decision });
  }
  const client = new TaskClient(url(target), { headers: ada });
  const asking = kept.tasks.asking ?? "";
  await client.update(
    asking,
    answersTo(await client.get(asking), () => "Ada"),
  );
  const session = await openSession(target);
  await readAnswer(session.request("ping"));
  await session.delete();
  await readAnswer(session.request("ping"));
}

/** Signs in again, and revokes the grant of another sign-in. */
async function newToken(target: Target): Promise<string> {
  const [first, second] = [
    await signIn(target, new IssuerBrowser(target)),
    await signIn(target, new IssuerBrowser(target)),
  ];
  const token = String(first.refresh_token);
  await fetch(target.url("/revoke"), { method: "POST", body: new URLSearchParams({ token, client_id: "known" }) });
  return String(second.refresh_token);
}
