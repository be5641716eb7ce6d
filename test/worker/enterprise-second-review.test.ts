/** Faults that a second review of assertions found, on workerd. */
import { describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import type { Members } from "../http/messages.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { acme, exchange, globex, setUp, startFor, worker } from "./companies.ts";

expectLogs(
  /authorizationServer\(\): claims returns too much: more than 16384 characters/,
  /a request to \/token failed Error: The claims cannot be read/,
  /a request to \/token failed KitError: .* has jwks, but the identity provider "people" does not say whether it is its issuer/,
);

setUp(() => ({
  companies: [{ issuer: acme.url, allow: { anyone: true } }],
  more: { people: acme.url, ownClaims: true },
}));

/** Calls a method of the object of a user. */
async function callUser(user: string, method: string, ...given: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ user, method, calls: [given] });
  const [result] = (await (await fetch(worker.url("/object"), { method: "POST", body })).json()) as unknown[];
  return result;
}

/** How far the clock of the Worker is ahead. */
let aheadMs = 0;

const CLIENT = { id: "agent", name: "Agent", isVerified: true };

/** An assertion, as the Worker passes it to the object. */
const verified = (more: Members = {}): Members => ({
  id: crypto.randomUUID(),
  untilMs: Date.now() + aheadMs + 600_000,
  attempt: crypto.randomUUID(),
  client: CLIENT,
  scopes: ["read"],
  issuer: { issuer: acme.url },
  ...more,
});

/** What a user agrees to, as the Worker passes it to the object. */
const approval = () => ({
  client: CLIENT,
  scopes: ["read"],
  issuer: worker.origin,
  resource: worker.url("/mcp"),
  code: { challenge: "challenge", redirectUri: "https://agent.example/callback" },
});

describe("an authorization request that arrived before the user revoked the client, and is approved after it", () => {
  /** Signs a user in who revokes the client. Returns the session. */
  const revoke = async (user: string): Promise<unknown> => {
    const session = await callUser(user, "signIn", { user: { issuer: acme.url, subject: user } }, "people");
    expect(await callUser(user, "approve", session, approval())).toMatchObject({ grant: expect.any(String) });
    await callUser(user, "revokeClient", session, "agent");
    return session;
  };

  test("gives no access without a question, and does not undo the decision", async () => {
    const session = await revoke("silent");
    expect(await callUser("silent", "approve", session, approval())).toBeNull();
    const { keys } = await worker.storage("McpObject", "user:silent");
    expect(Object.keys(keys).filter((key) => key.startsWith("user/grant/"))).toEqual([]);
    expect(await callUser("silent", "admit", verified())).toEqual({ problem: "denied" });
  });

  test("gives access if the user has answered a question", async () => {
    const session = await revoke("asked");
    const question = { id: "question", untilMs: Date.now() + aheadMs + 600_000 };
    expect(await callUser("asked", "approve", session, approval(), question)).toMatchObject({
      grant: expect.any(String),
    });
    expect(await callUser("asked", "admit", verified())).toEqual({ grant: expect.any(String) });
  });
});

describe("an assertion that the object of its user refuses", () => {
  const stored = async (user: string) => {
    const { keys, alarmAtMs } = await worker.storage("McpObject", `user:${user}`);
    return { keys: Object.keys(keys), alarmAtMs };
  };

  test("writes nothing, and sets no alarm, if it has expired", async () => {
    expect(await callUser("late", "admit", verified({ untilMs: Date.now() + aheadMs - 1 }))).toEqual({
      problem: "expired",
    });
    expect(await stored("late")).toEqual({ keys: [], alarmAtMs: undefined });
  });

  test("does not wake the object of a user who has revoked the client, which otherwise sleeps for a year", async () => {
    const session = await callUser("decided", "signIn", { user: { issuer: acme.url, subject: "decided" } }, "people");
    await callUser("decided", "revokeClient", session, "agent");
    aheadMs += 2 * 86_400_000;
    await worker.advance(2 * 86_400_000);
    const before = await stored("decided");
    expect(before.keys).toEqual(["user/denied"]);
    const untilMs = Date.now() + aheadMs + 86_400_000;
    expect(await callUser("decided", "admit", verified({ untilMs }))).toEqual({ problem: "denied" });
    expect(await stored("decided")).toEqual(before);
  });
});

test("an assertion is not used up if the author's function for claims fails: the client is told to send it again", async () => {
  const operate = (what: Members) => fetch(worker.url("/operator"), { method: "POST", body: JSON.stringify(what) });
  const nowS = Math.floor((Date.now() + aheadMs) / 1000);
  const assertion = await acme.assert(worker, { sub: "claimed", iat: nowS, exp: nowS + 300 });
  await operate({ remove: "claims" });
  expect(await exchange(worker, assertion)).toMatchObject({ status: 503, body: { error: "temporarily_unavailable" } });
  await operate({ restore: "claims" });
  expect((await exchange(worker, assertion)).status).toBe(200);
});

test("the claims of a user are those that describe the user, and not the assertion", async () => {
  const nowS = Math.floor((Date.now() + aheadMs) / 1000);
  const about = { sub: "described", department: "Notes", iat: nowS, exp: nowS + 300, nbf: nowS };
  const { body } = await exchange(worker, await acme.assert(worker, about));
  const headers = { authorization: `Bearer ${String(body.access_token)}` };
  const { text } = await readAnswer(new ModernClient(worker.url("/mcp")).call("who", {}, { headers }));
  const { claims } = JSON.parse(text ?? "{}") as Members;
  expect(claims).toMatchObject({ subject: "described", about: { department: "Notes" } });
  expect(Object.keys((claims as Members).about as Members)).toEqual(["department"]);
});

test("claims that do not fit into a token are an error of the author", async () => {
  const nowS = Math.floor((Date.now() + aheadMs) / 1000);
  const assertion = await acme.assert(worker, { sub: "bulky", bulky: true, iat: nowS, exp: nowS + 300 });
  expect(await exchange(worker, assertion)).toMatchObject({ status: 500, body: { error: "server_error" } });
});

test("keys from a policy are refused if an identity provider does not name its issuer, because its users could be the same", async () => {
  const companies = [{ issuer: acme.url, allow: { anyone: true }, jwks: { keys: [globex.key.jwk] } }];
  await using other = await startFor({ companies, more: { nameless: true } });
  const assertion = await globex.assert(other, { iss: acme.url, sub: "victim" });
  expect(await exchange(other, assertion)).toMatchObject({ status: 500, body: { error: "server_error" } });
});
