// @module-tag long
/** Signing in on the command line at oidc-provider: in a real browser, and in five bridges that share their tokens. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Client, connect } from "../../src/client/index.ts";
import { type StdioClientTransport, stdio } from "../../src/node/index.ts";
import { browse, RealAuthority } from "../client/oauth/oidc-provider.ts";
import { ME } from "../client/places.ts";
import { Chromium } from "../harness/chromium.ts";
import { CACHED, NODE } from "../oracle/node.ts";
import { Screen } from "./pty.ts";
import { CLI } from "./run.ts";

let authority: RealAuthority;
let env: Record<string, string>;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  authority = await RealAuthority.start();
  const folder = await mkdtemp(join(tmpdir(), "mcp-edge-real-sign-in-"));
  env = { XDG_CONFIG_HOME: folder };
  closing.push(
    () => authority[Symbol.asyncDispose](),
    () => rm(folder, { recursive: true }),
  );
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Calls the tool in a terminal, and signs in on the page that is printed. */
async function callSignedIn(open: (page: string) => Promise<unknown>): Promise<void> {
  using screen = new Screen(["call", authority.url, "add", "--yes", "--no-browser"], env);
  await screen.shows("Sign in at: ");
  // The address is complete when its line is.
  const page = () => /Sign in at: (\S+)\n/.exec(screen.text)?.[1];
  await expect.poll(page, { timeout: 10_000 }).toBeDefined();
  await open(page() ?? "");
  expect(await screen.ended()).toBe(0);
  expect(screen.text).toMatch(/\nadded\n$/);
}

test("a user logs in and consents on the pages of a browser, which redirect to the command", async () => {
  authority.hasPages = true;
  const browser = await Chromium.start();
  closing.unshift(() => browser[Symbol.asyncDispose]());
  const shows = (text: string) => {
    // While the next page is loaded, the browser has none.
    const read = () => browser.run("document.title + document.body.innerText").catch(() => "");
    return expect.poll(read, { timeout: 20_000 }).toContain(text);
  };
  await callSignedIn(async (page) => {
    await browser.open(page);
    for (const title of ["login", "consent"]) {
      await shows(title);
      await browser.run("document.querySelector('button').click()");
    }
    await shows("You are signed in.");
  });
  expect(authority.granted).toEqual(["authorization_code"]);
}, 120_000);

interface Bridge {
  readonly client: Client;
  readonly process: StdioClientTransport;
}

/** Connects to the server through a bridge, as a host. */
async function bridge(): Promise<Bridge> {
  const process = stdio({
    command: NODE,
    args: [...CACHED, CLI, "bridge", authority.url, "--no-browser"],
    env,
    stderr: "ignore",
  });
  const client = await connect(process, { ...ME, reconnectsMax: 0, onEvent: () => undefined });
  closing.unshift(() => client.close());
  return { client, process };
}

/** Makes ten calls at once, and returns how many of them succeeded. */
async function callTen(bridges: readonly Bridge[]): Promise<number> {
  const calls = Array.from({ length: 10 }, (_, index) => bridges[index % bridges.length]?.client.callTool("add"));
  return (await Promise.allSettled(calls)).filter(({ status }) => status === "fulfilled").length;
}

test("five bridges share one refresh, even if one of them is killed during it", async () => {
  await callSignedIn(async (page) => fetch(await browse(page)));
  const bridges = await Promise.all(Array.from({ length: 5 }, bridge));
  expect(await callTen(bridges)).toBe(10);
  authority.expire();
  expect(await callTen(bridges)).toBe(10);
  expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);

  // The first one asks for a refresh, and holds the lock of the store, when it is killed.
  const [killed, ...others] = bridges as [Bridge, ...Bridge[]];
  authority.expire();
  let hold: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    hold = resolve;
  });
  authority.onToken = async (request) => {
    authority.onToken = () => true;
    hold();
    await once(request.socket, "close");
    return false;
  };
  const lost = killed.client.callTool("add").catch((error: unknown) => error);
  await held;
  const answered = callTen(others);
  process.kill(killed.process.pid ?? 0, "SIGKILL");
  expect(await lost).toMatchObject({ code: "closed" });
  expect(await answered).toBe(10);
  expect(await callTen([...others, await bridge()])).toBe(10);
  expect(authority.granted).toEqual(["authorization_code", "refresh_token", "refresh_token"]);
}, 120_000);
