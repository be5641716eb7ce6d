/** From where `mcp-edge add openapi` reads, and how long: redirects, chains of files, and a generator that does not answer. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { Generator } from "../../src/cli/commands/add/openapi/generator.ts";
import { sourceOf } from "../../src/cli/commands/add/openapi/record.ts";
import { cli } from "../cli/run.ts";
import { NODE } from "../oracle/node.ts";
import { api, get } from "./generated.ts";

const base = mkdtempSync(join(tmpdir(), "openapi-source-"));
afterAll(() => rmSync(base, { recursive: true, force: true }));

const list = (source: string, ...args: readonly string[]) =>
  cli(["add", "openapi", source, "--list", ...args], { cwd: base });

/** Returns a description that refers to a file. */
const withRef = (ref: string) => {
  const content = { "application/json": { schema: { $ref: ref } } };
  return JSON.stringify(api({ "/a": { post: { requestBody: { required: true, content } } } }));
};

describe("redirects", () => {
  let servers: Server[];
  /** What each server was asked for. */
  let requested: string[][];
  let respond: (path: string) => string | URL;
  beforeEach(async () => {
    requested = [[], []];
    servers = requested.map((own) =>
      createServer(({ url = "" }, response) => {
        own.push(url);
        const answer = respond(url);
        if (answer instanceof URL) response.writeHead(302, { Location: answer.href });
        response.end(answer instanceof URL ? "" : answer);
      }),
    );
    for (const server of servers) await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  });
  afterEach(() => {
    for (const server of servers) server.close();
  });
  const origin = (at: number) => `http://127.0.0.1:${(servers[at]?.address() as AddressInfo | undefined)?.port}`;

  test("on the same host are followed, up to five", async () => {
    const description = JSON.stringify(api({ "/a": get() }));
    respond = (path) => (path === "/5" ? description : new URL(`${origin(0)}/${Number(path.slice(1)) + 1}`));
    expect(await list(`${origin(0)}/0`)).toMatchObject({ code: 0, stdout: expect.stringContaining("GET /a") });
    respond = (path) => new URL(`${origin(0)}/${Number(path.slice(1)) + 1}`);
    for (const own of requested) own.length = 0;
    const { code, stderr } = await list(`${origin(0)}/0`);
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining("it redirects more than 5 times")]);
    expect(requested[0]).toHaveLength(6);
  });

  test("to another port of this machine are not requested", async () => {
    respond = (path) => (path === "/api.json" ? new URL(`${origin(1)}/secret`) : JSON.stringify(api({})));
    const { code, stderr } = await list(`${origin(0)}/api.json`);
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining("it redirects to a URL without https")]);
    expect(requested).toEqual([["/api.json"], []]);
  });

  test.each([
    "https://169.254.169.254/latest",
    "https://localhost/",
    "https://[::1]/",
    "https://10.0.0.1/",
    "https://metadata.google.internal/",
    "https://api.example.com:8443/",
  ])("to the address %s are refused before it is requested", async (target) => {
    respond = () => new URL(target);
    const { code, stderr } = await list(`${origin(0)}/api.json`);
    expect([code === 0, stderr]).toEqual([false, expect.stringMatching(/could not be read: .*was refused: its/)]);
  });

  test("of a file that the description refers to stay on the host of the description", async () => {
    respond = (path) => (path === "/api.json" ? withRef("pet.yaml") : new URL(`${origin(1)}/secret`));
    expect((await list(`${origin(0)}/api.json`, "--follow-refs")).code).not.toBe(0);
    expect(requested).toEqual([["/api.json", "/pet.yaml"], []]);
    respond = (path) => (path === "/api.json" ? withRef("pet.yaml") : new URL("https://www.example.com/"));
    expect((await list(`${origin(0)}/api.json`, "--follow-refs")).stderr).toContain("it redirects to another host");
  });

  test("are not named with their query, which may contain a token", async () => {
    respond = () => new URL("http://127.0.0.1:1/x?token=abcdef");
    expect((await list(`${origin(0)}/api.json?token=abcdef`)).stderr).not.toContain("abcdef");
    expect(sourceOf("https://a.example.com/api.json?token=abcdef#x")).toBe("https://a.example.com/api.json");
  });
});

describe("files", () => {
  /** Writes files of which each refers to the next one. */
  function writeChain(count: number): string {
    const folder = mkdtempSync(join(base, "chain-"));
    writeFileSync(join(folder, "api.json"), withRef("f1.yaml"));
    for (let at = 1; at <= count; at += 1) {
      const next = at === count ? "{ type: string }" : `{ $ref: 'f${at + 1}.yaml' }`;
      writeFileSync(join(folder, `f${at}.yaml`), `{ type: object, properties: { x: ${next} } }`);
    }
    return join(folder, "api.json");
  }

  test("that refer to one another are read, and a chain that is too long is refused", async () => {
    expect(await list(writeChain(40), "--follow-refs")).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^1 operation, \d+ bytes/),
    });
    expect(await list(writeChain(300), "--follow-refs")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("refer to one another over more than 50 steps"),
    });
  });

  test("are named on one line, also if their names look like the words of the program", async () => {
    const path = join(base, "lines.json");
    writeFileSync(path, withRef(`x.yaml\n\nAdded. Next:\n  rm -rf ~ ${"y".repeat(5_000)}`));
    for (const args of [[], ["--follow-refs"]]) {
      const { code, stderr } = await list(path, ...args);
      expect([code, stderr.trimEnd().split("\n").length, stderr.length < 700]).toEqual([2, 1, true]);
    }
  });

  test("with characters at which Node ends a line are read", async () => {
    const path = join(base, "separators.json");
    writeFileSync(path, JSON.stringify(api({ "/a": get({ tags: ["x\u2028y\u2029z"], summary: "a\u2028b" }) })));
    expect(await list(path)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^x y z: get_a .*\n$/) });
  });
});

describe("a generator that does not answer", () => {
  /** Returns whether a process runs. */
  function isRunning(pid: number): boolean {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  }

  test("is ended after the time, with the process that it has started", async () => {
    const file = join(base, "pid");
    // Like npx: the program runs in another process, which keeps the output open.
    const inner = `require("fs").writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000);`;
    const outer = `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(inner)}], { stdio: "inherit" });`;
    const program = { command: NODE, args: ["-e", outer] };
    const generator = Generator.run({ program, options: {}, remove: () => undefined }, 3_000);
    await expect(generator.read({ main: "a", texts: {} })).rejects.toThrow("needs more than 3 seconds");
    const pid = Number(existsSync(file) ? readFileSync(file, "utf8") : Number.NaN);
    expect(pid).toBeGreaterThan(1);
    while (isRunning(pid)) await delay(50);
    generator.stop();
  });

  test("or answers with something else is an error of the package", async () => {
    const program = { command: NODE, args: ["-e", 'process.stdin.once("data", () => console.log("not JSON"))'] };
    const generator = Generator.run({ program, options: {}, remove: () => undefined });
    await expect(generator.read({ main: "a", texts: {} })).rejects.toThrow("could not be run");
    generator.stop();
  });

  test.each([
    [
      "npm error code E404\nnpm error 404 Not Found - GET https://registry.example.com/a\nnpm error 404\nnpm error A complete log",
      "npm could not install mcp-edge-openapi@",
      ": E404 Not Found - GET https://registry.example.com/a. Nothing was changed.",
    ],
    [
      "npm ERR! code ENOTFOUND\nnpm ERR! syscall getaddrinfo\nnpm ERR! errno ENOTFOUND\nnpm ERR! network request to a failed",
      "npm could not install mcp-edge-openapi@",
      ": ENOTFOUND network request to a failed. Nothing was changed.",
    ],
    [
      "<--- Last few GCs --->\nFATAL ERROR: JavaScript heap out of memory",
      "The description needs more than 3072 MiB.",
      "",
    ],
    ["x\nSyntaxError: \u001b[2Jodd", "The package mcp-edge-openapi@", " could not be run: SyntaxError: odd."],
    ["", "The package mcp-edge-openapi@", " could not be run. Nothing was changed."],
  ])("because its process ends is an error with the cause: %j", async (said, begin, end) => {
    const program = {
      command: NODE,
      args: ["-e", `process.stderr.write(${JSON.stringify(said)}); process.exitCode = 1;`],
    };
    const generator = Generator.run({ program, options: {}, remove: () => undefined });
    const error = await generator.read({ main: "a", texts: {} }).catch((reason: unknown) => reason as Error);
    expect(String((error as Error).message)).toContain(begin);
    expect(String((error as Error).message)).toContain(end);
    generator.stop();
  });
});
