// @module-tag long
/** Signing in on the command line, with an MCP server and an authorization server on this machine. */
import { spawn } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../src/client/index.ts";
import { stdio } from "../../src/node/index.ts";
import { Authority, visit } from "../client/oauth/authority.ts";
import { ME } from "../client/places.ts";
import { CACHED, NODE } from "../oracle/node.ts";
import { Screen } from "./pty.ts";
import { CLI, cli } from "./run.ts";

let authority: Authority;
let folder: string;
let env: Record<string, string>;
const closing: (() => Promise<void>)[] = [];
beforeEach(async () => {
  authority = await Authority.start();
  folder = await mkdtemp(join(tmpdir(), "mcp-edge-sign-in-"));
  env = { XDG_CONFIG_HOME: folder };
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await authority[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** The user: opens the printed page, and the browser is sent back to the program. */
async function signIn(text: string): Promise<void> {
  const [, page = ""] = /Sign in at: (\S+)\s/.exec(text) ?? [];
  expect((await fetch(await visit(page))).status).toBe(200);
}

async function signedIn(): Promise<void> {
  using screen = new Screen(["ping", authority.url, "--no-browser"], env);
  await screen.shows("Sign in at: ");
  await screen.shows("\n");
  await signIn(screen.text);
  expect(await screen.ended()).toBe(0);
  expect(screen.text).toContain("responded in");
}

/** Connects to the server through a bridge, as a host. The user signs in when the bridge asks. */
async function throughBridge(onAsked = signIn) {
  let text = "";
  const stderr = (more: string) => {
    text += more;
    if (!/Sign in at: \S+\n/.test(text)) return;
    const asked = text;
    text = "";
    void onAsked(asked);
  };
  const args = [...CACHED, CLI, "bridge", authority.url, "--no-browser"];
  return connect(stdio({ command: NODE, args, env, stderr }), ME);
}

test("a user signs in once; later commands, even without a terminal, use and refresh the token until logout", async () => {
  await signedIn();
  expect(await cli(["list", authority.url], { env })).toMatchObject({ code: 0 });
  authority.expire();
  expect(await cli(["list", authority.url], { env })).toMatchObject({ code: 0 });
  expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);
  const tokens = join(folder, "mcp-edge", "tokens");
  for (const name of await readdir(tokens)) expect((await stat(join(tokens, name))).mode & 0o077).toBe(0);
  expect(await cli(["logout", authority.url], { env })).toMatchObject({ code: 0, stdout: "" });
  expect(await cli(["list", authority.url], { env })).toMatchObject({ code: 4 });
});

test("a relative XDG_CONFIG_HOME does not put tokens into the current folder", async () => {
  env = { XDG_CONFIG_HOME: "config", HOME: folder };
  await signedIn();
  expect(await readdir(join(folder, ".config/mcp-edge/tokens"))).not.toEqual([]);
});

test("logout revokes the tokens, and reports what has happened to them", async () => {
  const logout = () => cli(["logout", authority.url], { env });
  expect(await logout()).toMatchObject({ code: 0, stderr: expect.stringMatching(/^There are no tokens for /) });
  await signedIn();
  expect(await logout()).toMatchObject({ code: 0, stderr: expect.stringContaining("cannot revoke tokens") });
  authority.metadata = { revocation_endpoint: `${authority.issuer}/revoke` };
  await signedIn();
  expect(await logout()).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("removed from this machine and revoked"),
  });
  expect(authority.revocations).toHaveLength(2);
  await signedIn();
  authority.onRevocation = () => ({ status: 503 });
  const { code, stderr } = await logout();
  expect([code, stderr]).toEqual([
    4,
    expect.stringContaining("removed from this machine, but they could not be revoked"),
  ]);
  expect(await logout()).toMatchObject({ stderr: expect.stringMatching(/^There are no tokens for /) });
});

test("without a terminal the user is not asked, and the error has the command to run", async () => {
  const { code, stdout, stderr } = await cli(["ping", authority.url], { env });
  expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
  expect(stderr).toContain(`Run this in a terminal, then try again: mcp-edge ping ${authority.url}`);
  expect(authority.registrations).toEqual([]);
});

test("a header from the user replaces the sign-in", async () => {
  using screen = new Screen(["ping", authority.url, "--header", "Authorization: Bearer wrong"], env);
  expect(await screen.ended()).toBe(4);
  expect(screen.text).toContain("The server requires a token");
  expect(authority.authorizations).toEqual([]);
});

test("a sign-in opens the browser, unless --no-browser is given", async () => {
  const opened = join(folder, "opened");
  const opener = join(folder, process.platform === "darwin" ? "open" : "xdg-open");
  await writeFile(opener, `#!/bin/sh\necho "$1" >> "${opened}"\n`);
  await chmod(opener, 0o700);
  env = { ...env, PATH: `${folder}:${process.env.PATH}` };
  await signedIn();
  await expect(readFile(opened)).rejects.toThrow("ENOENT");
  expect(await cli(["logout", authority.url], { env })).toMatchObject({ code: 0 });
  using screen = new Screen(["ping", authority.url], env);
  await expect.poll(() => readFile(opened, "utf8").catch(() => ""), { timeout: 10_000 }).toContain("/authorize?");
  // The program may open the browser before its whole line has reached the terminal.
  await expect.poll(() => screen.text).toMatch(/Sign in at: \S+\s/);
  await signIn(screen.text);
  expect(await screen.ended()).toBe(0);
});

test("a user signs in on another device", async () => {
  authority.metadata = { device_authorization_endpoint: `${authority.issuer}/device` };
  const codes = { device_code: "dc", user_code: "ABCD", verification_uri: `${authority.issuer}/activate` };
  authority.replies.set("/device", { body: { ...codes, expires_in: 60, interval: 0.01 } });
  using screen = new Screen(["ping", authority.url, "--device"], env);
  expect(await screen.ended()).toBe(0);
  expect(screen.text).toContain(`Sign in at: ${authority.issuer}/activate\nCode: ABCD`);
});

test("Ctrl-C ends a command that waits for a sign-in", async () => {
  using screen = new Screen(["ping", authority.url, "--no-browser"], env);
  await screen.shows("Sign in at: ");
  screen.press("\u0003");
  expect(await screen.ended()).toBe(130);
});

test("a bridge asks on standard error; a second bridge and expired tokens need no sign-in", async () => {
  const first = await throughBridge();
  closing.push(() => first.close());
  expect(await first.callTool("any")).toMatchObject({ content: [] });
  const second = await throughBridge(() => Promise.reject(new Error("It asked again.")));
  closing.push(() => second.close());
  authority.expire();
  const calls = [first, second, first, second].map((client) => client.callTool("any"));
  expect(await Promise.all(calls)).toHaveLength(4);
  expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);
});

test("a bridge that waits for a sign-in ends when its host disconnects", async () => {
  const child = spawn(NODE, [CLI, "bridge", authority.url, "--no-browser"], { env: { ...process.env, ...env } });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: ME };
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })}\n`);
  for await (const text of child.stderr) if (String(text).includes("Sign in at: ")) break;
  child.stdin.end();
  expect(await ended).toBe(0);
  // The request is answered when the sign-in ends; it would otherwise be open until the bridge has waited long enough.
  expect(JSON.parse(output)).toMatchObject({
    id: 1,
    error: { message: "The program ended before the sign-in was complete." },
  });
});
