// @module-tag long
/**
 * The official client and ours with `authorizationServer()` on workerd: sign in, consent, call, expiry, step-up, revocation and
 * signing out, in the modern era, in a legacy session and over HTTP+SSE. The browser is a few lines of the test;
 * signed-in-chromium.test.ts has a real one.
 */
import { auth as authWithSdk } from "@modelcontextprotocol/sdk/client/auth.js";
import { afterEach, describe, expect, test } from "vitest";
import { ignoreLogs } from "../harness/logs.ts";
import { allow, Browser, fieldsOf, visit } from "../worker/authorization.ts";
import { setUp, statusOf, url, worker } from "../worker/authorizing.ts";
import {
  closeAll,
  enter,
  enterWithSdk,
  OFFICIAL,
  ours,
  oursAt,
  Person,
  stepUp,
  textOf,
  textOfOurs,
} from "./signing-in.ts";

ignoreLogs(/^\[mcp-sdk\] /);

setUp();
afterEach(closeAll);

const CALLBACK = "http://127.0.0.1:8976/callback";
/** What a user sees of a refused call whose client cannot ask for more scopes. */
const REFUSED = /HTTP 403.*The token lacks the scope write\./;
const HOUR_MS = 60 * 60_000;
let users = 0;

/** A user with a browser. */
function newUser() {
  users += 1;
  const [user, browser] = [`person${users}`, new Browser()];
  return { user, browser, agree: (to: string) => allow(browser, to, user) };
}

/** Revokes everything on the page of allowed clients. */
async function revokeOnPage(browser: Browser, user: string): Promise<void> {
  const { page } = await visit(browser, url("/authorize/allowed"), user);
  const [, client = ""] = /name="revoke" value="([^"]*)"/.exec(page) ?? [];
  expect((await browser.post(url("/authorize/allowed"), { ...fieldsOf(page), revoke: client })).status).toBe(303);
}

// The first test, because proofs contain the time, and the other tests move the clock of the Worker.
test("our client proves its key at the authorization server and at the endpoint", async () => {
  const { opened, join } = ours(url(), CALLBACK, newUser().agree, { protocolVersions: ["2026-07-28"] }, true);
  const client = await join();
  const { claims } = JSON.parse(await textOfOurs(client, "who"));
  expect(claims).toMatchObject({ cnf: { jkt: expect.any(String) } });
  expect(opened).toHaveLength(1);
});

describe.each(OFFICIAL)("the official client over %s", (_, mode, transport) => {
  test("signs a user in, calls, and continues when its token has expired", async () => {
    const { user, agree } = newUser();
    const person = new Person(CALLBACK, agree);
    const client = await enter(url(), person, mode, transport);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({ claims: { name: user }, scopes: ["read"] });
    const token = person.tokens()?.access_token;
    await worker.advance(HOUR_MS + 1_000);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({ claims: { name: user } });
    expect(person.tokens()?.access_token).not.toBe(token);
    expect(person.opened).toHaveLength(1);
  });

  test("asks its user again when the access was revoked, and after signing out", async () => {
    const { user, browser, agree } = newUser();
    const person = new Person(CALLBACK, agree);
    await textOf(await enter(url(), person, mode, transport), "who");
    const { access_token = "" } = person.tokens() ?? {};
    await revokeOnPage(browser, user);
    expect(await statusOf(access_token)).toBe(401);
    const fields = fieldsOf((await visit(browser, url("/authorize/allowed"), user)).page);
    await browser.post(url("/authorize/allowed"), { ...fields, "sign-out": "1" });
    await textOf(await enter(url(), person, mode, transport), "who");
    expect(person.opened).toHaveLength(2);
  });
});

test.each(OFFICIAL)(
  "the official client over %s continues with the scope that a tool needs",
  async (name, mode, transport) => {
    const person = new Person(CALLBACK, newUser().agree);
    const client = await enter(url(), person, mode, transport);
    const { refusal, opened } = await stepUp(client, url(), person, "write", "read write");
    // The transport for HTTP+SSE requests no scope, and shows its user the refusal.
    const expected = name === "HTTP+SSE" ? [expect.stringMatching(REFUSED), 0] : [expect.anything(), 1];
    expect([refusal, opened]).toEqual(expected);
    expect(person.opened.at(-1)?.searchParams.get("scope")?.split(" ").toSorted()).toEqual(["read", "write"]);
    expect(await textOf(client, "write")).toBe("written");
  },
);

test("the official SDK 1.32 over HTTP+SSE reports the scope that a tool needs, and continues when the program has requested it", async () => {
  const person = new Person(CALLBACK, newUser().agree);
  const { client, transport } = await enterWithSdk(url(), person);
  const write = () => client.callTool({ name: "write", arguments: {} });
  await expect(write()).rejects.toThrow(REFUSED);
  expect(person.opened).toHaveLength(1);
  person.invalidateCredentials("tokens");
  await authWithSdk(person, { serverUrl: url(), scope: "read write" });
  await transport.finishAuth(person.returned?.get("code") ?? "");
  expect(await write()).toMatchObject({ content: [{ text: "written" }] });
});

describe.each(oursAt(url))("our client over %s", (_, options) => {
  test("signs a user in, and ten calls of two processes on an expired token succeed", async () => {
    const { user, agree } = newUser();
    const { opened, join } = ours(url(), CALLBACK, agree, options);
    const [one, two] = [await join(), await join()];
    expect(JSON.parse(await textOfOurs(one, "who"))).toMatchObject({ claims: { name: user }, scopes: ["read"] });
    await worker.advance(HOUR_MS + 1_000);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, place) => textOfOurs(place % 2 ? one : two, "who")),
    );
    expect(answers.map((answer) => JSON.parse(answer).claims.name)).toEqual(Array.from({ length: 10 }, () => user));
    expect(opened).toHaveLength(1);
  });

  test("asks its user for the scope that a tool needs, and again when the access was revoked", async () => {
    const { user, browser, agree } = newUser();
    const { opened, join } = ours(url(), CALLBACK, agree, options);
    const client = await join();
    expect(await textOfOurs(client, "write")).toBe("written");
    expect(opened.at(-1)?.searchParams.get("scope")?.split(" ").toSorted()).toEqual(["read", "write"]);
    await revokeOnPage(browser, user);
    await textOfOurs(client, "who");
    expect(opened).toHaveLength(3);
  });
});
