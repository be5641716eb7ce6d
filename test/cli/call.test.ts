/** `mcp-edge call` and `mcp-edge list` without a terminal, over HTTP and stdio. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Lab } from "../client/places.ts";
import { json, scripted } from "../client/scripted.ts";
import { cli, SERVER, withServer } from "./run.ts";

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.start();
});
afterAll(() => lab[Symbol.asyncDispose]());

describe.each(["HTTP", "stdio"])("over %s", (transport) => {
  const run = (...args: string[]) => {
    const [command = "", ...rest] = args;
    return transport === "HTTP" ? cli([command, lab.url(), ...rest]) : withServer(args);
  };

  test("call converts options to the types of the tool and prints the text of the result", async () => {
    expect(await run("call", "add", "--a", "1", "--b", "2.5")).toEqual({ code: 0, stdout: "3.5\n", stderr: "" });
  });

  test("call --json prints the whole result and nothing else", async () => {
    const { code, stdout, stderr } = await run("call", "add", "--a", "1", "--json", "--b", "2");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ content: [{ type: "text", text: "3" }] });
  });

  test("a tool that fails exits with 1, and its text is still the output", async () => {
    const { code, stdout, stderr } = await run("call", "fail", "--yes");
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "The city is unknown.\n",
      stderr: "The tool failed.\n",
    });
  });

  test("list shows what the server offers, and --json gives it whole", async () => {
    const { code, stdout } = await run("list");
    expect(code).toBe(0);
    expect(stdout).toContain("Tools\n  add(a: number, b: number) read-only\n  fail() may destroy\n");
    expect(stdout).toContain("Prompts\n  explain(language?)\nResources\n  test://notes/1\n      note 1\n");
    expect(stdout).toContain("Resource templates\n  db:///{table}\n");
    const offer = JSON.parse((await run("list", "--json")).stdout);
    expect(offer).toMatchObject({ server: { info: { name: "client-lab" } }, resources: { length: 4 } });
  });

  test("--as uses the version", async () => {
    const { stdout } = await run("list", "--json", "--as", "2025-03-26");
    expect(JSON.parse(stdout).server.protocolVersion).toBe("2025-03-26");
  });
});

test("list with a kind shows only that", async () => {
  const { stdout } = await withServer(["list", "prompts"]);
  expect(stdout).toBe("Prompts\n  explain(language?)\n");
});

test("the command of a server may be quoted", async () => {
  const quoted = SERVER.map((word) => `"${word}"`).join(" ");
  expect(await cli(["call", quoted, "add", "--a", "1", "--b", "2"])).toMatchObject({ code: 0, stdout: "3\n" });
});

test("arguments are read from --json-args and from standard input; options win", async () => {
  const piped = await withServer(["call", "add", "-", "--b", "5"], { input: '{"a": 1, "b": 2}' });
  expect(piped).toMatchObject({ code: 0, stdout: "6\n" });
  const given = await withServer(["call", "add", "--json-args", '{"a": 1}', "--b", "5"]);
  expect(given).toMatchObject({ code: 0, stdout: "6\n" });
});

test("--help of a tool shows its arguments", async () => {
  const { code, stdout } = await withServer(["call", "slow", "--help"]);
  expect(code).toBe(0);
  expect(stdout).toContain("--stepMs <integer>  (required)");
});

test("L5: a call that may destroy is refused without a terminal and without --yes, and made with it", async () => {
  const refused = await withServer(["call", "charge", "--key", "k"]);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("charge may delete or overwrite something");
  expect(await withServer(["call", "charge", "--key", "k", "--yes"])).toMatchObject({ code: 0, stdout: "charged\n" });
});

test.each<[string, string[], number, string]>([
  ["a tool that the server lacks", ["call", "ad"], 2, 'no tool "ad". Did you mean "add"?'],
  ["an argument that is missing", ["call", "add", "--a", "1"], 2, "Missing: --b."],
  ["an argument of the wrong type", ["call", "add", "--a", "x", "--b", "1"], 2, '--a: "x" is not a number.'],
  ["an option that the tool lacks", ["call", "add", "--c", "1"], 2, "unknown option '--c'"],
  ["arguments that are no object", ["call", "add", "--json-args", "[]"], 2, "must be a JSON object"],
  ["an unknown version", ["list", "--as", "2020-01-01"], 2, "2026-07-28"],
  ["a time without a unit that exists", ["list", "--timeout", "5x"], 2, "Write a time"],
  ["a server that ends", ["call", "crash", "--yes"], 4, "closed"],
  ["a time that passes", ["call", "never", "--yes", "--timeout", "300ms"], 5, "300"],
])("exit code for %s", async (_, args, code, text) => {
  const ran = await withServer(args);
  expect([ran.code, ran.stdout]).toEqual([code, ""]);
  expect(ran.stderr).toContain(text);
});

test("exit code 4 for a server that cannot be reached, with the reason", async () => {
  const ran = await cli(["list", "http://127.0.0.1:9/mcp"]);
  expect([ran.code, ran.stdout]).toEqual([4, ""]);
  expect(ran.stderr).toMatch(/^mcp-edge: /);
  expect(await cli(["list", "--", "no-such-program-here"])).toMatchObject({ code: 4, stdout: "" });
});

test("exit code 3 for an error of the server, with its code", async () => {
  await using refusing = await scripted(({ message }, response) =>
    json(response, 200, { jsonrpc: "2.0", id: message?.id, error: { code: -32603, message: "closed today" } }),
  );
  const ran = await cli(["list", refusing.url]);
  expect(ran.code).toBe(3);
  expect(ran.stderr).toContain("error -32603: closed today");
});

test("Y5: secrets are not sent over plain http beyond loopback", async () => {
  const ran = await cli(["list", "http://example.invalid/mcp", "--header", "Authorization: Bearer abc"]);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain("Authorization would be sent over http:");
  expect(ran.stderr).not.toContain("abc");
});

test("an error names the address without the secrets in it", async () => {
  const { stderr } = await cli(["list", "http://127.0.0.1:9/mcp?api_key=abcdef&page=2"]);
  expect(stderr).toContain("http://127.0.0.1:9/mcp?api_key=[redacted]&page=2");
  expect(stderr).not.toContain("abcdef");
});

test("--header is sent with every request", async () => {
  const seen: unknown[] = [];
  await using server = await scripted(({ headers, message }, response) => {
    seen.push(headers["x-team"]);
    json(response, 200, { jsonrpc: "2.0", id: message?.id, error: { code: -32603, message: "no" } });
  });
  await cli(["list", server.url, "--header", "X-Team: a: b"]);
  expect(new Set(seen)).toEqual(new Set(["a: b"]));
});

test("D1: --debug logs each message with direction, era, method, id and size to standard error, without secrets", async () => {
  const secret = "Bearer very-secret-token";
  const { stdout, stderr } = await cli([
    ...["call", lab.url(), "add", "--a", "1", "--b", "2"],
    ...["--debug", "--header", `Authorization: ${secret}`, "--as", "2025-11-25"],
  ]);
  expect(stdout).toBe("3\n");
  expect(stderr).toMatch(/\[debug\] \d+\.\d{3}s -> initialize#1 \d+B \{/);
  expect(stderr).toMatch(/\[debug\] \d+\.\d{3}s <- result#1 \d+B \{/);
  expect(stderr).toMatch(/-> tools\/call#\d+ \d+B .*"name":"add"/);
  expect(stderr).toContain("authorization: [redacted]");
  expect(stderr).toContain("mcp-session-id: [redacted]");
  expect(stderr).not.toContain("very-secret");
  const modern = await withServer(["call", "add", "--a", "1", "--b", "2", "--debug"]);
  expect(modern.stderr).toMatch(/-> modern tools\/call#\d+ \d+B/);
  expect(modern.stderr).toMatch(/<- result#\d+ \d+B/);
});
