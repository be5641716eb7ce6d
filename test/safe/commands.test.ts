/** Commands of an allow-list. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { allowCommands, type CommandOptions } from "../../src/node/index.ts";
import { RefusedError } from "../../src/safe/index.ts";
import { until } from "../http/wire.ts";

const folder = mkdtempSync(join(tmpdir(), "commands-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program that prints its arguments, its environment and its input as JSON. */
const PRINTER = join(folder, "printer.mjs");
writeFileSync(
  PRINTER,
  `const input = [];
if (process.argv.includes("input")) for await (const chunk of process.stdin) input.push(chunk);
console.log(JSON.stringify({ args: process.argv.slice(2), env: process.env, cwd: process.cwd(), input: Buffer.concat(input).toString() }));`,
);
const node = (script: string, more: Partial<CommandOptions> = {}): CommandOptions => ({
  file: process.execPath,
  prefix: ["-e", script],
  ...more,
});
const printer = (more: Partial<CommandOptions>): CommandOptions => ({
  file: process.execPath,
  prefix: [PRINTER],
  ...more,
});
const refusedFor = (reason: string) => expect.objectContaining({ name: "ToolError", reason });

async function printed(command: CommandOptions, args: readonly string[], options = {}) {
  const { stdout } = await allowCommands({ print: command })("print", args, options);
  return JSON.parse(stdout) as { args: string[]; env: Record<string, string>; cwd: string; input: string };
}

describe("allowCommands", () => {
  test("passes arguments unchanged, with -- before arguments that are not options", async () => {
    const command = printer({ options: [["--verbose"], /--count=\d+/], args: [/.*/s, /.*/s], rest: /.*/s });
    const hostile = ["; touch pwned", "$(id)", "`id`", "a b\n'\"|&>*?\\", "", "ä"];
    const { args } = await printed(command, ["--verbose", "--count=5", ...hostile]);
    expect(args).toEqual(["--verbose", "--count=5", "--", ...hostile]);
    expect((await printed(command, ["--verbose"])).args).toEqual(["--verbose"]);
    expect((await printed({ ...command, separator: false }, ["a"])).args).toEqual(["a"]);
  });

  test.each([
    ["an option that is not allowed", ["--exec=id"]],
    ["an option that only begins like an allowed one", ["--verbose2"]],
    ["an option that only ends like an allowed one", ["-x --count=5"]],
    ["an option on a second line", ["--count=5\n--exec=id"]],
    ["an option after other arguments", ["a", "--verbose"]],
    ["-- itself", ["--", "a"]],
    ["a dash", ["-"]],
    ["an argument with another text before it", ["xab"]],
    ["an argument with another line", ["ab\nx"]],
    ["an argument at a place without a pattern", ["ab", "fix", "c", "d"]],
    ["an argument that is not on the list", ["ab", "fixed"]],
    ["an argument that a function refuses", ["ab", "fix", "no"]],
    ["a NUL", ["a\0b"]],
    ["a number", [5 as unknown as string]],
    ["a long argument", ["a".repeat(21)]],
    ["too many arguments", ["--verbose", "--verbose", "--verbose", "--verbose", "--verbose"]],
  ])("refuses %s and starts no process", async (_what, args) => {
    const marker = join(folder, "started");
    const run = allowCommands({
      test: node(`require("fs").writeFileSync(${JSON.stringify(marker)}, "")`, {
        options: [["--verbose"], /--count=\d+/],
        args: [/[ab]+/, ["fix"], (argument) => argument === "c"],
        argsMax: 4,
        argCharactersMax: 20,
      }),
    });
    await expect(run("test", args)).rejects.toEqual(refusedFor("command"));
    expect(existsSync(marker)).toBe(false);
  });

  test("matches the whole argument each time with a pattern with the flags g, m or y", async () => {
    const run = allowCommands({ test: node("", { rest: /a/gmy }) });
    for (let times = 0; times < 3; times++) expect((await run("test", ["a", "a"])).exitCode).toBe(0);
    await expect(run("test", ["a\nb"])).rejects.toEqual(refusedFor("command"));
  });

  test.each(["other", "__proto__", "toString", "constructor"])("has no command %s", async (name) => {
    const run = allowCommands({ test: node("") }) as (name: string, args: string[]) => Promise<unknown>;
    await expect(run(name, [])).rejects.toEqual(refusedFor("command"));
  });

  test.each([
    ["a relative file", { file: "git" }, "write the absolute path"],
    ["a batch file", { file: join(folder, "a.CMD") }, "batch file"],
    ["a misspelt option", { file: "/bin/true", arg: [] }, 'Did you mean "args"'],
    ["a time that is not a number", { file: "/bin/true", timeoutMs: Number.NaN }, "timeoutMs is NaN"],
  ])("throws for %s when the list is created", (_what, command, text) => {
    expect(() => allowCommands({ test: command as CommandOptions })).toThrow(text);
  });

  test("gives the program a small environment", async () => {
    process.env.SECRET_OF_TEST = "secret";
    const { env } = await printed(printer({ env: { OWN: "1" } }), []);
    delete process.env.SECRET_OF_TEST;
    expect(env).toMatchObject({ OWN: "1", PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" });
    expect(Object.keys(env).sort()).toEqual(["LANG", "OWN", "PATH"]);
  });

  test("runs the program in its folder, and the program can read its input", async () => {
    const command = printer({ cwd: "/", args: [["input"]] });
    expect(await printed(command, ["input"], { input: "text" })).toMatchObject({ cwd: "/", input: "text" });
    expect(await printed(command, ["input"])).toMatchObject({ input: "" });
  });

  test("returns exit code, output and error output", async () => {
    const run = allowCommands({ fail: node('console.log("out"); console.error("err"); process.exit(3)') });
    expect(await run("fail", [])).toEqual({ exitCode: 3, stdout: "out\n", stderr: "err\n" });
  });

  test.each(["stdout", "stderr"])("limits %s", async (stream) => {
    const write = (bytes: number) => node(`process.${stream}.write("a".repeat(${bytes}))`, { outputBytesMax: 100_000 });
    const run = allowCommands({ fits: write(100_000), exceeds: write(100_001) });
    expect((await run("fits", []))[stream as "stdout"]).toHaveLength(100_000);
    await expect(run("exceeds", [])).rejects.toEqual(refusedFor("too-large"));
  });

  test("kills a program that writes without end", async () => {
    const run = allowCommands({ endless: { file: "/usr/bin/yes" } });
    await expect(run("endless", [])).rejects.toEqual(refusedFor("too-large"));
  });

  /** A program that starts another program and waits; both ignore SIGTERM. The other program writes its process id. */
  const parent = (file: string) => {
    const child = `process.on("SIGTERM", () => {}); require("fs").writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000)`;
    return `process.on("SIGTERM", () => {}); require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(child)}], { stdio: "inherit" }); setInterval(() => {}, 1000)`;
  };
  const isAlive = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  const processIn = async (file: string) => {
    await until("the child has started", () => existsSync(file) && readFileSync(file, "utf8") !== "");
    return Number(readFileSync(file, "utf8"));
  };

  test.each(["timeout", "signal"])("kills the program and its children on a %s", async (how) => {
    const file = join(folder, `${how}.pid`);
    const controller = new AbortController();
    const run = allowCommands({ hang: node(parent(file), { timeoutMs: how === "timeout" ? 1_500 : 60_000 }) });
    const reason = new Error("cancelled");
    const result = run("hang", [], { signal: controller.signal });
    const outcome = expect(result).rejects.toEqual(how === "timeout" ? refusedFor("timeout") : reason);
    const pid = await processIn(file);
    if (how === "signal") controller.abort(reason);
    await outcome;
    await until("the child has ended", () => !isAlive(pid));
  });

  test("kills a process that is left in the background when the program ends", { tags: "long" }, async () => {
    const file = join(folder, "left.pid");
    const script = parent(file)
      .replace('{ stdio: "inherit" }', '{ stdio: "ignore" }')
      .replace(
        /setInterval\(\(\) => \{\}, 1000\)$/,
        `const fs = require("fs"), file = ${JSON.stringify(file)}; setInterval(() => fs.existsSync(file) && fs.readFileSync(file, "utf8") && process.exit(), 10)`,
      );
    const { exitCode } = await allowCommands({ leave: node(script) })("leave", []);
    expect(exitCode).toBe(0);
    const pid = await processIn(file);
    await until("the child has ended", () => !isAlive(pid));
  });

  test("starts no process if the signal has already aborted", async () => {
    const marker = join(folder, "aborted");
    const run = allowCommands({ test: node(`require("fs").writeFileSync(${JSON.stringify(marker)}, "")`) });
    const reason = new Error("too late");
    await expect(run("test", [], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(existsSync(marker)).toBe(false);
  });

  test("reports a program that does not exist to the author, not to the model", async () => {
    const result = allowCommands({ missing: { file: "/nonexistent/program" } })("missing", []);
    await expect(result).rejects.toMatchObject({ name: "KitError", code: "options-invalid" });
  });

  test("passes no argument that begins with a dash through a pattern for other arguments", async () => {
    const run = allowCommands({ test: { file: "/bin/true", rest: /.*/s, options: [["-v"]] } });
    const pieces = fc.constantFrom("-", "--", "-v", "=", "a", " ", "\n", "\0", "x");
    const argument = fc.array(pieces, { maxLength: 4 }).map((each) => each.join(""));
    await fc.assert(
      fc.asyncProperty(fc.array(argument, { maxLength: 4 }), async (args) => {
        const first = args.findIndex((each) => !each.startsWith("-"));
        const end = first === -1 ? args.length : first;
        const isFine = args.every(
          (each, at) => !each.includes("\0") && (at < end ? each === "-v" : !each.startsWith("-")),
        );
        if (isFine) return;
        await expect(run("test", args)).rejects.toBeInstanceOf(RefusedError);
      }),
      { numRuns: 500 },
    );
  });
});
