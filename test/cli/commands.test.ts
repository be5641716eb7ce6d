/** The commands beside `call` and `list`, without a terminal. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { OWN } from "../../src/cli/arguments/read-arguments.ts";
import { SCRIPTS } from "../../src/cli/completion.ts";
import { COMMANDS, createProgram } from "../../src/cli/program.ts";
import { CACHED, DONE, discovered, initialized, result, scripted } from "../client/scripted.ts";
import { NODE } from "../oracle/node.ts";
import { isAlive } from "./processes.ts";
import { CLI, cli, withServer } from "./run.ts";

const FIRST = "2024-11-05";

test("read prints the text of a resource, and --json the whole result", { tags: "long" }, async () => {
  expect(await withServer(["read", "test://notes/2"])).toEqual({ code: 0, stdout: "This is note 2.\n", stderr: "" });
  const { stdout } = await withServer(["read", "test://notes/2", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ contents: [{ uri: "test://notes/2", text: "This is note 2." }] });
});

test("a resource that does not exist causes an error of the server", { tags: "long" }, async () => {
  const { code, stdout, stderr } = await withServer(["read", "test://notes/9"]);
  expect([code, stdout]).toEqual([3, ""]);
  expect(stderr).toContain("The server returned error -32602:");
});

test("prompt takes its arguments as options and prints the messages", { tags: "long" }, async () => {
  const ran = await withServer(["prompt", "explain", "--language", "python"]);
  expect(ran).toEqual({ code: 0, stdout: "user:\nExplain python.\n", stderr: "" });
  const help = await withServer(["prompt", "explain", "--help"]);
  expect(help.stdout).toContain("--language <string>");
  expect(await withServer(["prompt", "explai"])).toMatchObject({ code: 2, stdout: "" });
});

test("complete prints the suggestions for prompts and for templates", { tags: "long" }, async () => {
  expect((await withServer(["complete", "explain", "language", "p"])).stdout).toBe(
    "perl\nphp\nprolog\npython\npyret\n",
  );
  expect((await withServer(["complete", "db:///{table}", "table", "user"])).stdout).toBe("users\n");
  expect(await withServer(["complete", "explain", "language", "--context", "x"])).toMatchObject({ code: 2 });
});

test("ping measures the response times of servers of both eras", { tags: "long" }, async () => {
  for (const version of [FIRST, "2026-07-28"]) {
    const { code, stdout } = await withServer(["ping", "--json", "--as", version]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      protocolVersion: version,
      pingMs: expect.any(Number),
      transport: "pipe",
    });
  }
});

test("listen prints each notification as a line of JSON, and ends after --count", async () => {
  const server = `
    const lines = require("node:readline").createInterface({ input: process.stdin });
    const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
    lines.on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === "server/discover") say({ id, error: { code: -32601, message: "no" } });
      else if (method === "initialize") {
        const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} };
        say({ id, result: { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "s", version: "1" } } });
      } else if (method === "logging/setLevel") say({ id, result: {} });
      else if (method === "resources/subscribe") {
        say({ id, result: {} });
        say({ method: "notifications/tools/list_changed" });
        say({ method: "notifications/resources/updated", params });
        say({ method: "notifications/message", params: { level: "error", data: "late" } });
        say({ method: "notifications/message", params: { level: "error", data: "too late" } });
      }
    });`;
  const args = [
    "listen",
    "test://a",
    "--level",
    "info",
    "--count",
    "3",
    "--json",
    "--",
    process.execPath,
    "-e",
    server,
  ];
  const { code, stdout, stderr } = await cli(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "Listening. Press Ctrl-C to exit.\n" });
  expect(
    stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([
    { method: "notifications/tools/list_changed", params: {} },
    { method: "notifications/resources/updated", params: { uri: "test://a" } },
    { method: "notifications/message", params: { level: "error", data: "late" } },
  ]);
});

test("listen ends with an error when the stream of notifications is refused", { tags: "long" }, async () => {
  await using server = await scripted(({ method, message }, response) => {
    if (method === "GET") return response.writeHead(403).end("not for you");
    const capabilities = { tools: { listChanged: true } };
    if (message?.method === "initialize") return result(response, message.id, initialized("2025-11-25", capabilities));
    return response.writeHead(202).end();
  });
  const { code, stdout, stderr } = await cli(["listen", server.url, "--as", "2025-11-25"]);
  expect([code, stdout]).toEqual([4, ""]);
  expect(stderr).toContain("GET was refused with HTTP status 403: not for you");
});

test.each([["nosuch"], ["nosuch", "--help"], ["lst", "--help"]])(
  "mcp-edge %s %s causes an error with the nearest command",
  async (...args) => {
    const { code, stdout, stderr } = await cli(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(
      args[0] === "lst" ? 'There is no command "lst". Did you mean "list"?' : 'There is no command "nosuch".',
    );
  },
);

describe("a reader that stops reading the output", () => {
  test("ends the command without an error", () => {
    const { stderr } = spawnSync("sh", ["-c", `"${process.execPath}" src/cli/main.ts --help | true`], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
  });

  test("ends the process of a server too, even if it ignores the end of its input and SIGTERM", {
    tags: "long",
  }, async () => {
    const server = `
      process.on("SIGTERM", () => undefined);
      const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
      const capabilities = { logging: {} };
      const opened = { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "s", version: "1" } };
      process.stdout.on("error", () => undefined);
      setInterval(() => say({ method: "notifications/message", params: { level: "error", data: process.pid } }), 20);
      require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
        const { id, method } = JSON.parse(line);
        if (method === "initialize") say({ id, result: opened });
        else if (id !== undefined) say({ id, error: { code: -32601, message: "no" } });
      });`;
    const words = [CLI, "listen", "--json", "--as", "2025-11-25", "--", NODE, "-e", server];
    const child = spawn(NODE, words, { stdio: ["ignore", "pipe", "pipe"] });
    const stderr: string[] = [];
    child.stderr.setEncoding("utf8").on("data", (text: string) => stderr.push(text));
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const [first = ""] = line.toString().split("\n");
    child.stdout.destroy();
    expect([await ended, stderr.join("")]).toEqual([0, "Listening. Press Ctrl-C to exit.\n"]);
    expect(isAlive(Number(JSON.parse(first).params.data))).toBe(false);
  });
});

test("a tool can have arguments with the names of the program's options", async () => {
  const tool = {
    name: "release",
    inputSchema: { type: "object", properties: { version: { type: "string" } } },
    annotations: { readOnlyHint: true },
  };
  await using server = await scripted(({ message }, response) => {
    const { id, method, params } = message ?? {};
    const text = JSON.stringify(params?.arguments);
    const results: Record<string, object> = {
      "server/discover": discovered(),
      "tools/list": { ...CACHED, tools: [tool] },
      "tools/call": { ...DONE, content: [{ type: "text", text }] },
    };
    return result(response, id, results[method ?? ""] ?? {});
  });
  const called = await cli(["call", server.url, "release", "--version", "1.2.3"]);
  expect(called).toEqual({ code: 0, stdout: '{"version":"1.2.3"}\n', stderr: "" });
  expect((await cli(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+/);
});

test("completion covers commands, options and their values", async () => {
  const words = async (...all: string[]) => (await cli(["__complete", ...all])).stdout.split("\n").filter(Boolean);
  expect(await words("c")).toEqual(["call", "check", "check-config", "complete", "completion", "connect"]);
  expect(await words("list", "--j")).toEqual(["--json"]);
  expect(await words("list", "--as", "2025")).toEqual(["2025-03-26", "2025-06-18", "2025-11-25"]);
  expect(await words("list", "--as", "2025-11-25", "x", "p")).toEqual(["prompts"]);
  expect(await words("list", "--header", "")).toEqual([]);
  expect(await words("call", "x", "--", "--j")).toEqual([]);
});

test.each(Object.keys(SCRIPTS))("the completion script for %s is printed", async (shell) => {
  const { code, stdout } = await cli(["completion", shell]);
  expect(code).toBe(0);
  expect(stdout).toContain("mcp-edge __complete");
});

test.each(["call", "prompt"])(
  "every option of %s is recognised, so that an argument with the same name gets a prefix",
  (name) => {
    const { options = [] } = createProgram().commands.find((each) => each.name() === name) ?? {};
    const names = options.filter(({ negate }) => !negate).map(({ long }) => long?.slice(2));
    expect(names.filter((each) => !OWN.includes(String(each)))).toEqual([]);
  },
);

const names = COMMANDS.flatMap(({ commands }) => commands.map(({ name }) => name));

test.each(["", ...names])("--help of %j is unchanged", (name) => {
  const program = createProgram();
  const command = program.commands.find((each) => each.name() === name) ?? program;
  expect(command.configureHelp({ helpWidth: 100 }).helpInformation()).toMatchSnapshot();
});
