// @module-tag long
/**
 * A person with Chromium, and the official client or ours, with `authorizationServer()` on workerd: sign in, consent, call, expiry,
 * step-up, revocation and signing out, in the modern era, in a legacy session and over HTTP+SSE.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { Chromium } from "../harness/chromium.ts";
import { ignoreLogs } from "../harness/logs.ts";
import { newKeys, Workerd } from "../harness/workerd.ts";
import { PageServer } from "../worker/oauth/page-server.ts";
import { closeAll, enter, OFFICIAL, ours, oursAt, Person, stepUp, textOf, textOfOurs } from "./signing-in.ts";

// The official client says what its provider does not do.
ignoreLogs(/^\[mcp-sdk\] /);

let worker: Workerd;
let browser: Chromium;
/** The client's program on this computer, which receives the browser. */
let program: PageServer;
let returned: (url: string) => void;

beforeAll(async () => {
  worker = await Workerd.start({
    entry: "test/worker/fixtures/people.ts",
    objects: ["McpObject"],
    bindings: { LOGIN_KEY: newKeys() },
  });
  program = await PageServer.start();
  program.answer = ({ url }) => {
    if (!url.includes("/callback")) return undefined;
    returned(url);
    return new Response("<title>Returned</title>", { headers: { "Content-Type": "text/html" } });
  };
  browser = await Chromium.start();
  await browser.open(`${worker.origin}/nothing-here`);
}, 300_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await program?.[Symbol.asyncDispose]();
  await worker?.stop();
});
afterEach(closeAll);
beforeEach(async () => {
  await browser.goTo(`${worker.origin}/nothing-here`);
  await browser.clearCookies();
});

const url = () => `${worker.origin}/mcp`;
const callback = () => `${program.origin}/callback`;
const HOUR_MS = 60 * 60_000;

/** What the person presses on each page, by its heading. */
const CHOICES: readonly (readonly [heading: string, choice: string])[] = [
  ["Sign in to Notes", "Continue with a development user"],
  ["Choose a development user", "Ada Lovelace"],
  ["Allow ", "Allow"],
];

/** Presses the link or button that contains a string, and waits for the next page. */
async function choose(text: string): Promise<void> {
  const found = `[...document.querySelectorAll("a, button")].find((each) => each.textContent.includes(${JSON.stringify(text)}))`;
  await browser.run(`${found}.setAttribute("data-chosen", "")`);
  await browser.click("[data-chosen]");
  await browser.waitFor('document.readyState === "complete" && document.querySelector("[data-chosen]") === null');
}

/** Returns the headings of the pages that the person has seen on the way to an address. */
let seen: string[] = [];

/** Signs in and allows the client, as far as the pages ask for it. */
async function agree(to: string): Promise<URLSearchParams> {
  const answer = new Promise<string>((resolve) => {
    returned = resolve;
  });
  seen = [];
  await browser.goTo(to);
  const isReturned = 'document.title === "Returned"';
  for (let isAllowed = false; !isAllowed; ) {
    await browser.waitFor('document.querySelector("h1") !== null');
    const heading = String(await browser.run('document.querySelector("h1").textContent'));
    const [, choice] = CHOICES.find(([start]) => heading.startsWith(start)) ?? [];
    if (choice === undefined) throw new Error(`An unexpected page: ${heading}`);
    seen.push(heading);
    await choose(choice);
    isAllowed = choice === "Allow";
  }
  await browser.waitFor(isReturned);
  return new URL(await answer).searchParams;
}

/** Revokes everything, and signs out. */
async function revokeAndSignOut(): Promise<void> {
  await browser.goTo(`${worker.origin}/authorize/allowed`);
  for (
    let left = 10;
    left > 0 && (await browser.run('document.querySelector("[name=revoke]") !== null')) === true;
    left -= 1
  )
    await choose("Revoke access of");
  expect(await browser.run("document.body.innerText")).toContain("You have not allowed any app.");
  await choose("Sign out");
  expect(await browser.run("document.body.innerText")).toContain("You are signed out");
}

const SIGN_IN = ["Sign in to Notes", "Choose a development user"];

test.each(OFFICIAL)(
  "the official client over %s works from signing in to signing out",
  async (name, mode, transport) => {
    const person = new Person(callback(), agree);
    const client = await enter(url(), person, mode, transport);
    expect(seen).toEqual([...SIGN_IN, "Allow Official to use Notes?"]);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({
      claims: { email: "ada@example.com" },
      scopes: ["read"],
    });
    await worker.worker.advance(HOUR_MS + 1_000);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({ scopes: ["read"] });
    expect(person.opened).toHaveLength(1);
    const { refusal, opened } = await stepUp(client, url(), person, "write", "read write");
    expect([refusal, opened]).toEqual(
      name === "HTTP+SSE"
        ? [expect.stringMatching(/HTTP 403.*The token lacks the scope write\./), 0]
        : [expect.anything(), 1],
    );
    // The person is still signed in, and is asked only about the new scope.
    expect(seen).toEqual(["Allow Official to use Notes?"]);
    expect(await textOf(client, "write")).toBe("written");
    await revokeAndSignOut();
    await textOf(await enter(url(), person, mode, transport), "who");
    expect(seen).toEqual([...SIGN_IN, "Allow Official to use Notes?"]);
  },
  90_000,
);

test.each(oursAt(url))(
  "our client over %s works with a browser from signing in to signing out",
  async (_, options) => {
    const { opened, join } = ours(url(), callback(), agree, options);
    const client = await join();
    expect(seen).toEqual([...SIGN_IN, "Allow ours to use Notes?"]);
    expect(JSON.parse(await textOfOurs(client, "who"))).toMatchObject({
      claims: { email: "ada@example.com" },
      scopes: ["read"],
    });
    await worker.worker.advance(HOUR_MS + 1_000);
    expect(JSON.parse(await textOfOurs(client, "who"))).toMatchObject({ scopes: ["read"] });
    expect(opened).toHaveLength(1);
    expect(await textOfOurs(client, "write")).toBe("written");
    expect([opened.length, seen]).toEqual([2, ["Allow ours to use Notes?"]]);
    await revokeAndSignOut();
    await textOfOurs(client, "who");
    expect([opened.length, seen]).toEqual([3, [...SIGN_IN, "Allow ours to use Notes?"]]);
  },
  90_000,
);
