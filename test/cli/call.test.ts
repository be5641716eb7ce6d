// @module-tag long
/** `mcp-edge call` and `mcp-edge list` without a terminal, over HTTP and stdio. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toSeconds } from "../../src/cli/server/retry-times.ts";
import { Lab } from "../client/places.ts";
import { discovered, json, result, scripted } from "../client/scripted.ts";
import { NODE } from "../oracle/node.ts";
import { cli, SERVER, withServer } from "./run.ts";

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.start();
});
afterAll(() => lab[Symbol.asyncDispose]());

describe.each(["HTTP", "stdio"])("the commands call and list over %s", (transport) => {
  const run = (...args: string[]) => {
    const [command = "", ...rest] = args;
    return transport === "HTTP" ? cli([command, lab.url(), ...rest]) : withServer(args);
  };

  test("convert options to the types of the tool and print the text of the result", async () => {
    expect(await run("call", "add", "--a", "1", "--b", "2.5")).toEqual({ code: 0, stdout: "3.5\n", stderr: "" });
  });

  test("print only the whole result with --json", async () => {
    const { code, stdout, stderr } = await run("call", "add", "--a", "1", "--json", "--b", "2");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({ content: [{ type: "text", text: "3" }] });
  });

  test("exit with 1 if the tool fails, with its text as output", async () => {
    const { code, stdout, stderr } = await run("call", "fail", "--yes");
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: "The city is unknown.\n",
      stderr: "The tool failed.\n",
    });
  });

  test("show what the server offers, and all of it with --json", async () => {
    const { code, stdout } = await run("list");
    expect(code).toBe(0);
    expect(stdout).toContain("Tools\n  add(a: number, b: number) read-only\n  fail() may destroy\n");
    expect(stdout).toContain("Prompts\n  explain(language?)\nResources\n  test://notes/1\n      note 1\n");
    expect(stdout).toContain("Resource templates\n  db:///{table}\n");
    const offer = JSON.parse((await run("list", "--json")).stdout);
    expect(offer).toMatchObject({ server: { info: { name: "client-lab" } }, resources: { length: 4 } });
  });

  test("use the version of --as", async () => {
    const { stdout } = await run("list", "--json", "--as", "2025-03-26");
    expect(JSON.parse(stdout).server.protocolVersion).toBe("2025-03-26");
  });
});

test("a server that describes some of its tools and prompts wrongly can be listed and called", async () => {
  const program = `
    const tools = [
      { name: "none", inputSchema: null },
      { name: "odd", description: 7, annotations: 5, inputSchema: { properties: [1], required: "x" } },
      { name: "good", inputSchema: { type: "object", properties: { a: { $ref: "#/%" }, constructor: { type: "number" } } } },
    ];
    const results = {
      initialize: {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, prompts: {}, resources: {} },
        serverInfo: { name: "odd", version: "1" },
      },
      "tools/list": { tools },
      "prompts/list": { prompts: [{ name: "p", arguments: 5 }, { name: "q", arguments: [null, { name: "a" }] }] },
      "resources/list": { resources: [{}] },
      "resources/templates/list": { resourceTemplates: [{ uriTemplate: 5 }] },
    };
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      const called = { content: [{ type: "text", text: JSON.stringify(params?.arguments) }] };
      const answer = method === "tools/call" ? called : results[method];
      const outcome = answer ? { result: answer } : { error: { code: -32601, message: "no" } };
      console.log(JSON.stringify({ jsonrpc: "2.0", id, ...outcome }));
    });`;
  const server = ["--", NODE, "-e", program];
  const { code, stdout } = await cli(["list", ...server]);
  expect(code).toBe(0);
  expect(stdout).toContain("  none() may destroy\n  odd() may destroy\n      7\n");
  expect(stdout).toContain("  good(a?: object, constructor?: number) may destroy\n");
  expect(stdout).toContain("  p()\n  q(a?)\n");
  const called = await cli(["call", "good", "--yes", "--constructor", "5", ...server]);
  expect(called).toEqual({ code: 0, stdout: '{"constructor":5}\n', stderr: "" });
  expect((await cli(["types", ...server])).code).toBe(0);
});

test("list with a kind shows only definitions of this kind", async () => {
  const { stdout } = await withServer(["list", "prompts"]);
  expect(stdout).toBe("Prompts\n  explain(language?)\n");
});

test("the command of a server can be given in one quoted argument", async () => {
  const quoted = SERVER.map((word) => `"${word}"`).join(" ");
  expect(await cli(["call", quoted, "add", "--a", "1", "--b", "2"])).toMatchObject({ code: 0, stdout: "3\n" });
});

test("arguments are read from --json-args and from standard input, and options take precedence", async () => {
  const piped = await withServer(["call", "add", "-", "--b", "5"], { input: '{"a": 1, "b": 2}' });
  expect(piped).toMatchObject({ code: 0, stdout: "6\n" });
  const given = await withServer(["call", "add", "--json-args", '{"a": 1}', "--b", "5"]);
  expect(given).toMatchObject({ code: 0, stdout: "6\n" });
});

test("the log of a server is shown when one of its tools fails, because the client gets no details of an exception", async () => {
  const [core, node] = ["core", "node"].map((room) =>
    JSON.stringify(new URL(`../../src/${room}/index.ts`, import.meta.url).href),
  );
  const script = `
    import { McpServer } from ${core};
    import { serveStdio } from ${node};
    // The log arrives after the result.
    const onError = (error) => setTimeout(() => console.error(error), 100);
    const server = new McpServer({ name: "failing", version: "1.0.0", onError });
    server.tool("read", { annotations: { readOnlyHint: true } }, () => { throw new Error("SHELF is not bound"); });
    await serveStdio(server);`;
  const { code, stdout, stderr } = await cli(["call", "read", "--", NODE, "--input-type=module", "-e", script]);
  expect([code, stdout]).toEqual([1, expect.not.stringContaining("SHELF")]);
  expect(stderr).toMatch(/The tool failed\.\nThe server's log ends with:\n.*SHELF is not bound/s);
});

test("--help of a tool shows its arguments", async () => {
  const { code, stdout } = await withServer(["call", "slow", "--help"]);
  expect(code).toBe(0);
  expect(stdout).toContain("--stepMs <integer>  (required)");
});

test("a call that may be destructive is refused without a terminal and --yes, and made with --yes", async () => {
  const refused = await withServer(["call", "charge", "--key", "k"]);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("charge may delete or overwrite data");
  expect(await withServer(["call", "charge", "--key", "k", "--yes"])).toMatchObject({ code: 0, stdout: "charged\n" });
});

test.each<[string, string[], number, string]>([
  ["a tool that the server lacks", ["call", "ad"], 2, 'no tool "ad". Did you mean "add"?'],
  ["a missing argument", ["call", "add", "--a", "1"], 2, "Missing: --b."],
  ["an argument of the wrong type", ["call", "add", "--a", "x", "--b", "1"], 2, '--a: "x" is not a number.'],
  ["an option that the tool lacks", ["call", "add", "--c", "1"], 2, "unknown option '--c'"],
  ["arguments that are not an object", ["call", "add", "--json-args", "[]"], 2, "must be a JSON object"],
  ["an unknown version", ["list", "--as", "2020-01-01"], 2, "2026-07-28"],
  ["a time with an unknown unit", ["list", "--timeout", "5x"], 2, "Write a time"],
  ["a server that ends", ["call", "crash", "--yes"], 4, "closed"],
  ["a time that passes", ["call", "never", "--yes", "--timeout", "300ms"], 5, "300 ms (--timeout)"],
])("the exit code is right for %s", async (_, args, code, text) => {
  const ran = await withServer(args);
  expect([ran.code, ran.stdout]).toEqual([code, ""]);
  expect(ran.stderr).toContain(text);
});

test.each([
  ["call", "--jsn", 'There is no option "--jsn". Did you mean "--json"? List all: mcp-edge call --help'],
  [
    "prompt",
    "--tiemout=5",
    'There is no option "--tiemout". Did you mean "--timeout"? List all: mcp-edge prompt --help',
  ],
])("%s with the unknown option %s in place of the server proposes the nearest one", async (name, option, text) => {
  const { code, stderr } = await cli([name, option, "http://127.0.0.1:9/mcp", "add"]);
  expect([code, stderr]).toEqual([2, `mcp-edge: ${text}\n`]);
});

test("a server that asks a question without a terminal causes an error with the reason", async () => {
  const { code, stderr } = await withServer(["call", "order", "--yes"]);
  expect(code).toBe(3);
  expect(stderr).toContain("The server needs to ask you a question");
});

test.each([
  ["localhost:8787/mcp", "http://localhost:8787/mcp"],
  ["example.com", "https://example.com"],
])("an address without a scheme causes a hint: %s", async (server, url) => {
  const { code, stderr } = await cli(["list", server]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`Did you mean ${url}?`)]);
});

test.each([
  ["call", "tools"],
  ["prompt", "prompts"],
])("%s without a name causes an error with the command to find one", async (command, what) => {
  const { code, stderr } = await cli([command, "--", "node", "server.js"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`mcp-edge list "node server.js" ${what}\n`)]);
});

test("a server that cannot be reached causes exit code 4 and the reason", async () => {
  const ran = await cli(["list", "http://127.0.0.1:9/mcp"]);
  expect([ran.code, ran.stdout]).toEqual([4, ""]);
  expect(ran.stderr).toMatch(/^mcp-edge: /);
  expect(await cli(["list", "--", "no-such-program-here"])).toMatchObject({ code: 4, stdout: "" });
});

test("an error of the server causes exit code 3 and shows its code", async () => {
  await using refusing = await scripted(({ message }, response) =>
    json(response, 200, { jsonrpc: "2.0", id: message?.id, error: { code: -32603, message: "closed today" } }),
  );
  const ran = await cli(["list", refusing.url]);
  expect(ran.code).toBe(3);
  expect(ran.stderr).toContain("error -32603: closed today");
});

test("secrets are not sent over plain http except to loopback addresses", async () => {
  const ran = await cli(["list", "http://example.invalid/mcp", "--header", "Authorization: Bearer abc"]);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain("Authorization would be sent unencrypted (http:)");
  expect(ran.stderr).not.toContain("abc");
});

test("an error contains the address without its secrets", async () => {
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

test("--debug shows no header from the user, no proof, and no value of a query, even if the server repeats them", async () => {
  await using server = await scripted(({ method, message }, response) => {
    const id = message?.id;
    if (method !== "POST") return json(response, 405, {});
    if (message?.method === "server/discover") {
      response.setHeader("Location", "https://login.example/?code=c0de-1&sig=s1g-1#frag-1");
      response.setHeader("X-Echo", "va1ue-1");
      response.setHeader("DPoP-Nonce", "n0nce-1");
      return json(response, 200, { jsonrpc: "2.0", id, result: discovered() });
    }
    const error = { code: -32602, message: "no va1ue-1, no t0ken-1 and no https://a.example/?sig=s1g-1" };
    return json(response, 200, { jsonrpc: "2.0", id, error });
  });
  const headers = [
    "--header",
    "X-Tenant: va1ue-1",
    "--header",
    "Authorization: Custom t0ken-1",
    "--header",
    "DPoP: pr00f-1",
  ];
  const { code, stderr } = await cli(["list", `${server.url}?sig=s1g-1&code=c0de-1`, "--debug", ...headers]);
  expect(code).toBe(3);
  expect(stderr).toContain("[debug] POST");
  expect(stderr.match(/va1ue-1|t0ken-1|pr00f-1|s1g-1|c0de-1|n0nce-1|frag-1/g)).toBe(null);
});

test("--debug logs each message with direction, era, method, id and size to standard error, without secrets", async () => {
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

test.each([["list"], ["list", "x", "--timeout", "0"], ["list", "x", "--bogus"]])(
  "with --json a wrong command line is reported as JSON: %j (%#)",
  async (...words) => {
    const { code, stdout, stderr } = await cli([...words, "--json"]);
    expect(code).toBe(2);
    const { error } = JSON.parse(stdout);
    expect(error).toMatchObject({ exitCode: 2 });
    expect(stderr).toContain(`error: ${error.message}`);
  },
);

describe("the option --env", () => {
  const SECRET = "horse-battery-staple";
  const run = (...more: string[]) => withServer(["call", "environment", "--yes", ...more]);

  test("sets variables of the server, or passes on the user's own variables", async () => {
    const { stdout } = await withServer(["call", "environment", "--yes", "--env", "CITY=Bern=x", "--env", "MINE"], {
      env: { MINE: "passed on" },
    });
    expect(JSON.parse(stdout).env).toMatchObject({ CITY: "Bern=x", MINE: "passed on" });
  });

  test("is shown in the result of a tool that returns it, and not in --debug", async () => {
    const { stdout, stderr } = await run("--debug", "--env", `PIN=${SECRET}`);
    expect(JSON.parse(stdout).env.PIN).toBe(SECRET);
    expect(stderr).toContain("[redacted]");
    expect(stderr).not.toContain(SECRET);
  });

  test("is shown in a link that a tool returns, because the user needs it", async () => {
    const source = (path: string) => JSON.stringify(new URL(`../../src/${path}/index.ts`, import.meta.url).href);
    const program = `
      const { McpServer } = await import(${source("core")});
      const { serveStdio } = await import(${source("node")});
      const server = new McpServer({ name: "links", version: "1.0.0" });
      const uri = "file://" + process.env.FOLDER + "/report.csv";
      const link = { type: "resource_link", name: "report.csv", uri };
      server.tool("link", { annotations: { readOnlyHint: true } }, () => ({ content: [link] }));
      await serveStdio(server);`;
    const server = ["--", NODE, "--input-type=module", "-e", program];
    const { stdout } = await cli(["call", "link", "--env", "FOLDER=/home/ada/reports", ...server]);
    expect(stdout).toContain("report.csv file:///home/ada/reports/report.csv");
  });

  test.each([[], ["--debug"], ["--json"]])("is redacted in the log of a server that ends: %j", async (...more) => {
    const program = "console.error('the value is', process.env.PIN); process.exit(4)";
    const ran = await cli(["list", "--env", `PIN=${SECRET}`, ...more, "--", NODE, "-e", program]);
    expect(ran.code).toBe(4);
    expect(ran.stderr).toContain("the value is [redacted]");
    expect(ran.stdout + ran.stderr).not.toContain(SECRET);
  });

  test.each([
    [["--env", "=x"], "write NAME=VALUE, or NAME"],
    [["--env", "NO_SUCH_VARIABLE"], "this variable is not set in your environment"],
  ])("is refused with an invalid value: %j", async (more, text) => {
    const ran = await run(...more);
    expect([ran.code, ran.stdout]).toEqual([2, ""]);
    expect(ran.stderr).toContain(text);
  });

  test.each([
    [["types"], 0],
    [["check", "--no-suite", "--json"], 0],
    [["server-json", "--print", "--name", "io.github.ada/it", "--out", "no-such-file.json"], 2],
  ])("sets variables for the server of %j", async (words, expected) => {
    // Without the variable the server does not start.
    const [node = "", script = ""] = SERVER;
    const program = `if (process.env.PIN !== "1234") process.exit(9); import(${JSON.stringify(script)});`;
    const server = ["--", node, "--input-type=module", "-e", program];
    expect((await cli([...words, ...server])).code).toBe(4);
    const { code, stderr } = await cli([...words, "--env", "PIN=1234", ...server]);
    expect({ code, stderr }).toEqual({
      code: expected,
      stderr: expected === 0 ? expect.any(String) : expect.stringContaining("The registry requires a public URL"),
    });
  });

  test("is refused for a server with a URL", async () => {
    const ran = await cli(["list", lab.url(), "--env", "A=b"]);
    expect([ran.code, ran.stdout]).toEqual([2, ""]);
    expect(ran.stderr).toContain("--env is only for servers that are started by a command");
  });
});

describe("servers that cannot be started", () => {
  test.each([
    ["no-such-program-here", 'The command "no-such-program-here" was not found.'],
    ["/etc/passwd", 'The command "/etc/passwd" cannot be run: permission denied.'],
  ])("a server that cannot be started is reported with its command: %s", async (command, text) => {
    const { code, stdout, stderr } = await cli(["list", "--", command]);
    expect([code, stdout]).toEqual([4, ""]);
    expect(stderr).toContain(`mcp-edge: ${text}`);
    expect(stderr.split("\n")).toHaveLength(2);
  });

  test.each([
    ["at once", "console.error('first line\\nlast words'); process.exit(3)"],
    [
      "after it has closed its input",
      // The response comes after that, so the next message of the client cannot be written.
      `const fs = require("fs");
      const bytes = Buffer.alloc(65_536);
      const { id } = JSON.parse(bytes.toString("utf8", 0, fs.readSync(0, bytes)).split("\\n")[0]);
      fs.closeSync(0);
      console.log(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }));
      setTimeout(() => { console.error("first line\\nlast words"); process.exit(3); }, 300);`,
    ],
  ])("a server that ends %s is reported once with its whole log", async (_, program) => {
    const { code, stdout, stderr } = await cli(["list", "--", NODE, "-e", program]);
    expect([code, stdout]).toEqual([4, ""]);
    expect(stderr).toMatch(
      /^mcp-edge: .* The server process ended with exit code 3\. Its last output on stderr: first line\n {2}\| last words\n$/,
    );
  });

  test("a server that does not start in time is reported with its log", async () => {
    const program = "console.error('waiting for the database'); setInterval(() => {}, 1000)";
    const { code, stderr } = await cli(["list", "--timeout", "2s", "--", NODE, "-e", program]);
    expect(code).toBe(5);
    expect(stderr).toContain("The server's log ends with:\n  | waiting for the database\n");
  });
});

describe("a server with a rate limit", () => {
  /** Refuses everything after the handshake. */
  const refusing = (headers: Record<string, string>, body: (id: unknown) => unknown) =>
    scripted(({ message }, response) => {
      if (message?.method === "server/discover") return result(response, message.id, discovered());
      return json(response, 429, body(message?.id), headers);
    });
  const message = (id: unknown) => ({ jsonrpc: "2.0", id, error: { code: -32600, message: "A limit is reached." } });

  test.each<[string, (id: unknown) => unknown]>([
    ["with a message of the protocol", message],
    ["with another body", () => ({ detail: "slow down" })],
  ])("responds %s, and the error has the time for a new attempt", async (_, body) => {
    await using server = await refusing({ "retry-after": "17" }, body);
    const ran = await cli(["list", server.url, "tools"]);
    expect([ran.code, ran.stdout]).toEqual([4, ""]);
    expect(ran.stderr).toContain("The server accepts no more requests for now (HTTP 429). Try again in 17 seconds.");
    const { code, stdout } = await cli(["list", server.url, "tools", "--json"]);
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ error: { exitCode: 4, httpStatus: 429, retryAfterSeconds: 17 } });
  });

  test("responds without a time, and the error says so", async () => {
    await using server = await refusing({}, message);
    const { code, stdout, stderr } = await cli(["list", server.url, "tools", "--json"]);
    expect(code).toBe(4);
    expect(stderr).toContain("Try again later; the server does not say when.");
    expect(JSON.parse(stdout).error).not.toHaveProperty("retryAfterSeconds");
  });

  test("can send Retry-After as a number of seconds or a date", () => {
    const nowMs = Date.parse("2026-11-22T12:00:00Z");
    expect(toSeconds("120", nowMs)).toBe(120);
    expect(toSeconds("Sun, 22 Nov 2026 12:01:30 GMT", nowMs)).toBe(90);
    expect(toSeconds("Sun, 22 Nov 2026 11:00:00 GMT", nowMs)).toBe(0);
    expect(toSeconds("soon", nowMs)).toBeUndefined();
    expect(toSeconds("9".repeat(400), nowMs)).toBeUndefined();
    expect(toSeconds(null, nowMs)).toBeUndefined();
  });
});

test("--json prints an error as JSON too, with its code", async () => {
  const { code, stdout } = await withServer(["read", "test://notes/9", "--json"]);
  expect(code).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: -32602, exitCode: 3, message: expect.any(String) } });
});
