/** Objects of callers, proofs and users that refuse: no one is signed out, and what was refused can be sent again. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { TestWorker } from "../../src/testing/index.ts";
import { newKey } from "../harness/issuer.ts";
import { ignoreLogs } from "../harness/logs.ts";
import type { Fault, FaultKind } from "../harness/platform-faults.ts";
import { proofOf } from "../harness/proofs.ts";
import { until } from "../http/wire.ts";
import { allow, authorizeUrl, fieldsOf, leadsTo, newVerifier, postForm, visit } from "../worker/authorization.ts";
import { ModernClient, readAnswer } from "../worker/client.ts";
import { TaskClient } from "../worker/task-client.ts";
import { bundleSwitching, bundleWorker } from "./bundle.ts";
import { ISSUER, IssuerBrowser, refresh, signIn } from "./everything.ts";
import { startBuilds } from "./state.ts";

ignoreLogs(/^mcp-edge: /);
ignoreLogs(/SQLITE_FULL|spending cap|code was updated|overloaded|Network connection lost/);

let worker: TestWorker;

beforeAll(async () => {
  worker = await startBuilds(await bundleSwitching({ today: await bundleWorker() }));
});
afterAll(() => worker?.stop());
beforeEach(() => inject());

async function inject(...faults: Fault[]): Promise<void> {
  await fetch(worker.url("/__platform"), { method: "POST", body: JSON.stringify({ faults }) });
}

const KNOWN = { client_id: "known", redirect_uri: "https://known.example/callback" };
const ask = (verifier: string) => authorizeUrl(ISSUER, verifier, { ...KNOWN, resource: `${ISSUER}/signed` });

async function callSigned(headers: Readonly<Record<string, string>>) {
  const response = await new ModernClient(worker.url("/signed")).call("plain", {}, { headers });
  const retryAfter = response.headers.get("retry-after");
  return { retryAfter, ...(await readAnswer(response)) };
}

describe("a token that is bound to a key", () => {
  async function boundToken() {
    const key = await newKey("ES256", undefined);
    const jti = () => ({ jti: crypto.randomUUID() });
    const dpop = await proofOf(key, "", `${ISSUER}/token`, { ath: undefined, ...jti() });
    const token = String((await signIn(worker, new IssuerBrowser(worker), { dpop })).access_token);
    const prove = async () => ({
      authorization: `DPoP ${token}`,
      dpop: await proofOf(key, token, `${ISSUER}/signed`, jti()),
    });
    return prove;
  }

  test.each<FaultKind>(["spending-limit", "overloaded", "reset", "unreachable"])(
    "is refused with 503 if the object of its key cannot be called (%s), and its proof can be sent again",
    async (kind) => {
      const headers = await (await boundToken())();
      await inject({ kind, place: "call", where: "proof" });
      expect(await callSigned(headers)).toMatchObject({ status: 503, retryAfter: "5" });
      await inject();
      expect((await callSigned(headers)).status).toBe(200);
    },
  );

  test("is refused with 503 if the use of its proof cannot be stored, and the proof can be sent again, but once", async () => {
    const headers = await (await boundToken())();
    await inject({ kind: "full", place: "write", where: "proof" });
    expect(await callSigned(headers)).toMatchObject({ status: 503, retryAfter: "5" });
    await inject();
    expect((await callSigned(headers)).status).toBe(200);
    expect((await callSigned(headers)).status).toBe(401);
  });

  test("is issued when the request is sent again, if the alarm for its first proof could not be set", async () => {
    const verifier = newVerifier();
    const returned = await allow(new IssuerBrowser(worker), ask(verifier), "ada");
    const key = await newKey("ES256", undefined);
    const jti = crypto.randomUUID();
    const dpop = await proofOf(key, "", `${ISSUER}/token`, { ath: undefined, jti });
    const code = returned.get("code") ?? "";
    const fields = { grant_type: "authorization_code", code, ...KNOWN, code_verifier: verifier };
    await inject({ kind: "spending-limit", place: "setAlarm", where: "proof" });
    const send = () => postForm(worker.url("/token"), fields, { dpop });
    expect((await send()).status).toBe(503);
    await inject();
    expect((await send()).body).toMatchObject({ token_type: "DPoP" });
  });
});

test("an exception that is not an object is a refusal like any other", async () => {
  await inject({ kind: "null", place: "call", where: "task" });
  const tasks = new TaskClient(worker.url("/all"), { headers: { "x-user": "ada" } });
  expect(await tasks.error("tools/call", { name: "later", arguments: {} })).toMatchObject({
    code: -32603,
    message: "Objects are temporarily unavailable. Try again in 5 s.",
  });
});

describe("rates()", () => {
  const call = (user: string) =>
    new ModernClient(worker.url("/all")).call("plain", {}, { headers: { "x-user": user } });

  test("counts in memory if the storage of a new caller's object refuses, and stores the counts later", async () => {
    const before = new Set(await worker.objects("AllObject"));
    await inject({ kind: "spending-limit", place: "sql", where: "rates" });
    expect((await readAnswer(call("grace"))).status).toBe(200);
    await inject();
    const [id = ""] = (await worker.objects("AllObject")).filter((each) => !before.has(each));
    await until("the counts are stored", async () => {
      await readAnswer(call("grace"));
      const { keys, alarmAtMs } = await worker.storage("AllObject", id);
      return "rates" in keys && alarmAtMs !== undefined;
    });
  });

  test("deletes its counts later although their alarm could not be set at first", async () => {
    const before = new Set(await worker.objects("AllObject"));
    await inject({ kind: "spending-limit", place: "setAlarm", where: "rates", times: 1 });
    expect((await readAnswer(call("hedy"))).status).toBe(200);
    const [id = ""] = (await worker.objects("AllObject")).filter((each) => !before.has(each));
    await until("the alarm is set", async () => {
      await readAnswer(call("hedy"));
      return (await worker.storage("AllObject", id)).alarmAtMs !== undefined;
    });
  });
});

describe("a user", () => {
  test("can send a consent form again whose grant could not be stored", async () => {
    const browser = new IssuerBrowser(worker);
    const shown = await visit(browser, ask(newVerifier()), "iris");
    const fields = { ...fieldsOf(shown.page), decision: "allow" };
    const send = async () => (await browser.post(`${ISSUER}/authorize`, fields)).text();
    await inject({ kind: "full", place: "write", where: "user", skip: 1 });
    expect(leadsTo(await send())).toBe("");
    await inject();
    expect(leadsTo(await send())).toContain("code=");
    // A form gives access only once.
    expect(leadsTo(await send())).toBe("");
  });

  test("does not notice a single reset while signing in", async () => {
    for (const where of ["user/visit", "user/signIn"]) {
      await inject({ kind: "reset", place: "call", where, times: 1 });
      const shown = await visit(new IssuerBrowser(worker), ask(newVerifier()), "bea");
      expect(fieldsOf(shown.page)).toHaveProperty("request");
    }
  });

  test.each([0, 1])(
    "is not signed out if new tokens of the identity provider cannot be stored (after %i writes)",
    async (skip) => {
      const token = String((await signIn(worker, new IssuerBrowser(worker))).refresh_token);
      // The tokens of the provider expire after ten minutes.
      await worker.advance(600_000);
      await inject({ kind: "full", place: "write", where: "user", skip });
      await expect(refresh(worker, token)).rejects.toThrow(/^503 /);
      await inject();
      const refreshed = await refresh(worker, token);
      const headers = { authorization: `Bearer ${String(refreshed.access_token)}` };
      expect((await callSigned(headers)).status).toBe(200);
      const { text } = await readAnswer(new ModernClient(worker.url("/signed")).call("upstream", {}, { headers }));
      expect(text).toMatch(/^access /);
    },
  );
});
