/** Uses what is rare: refusals of objects, and members that are stored only in some cases. Only its layouts are described. */
import { request } from "node:http";
import type { TestWorker } from "../../src/testing/index.ts";
import { newKey } from "../harness/issuer.ts";
import { proofOf } from "../harness/proofs.ts";
import { until } from "../http/wire.ts";
import { postForm } from "../worker/authorization.ts";
import { ModernClient, Reading, readAnswer } from "../worker/client.ts";
import { TaskClient } from "../worker/task-client.ts";
import {
  ada,
  createUpload,
  exchangeAssertion,
  ISSUER,
  IssuerBrowser,
  type Kept,
  openSession,
  readFile,
  signIn,
  statusOf,
  upload,
  url,
} from "./everything.ts";
import { readRecorded } from "./layouts.ts";

export async function storeRare(worker: TestWorker): Promise<void> {
  await bindSession(worker);
  await refuseTokens(worker);
  await exceedRates(worker);
  await failQuestion(worker);
  await storeLargeFile(worker);
  await renewSession(worker);
}

/** A proof that was used before is refused. Called as long as its token is valid. */
export async function repeatProof(worker: TestWorker, { proof: { access, used } }: Kept): Promise<void> {
  await statusOf(worker, { authorization: `DPoP ${access}`, dpop: used });
}

/** An assertion that was used before is refused, with a proof of a key and without one. Called as long as it is valid. */
export async function repeatAssertion(worker: TestWorker, { managed }: Kept): Promise<void> {
  const assertion = managed?.assertion ?? "";
  await exchangeAssertion(worker, assertion);
  const proof = await proofOf(await newKey("ES256", undefined), "", `${ISSUER}/token`, { ath: undefined });
  await exchangeAssertion(worker, assertion, { dpop: proof as string });
}

/** A session that was opened anonymously is bound to the first principal that uses it. */
async function bindSession(worker: TestWorker): Promise<void> {
  const session = await openSession(worker);
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "plain", arguments: {} } };
  await readAnswer(session.send(message, ada));
}

async function refuseTokens(worker: TestWorker): Promise<void> {
  const token = String((await signIn(worker, new IssuerBrowser(worker))).refresh_token);
  await postForm(worker.url("/revoke"), { token, client_id: "known" }).catch(() => undefined);
  await postForm(worker.url("/token"), { grant_type: "refresh_token", refresh_token: token, client_id: "known" });
}

/** The number of unfinished tasks that a caller may have. */
const UNFINISHED_MAX = 50;

/** The tool may be called once an hour. */
async function exceedRates(worker: TestWorker): Promise<void> {
  const headers = { "x-user": "grace" };
  for (let time = 0; time < 2; time += 1) {
    await readAnswer(new ModernClient(url(worker)).call("hourly", {}, { headers }));
  }
  const tasks = new TaskClient(url(worker), { headers });
  const start = () => tasks.request("tools/call", { name: "later", arguments: { how: "wait" } });
  await Promise.all(Array.from({ length: UNFINISHED_MAX + 1 }, start));
}

/** A legacy client answers the question of a task with an error. */
async function failQuestion(worker: TestWorker): Promise<void> {
  const session = await openSession(worker, { elicitation: { form: {} } });
  const params = { name: "later", arguments: { how: "ask" }, task: {} };
  const { messages } = await readAnswer(session.request("tools/call", params));
  const [{ result }] = messages as [{ result: { task: { taskId: string } } }];
  const waiting = new Reading(await session.request("tasks/result", { taskId: result.task.taskId }));
  const find = () => waiting.messages.find(({ method }) => method === "elicitation/create");
  await waiting.has("a question", () => find() !== undefined);
  await session.send({ jsonrpc: "2.0", id: find()?.id, error: { code: -32_000, message: "No form." } });
  await waiting.has("the end", ({ isOver }) => isOver);
}

/** A large file is stored in the bucket after an upload that was cut off. Then it is deleted. */
async function storeLargeFile(worker: TestWorker): Promise<void> {
  const { file, url: link } = await createUpload(worker);
  await fetch(link);
  const text = "x".repeat(2_000_000);
  const { hostname, port, pathname } = new URL(link);
  const cut = request({ hostname, port, path: `${pathname}file.txt`, method: "PUT" });
  cut.setHeader("Content-Length", text.length).on("error", () => undefined);
  cut.write(text.slice(0, 1_500_000));
  // If the connection is cut before the Worker has reserved space, there is nothing to release.
  await until("the upload has begun", async () =>
    (await readRecorded(worker)).some(({ name }) => name === "rpc files/reserve"),
  );
  cut.destroy();
  // Until the Worker has noticed that the connection was cut, the link is in use.
  await until("the link can be used again", async () => (await upload(worker, link, text)) === 201);
  await readFile(worker, file, { deletes: true });
}

/** The id of a session is renewed when it is used shortly before it expires. Moves the clock. */
async function renewSession(worker: TestWorker): Promise<void> {
  const session = await openSession(worker, {}, "/roomy");
  await worker.advance(3_500_000);
  await readAnswer(session.request("logging/setLevel", { level: "warning" }));
}
