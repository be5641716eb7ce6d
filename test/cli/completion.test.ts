// @module-tag long
/** The completion scripts, in the shells that they are for. A shell that is missing is installed. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { findProgram } from "../harness/programs.ts";
import { NODE } from "../oracle/node.ts";
import { Screen } from "./pty.ts";
import { CLI, cli } from "./run.ts";

/** A home without configuration, and a folder with the program under its name. */
const folder = mkdtempSync(join(tmpdir(), "mcp-edge-completion-"));
writeFileSync(join(folder, "mcp-edge"), `#!/bin/sh\nexec "${NODE}" "${CLI}" "$@"\n`, { mode: 0o700 });
writeFileSync(
  join(folder, ".claude.json"),
  JSON.stringify({ mcpServers: { weather: { url: "https://example.com" } } }),
);
const env = { HOME: folder, XDG_CONFIG_HOME: folder, PATH: `${folder}${delimiter}${process.env.PATH}` };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What is typed before the tab, and what stands there afterwards. */
const CASES = [
  ["mcp-edge pi", "mcp-edge ping"],
  ["mcp-edge list --as 2026", "mcp-edge list --as 2026-07-28"],
  ["mcp-edge list wea", "mcp-edge list weather"],
  ["mcp-edge list weather templ", "mcp-edge list weather templates"],
] as const;

const START = {
  bash: {
    options: ["--noprofile", "--norc", "-i"],
    lines: ['eval "$(mcp-edge completion bash)"'],
  },
  zsh: {
    options: ["-f", "-i"],
    lines: ["autoload -Uz compinit", "compinit -u -D", 'eval "$(mcp-edge completion zsh)"'],
  },
} as const;

describe.each(["bash", "zsh"] as const)("completion in %s", (shell) => {
  test.each(CASES)("completes %j to %j on a tab", async (typed, completed) => {
    const { options, lines } = START[shell];
    using screen = new Screen(options, { ...env, PS1: "first> " }, [findProgram(shell)], folder);
    await screen.shows("first> ");
    // The quotes keep the prompt apart from the line that sets it.
    screen.press(`${[...lines, "PS1='rea''dy> '"].join("; ")}\r`);
    await screen.shows("ready> ");
    screen.press(typed, "\t");
    await screen.shows(completed);
  });
});

/** Names that an untrusted `.mcp.json` can have, which a shell would run, or take for an option or a path. */
const HOSTILE_NAMES = [
  "a$(touch owned)",
  "a;touch owned",
  "a`touch owned`",
  "a&touch owned",
  "a|touch owned",
  "a\ntouch owned",
  "a b",
  "a'b",
  'a"b',
  "a\\b",
  "a*",
  "~a",
  "--yes",
  "-y",
  "a{b,c}",
  "a!b",
  "a#b",
  "a=b",
  "aé",
];

test("no name of a configured server is offered that a shell would change or run", async () => {
  const project = join(folder, "project");
  mkdirSync(project, { recursive: true });
  const names = [...HOSTILE_NAMES, "a-good.name_1:x@y"];
  const mcpServers = Object.fromEntries(names.map((name) => [name, { url: "https://example.com" }]));
  writeFileSync(join(project, ".mcp.json"), JSON.stringify({ mcpServers }));
  const { stdout } = await cli(["__complete", "list", ""], { cwd: project, env });
  expect(
    stdout
      .split("\n")
      .filter((line) => line !== "")
      .sort(),
  ).toEqual(["a-good.name_1:x@y", "weather"]);
});

test("the script for bash quotes the words that it gets", async () => {
  const { stdout } = await cli(["completion", "bash"]);
  const words =
    "mcp-edge() { printf '%s\\n' 'a$(echo ran) b'; }; COMP_WORDS=(mcp-edge list a); COMP_CWORD=2; _mcp_edge; eval echo \"$COMPREPLY\"";
  const ran = spawnSync("bash", ["--noprofile", "--norc", "-c", `${stdout}\n${words}`], { encoding: "utf8" });
  expect([ran.stdout, ran.stderr]).toEqual(["a$(echo ran) b\n", ""]);
});

describe("completion in fish", () => {
  test.each(CASES)("completes %j to %j", (typed, completed) => {
    const script = `mcp-edge completion fish | source; complete -C ${JSON.stringify(typed)}`;
    const { stdout, stderr } = spawnSync(findProgram("fish"), ["--no-config", "-c", script], {
      encoding: "utf8",
      cwd: folder,
      env: { ...process.env, ...env },
    });
    expect({ stdout, stderr }).toEqual({ stdout: `${completed.split(" ").at(-1)}\n`, stderr: "" });
  });

  test("offers all options that begin with the typed text", () => {
    const script = 'mcp-edge completion fish | source; complete -C "mcp-edge list --he"';
    const { stdout } = spawnSync(findProgram("fish"), ["--no-config", "-c", script], {
      encoding: "utf8",
      cwd: folder,
      env: { ...process.env, ...env },
    });
    expect(stdout.trim().split("\n")).toEqual(["--header", "--help"]);
  });
});
