/** Passwords cannot be tried without limit at the login page of an app, on workerd. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownLogin } from "../../../src/authorization-server/identity/own-login.ts";
import { newKeys, Workerd } from "../../harness/workerd.ts";

const KEY = newKeys();
let worker: Workerd;
beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/people.ts",
    objects: ["McpObject"],
    bindings: { LOGIN_KEY: KEY },
  });
});
afterAll(() => worker?.stop());

/** Tries a wrong password. */
async function attempt(account: string, address: string): Promise<Response> {
  const body = new URLSearchParams({ account, password: "wrong" });
  return fetch(`${worker.origin}/login`, { method: "POST", body, headers: { "CF-Connecting-IP": address } });
}

/** An app may take all of these for one account. */
const SPELLINGS = ["ada", "ADA", " ada\t", "\uff41da", "a\u200bda"];

test("an account has 20 attempts, from all addresses together and in any spelling of its name", async () => {
  for (let tries = 0; tries < 20; tries += 1) {
    expect((await attempt(SPELLINGS[tries % SPELLINGS.length] ?? "", `192.0.2.${tries}`)).status).toBe(403);
  }
  const refused = await attempt("Ada", "192.0.2.200");
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(60);
  expect(await refused.text()).toContain("too many attempts");
  expect((await attempt("grace", "192.0.2.200")).status).toBe(403);
});

test("a browser in which the account has logged in cannot be locked out by other people's attempts, which are recorded", {
  tags: "long",
}, async () => {
  const account = "locked";
  const log = (cookie: string, password: string, request = "made-up") =>
    fetch(`${worker.origin}/login`, {
      method: "POST",
      body: new URLSearchParams({ account, password, request }),
      headers: { Cookie: cookie, "CF-Connecting-IP": "192.0.2.99" },
      redirect: "manual",
    });
  const redirectUri = `${worker.origin}/authorize/callback/login`;
  const begun = await ownLogin({ path: "/login", key: KEY }).begin({ state: "state", redirectUri } as never);
  const request = new URL(begun.url).searchParams.get("request") ?? "";
  const done = await log("", "correct horse", request);
  const [cookie = ""] = (done.headers.get("Set-Cookie") ?? "").split(";");
  expect([done.status, cookie]).toEqual([303, expect.stringContaining("mcp-edge-known=")]);
  for (let tries = 0; tries < 21; tries += 1) await attempt(account, `203.0.113.${tries}`);
  expect((await log("", "correct horse")).status).toBe(429);
  expect((await log(cookie, "wrong")).status).toBe(403);
  // The browser of one account is unknown to another.
  for (let tries = 0; tries < 21; tries += 1) await attempt("other", `203.0.113.${tries}`);
  const other = { method: "POST", body: new URLSearchParams({ account: "other", password: "wrong" }) };
  expect((await fetch(`${worker.origin}/login`, { ...other, headers: { Cookie: cookie } })).status).toBe(429);
  expect(await (await fetch(`${worker.origin}/refused`)).json()).toContain("login-locked");
});

test("a network has 60 attempts, for all accounts together", { tags: "long" }, async () => {
  for (let tries = 0; tries < 60; tries += 1) {
    expect((await attempt(`account ${tries}`, "198.51.100.1")).status).toBe(403);
  }
  expect((await attempt("another", "198.51.100.1")).status).toBe(429);
  // An account that is tried from there has all its attempts elsewhere.
  expect((await attempt("another", "198.51.100.2")).status).toBe(403);
});

test("a login page that was open for too long, or that has no request, asks the user to begin again", async () => {
  for (const request of ["", "made-up"]) {
    const body = new URLSearchParams({ account: "late", password: "correct horse", request });
    const answer = await fetch(`${worker.origin}/login`, { method: "POST", body, redirect: "manual" });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("Start again in the app.")]);
  }
});

test("attempts cannot be counted before the provider belongs to an authorization server", async () => {
  const login = ownLogin({ path: "/login", key: newKeys() });
  const attempted = login.attempt(new Request("https://mcp.example.com/login"), "ada");
  await expect(attempted).rejects.toThrow(
    /works only if the provider is in the option identity of authorizationServer/,
  );
  const attempts = { account: { max: 0, perMs: 1_000 } };
  expect(() => ownLogin({ path: "/login", key: newKeys(), attempts })).toThrow(/attempts\.account\.max/);
});
