// @module-tag long
/** People with Chromium sign in, consent, look at what they have allowed, revoke it and sign out. The Worker runs on workerd. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Client, connect } from "../../../src/client/index.ts";
import { oauth } from "../../../src/client/oauth/index.ts";
import { Chromium } from "../../harness/chromium.ts";
import { newKeys, Workerd } from "../../harness/workerd.ts";
import { PageServer } from "./page-server.ts";

let worker: Workerd;
let browser: Chromium;
/** The client's program on this computer, which receives the browser. */
let program: PageServer;
let returned: (url: string) => void;
/** What the person does when a client opens the browser. */
let act: () => Promise<void>;

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
}, 300_000);
afterAll(async () => {
  await browser?.[Symbol.asyncDispose]();
  await program?.[Symbol.asyncDispose]();
  await worker?.stop();
});

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

/** Each test has a browser window without cookies. */
beforeEach(async () => {
  await browser.open(`${worker.origin}/nothing-here`);
  await browser.clearCookies();
  browser.errors.length = 0;
});

/** Connects a client that opens the browser. */
async function signIn(person: () => Promise<void>): Promise<Client> {
  act = person;
  const redirect = {
    url: `${program.origin}/callback`,
    open: () => ({
      url: `${program.origin}/callback`,
      close: () => undefined,
      authorize: async (url: string) => {
        const answer = new Promise<string>((resolve) => {
          returned = resolve;
        });
        await browser.goTo(url);
        await act();
        await browser.waitFor('document.title === "Returned"');
        return answer;
      },
    }),
  };
  const me = { name: "Notebook", version: "1.0.0" };
  const client = await connect(`${worker.origin}/mcp`, { ...me, auth: oauth({ redirect }), onEvent: () => undefined });
  clients.push(client);
  return client;
}

/** Returns what handlers learn about the user. */
async function whoIs(client: Client): Promise<unknown> {
  const { content } = await client.callTool("who");
  return JSON.parse((content[0] as { readonly text: string }).text);
}

const heading = (text: string) =>
  browser.waitFor(`document.querySelector("h1")?.textContent.includes(${JSON.stringify(text)})`);
/** Follows a link or presses a button that contains a string, with the mouse. */
async function choose(text: string): Promise<void> {
  const found = `[...document.querySelectorAll("a, button")].find((each) => each.textContent.includes(${JSON.stringify(text)}))`;
  await browser.waitFor(`${found} !== undefined`);
  await browser.run(`${found}.setAttribute("data-chosen", "")`);
  await browser.click("[data-chosen]");
}

/** The same with the keyboard. */
async function chooseByKey(text: string): Promise<void> {
  const isFocused = `document.activeElement.textContent.includes(${JSON.stringify(text)}) && document.activeElement !== document.body`;
  await browser.waitFor(
    `[...document.querySelectorAll("a, button")].some((each) => each.textContent.includes(${JSON.stringify(text)}))`,
  );
  for (let tabs = 0; tabs < 20 && (await browser.run(isFocused)) !== true; tabs += 1) await browser.press("Tab");
  expect(await browser.run(isFocused)).toBe(true);
  await browser.press("Enter");
}

async function asAda(pick = choose): Promise<void> {
  await heading("Sign in to Notes");
  await pick("Continue with a development user");
  await heading("Choose a development user");
  await pick("Ada Lovelace");
}

const violations = () => browser.errors.filter((text) => !text.includes("the server responded with a status of"));

test.each(["light", "dark"])("a person signs in and allows a client with the mouse, in %s mode", async (scheme) => {
  await browser.setMedia({ "prefers-color-scheme": scheme });
  const client = await signIn(async () => {
    await asAda();
    await heading("Allow Notebook to use Notes?");
    const shown = await browser.run("document.body.innerText");
    expect(shown).toContain(new URL(program.origin).host);
    expect(shown).toContain("ada@example.com");
    expect(shown).toContain("Read your notes");
    expect(await browser.run("getComputedStyle(document.body).color")).toBe(
      scheme === "dark" ? "rgb(238, 239, 242)" : "rgb(23, 24, 28)",
    );
    await choose("Allow");
  });
  expect(await whoIs(client)).toMatchObject({ scopes: ["read"], claims: { email: "ada@example.com" } });
  expect(violations()).toEqual([]);
});

test("a person signs in and allows a client with a keyboard only", async () => {
  const client = await signIn(async () => {
    await asAda(chooseByKey);
    await heading("Allow Notebook to use Notes?");
    await chooseByKey("Allow");
  });
  expect(await whoIs(client)).toMatchObject({ scopes: ["read"] });
});

test("a person who denies returns to the client, which gets no access", async () => {
  const denied = signIn(async () => {
    await asAda();
    await heading("Allow Notebook");
    await choose("Deny");
  });
  await expect(denied).rejects.toMatchObject({ reason: "access-denied", error: "access_denied" });
});

test("a person logs in with the page of the app", async () => {
  const client = await signIn(async () => {
    await choose("Continue with your account");
    await browser.waitFor('document.title === "Login"');
    await browser.run('document.querySelector("[type=password]").value = "correct horse"');
    await choose("Log in");
    await heading("Allow Notebook");
    await choose("Allow");
  });
  expect(await whoIs(client)).toMatchObject({ claims: { email: "grace@example.com" } });
});

test("a person whose address is not admitted gets the reason, and can use another account", async () => {
  const client = await signIn(async () => {
    await choose("Continue with a development user");
    await choose("Grace Hopper");
    await browser.waitFor(
      'document.body.innerText.includes("grace@example.org, but this account is not allowed to use Notes")',
    );
    await browser.run("history.go(-2)");
    await asAda();
    await heading("Allow Notebook");
    await choose("Allow");
  });
  expect(client.server).toBeDefined();
});

test("a person views the allowed clients, revokes one, and signs out", async () => {
  const client = await signIn(async () => {
    await asAda();
    await heading("Allow Notebook");
    await choose("Allow");
  });
  await browser.goTo(`${worker.origin}/authorize/allowed`);
  await heading("Apps that may use Notes on your behalf");
  expect(await browser.run("document.body.innerText")).toMatch(/Notebook\s+127\.0\.0\.1:\d+\s+Allowed since/);
  // Other tests have allowed clients for the same user.
  const count = 'document.querySelectorAll("[name=revoke]").length';
  for (let left = Number(await browser.run(count)); left > 0; left -= 1) {
    await choose("Revoke access of Notebook");
    await browser.waitFor(`document.readyState === "complete" && ${count} === ${left - 1}`);
  }
  expect(await browser.run("document.body.innerText")).toContain("You have not allowed any app.");
  // The client lost its access, so it asks again.
  act = async () => {
    await heading("Allow Notebook");
    await choose("Deny");
  };
  await expect(client.callTool("who")).rejects.toMatchObject({ reason: "access-denied" });
  await browser.goTo(`${worker.origin}/authorize/allowed`);
  await choose("Sign out");
  await heading("You are signed out");
  await browser.goTo(`${worker.origin}/authorize/allowed`);
  await heading("Sign in to Notes");
  expect(violations()).toEqual([]);
});
