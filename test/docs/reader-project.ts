/** Pages whose blocks name files, and the project that a reader creates from them. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect } from "vitest";
import { choosePort } from "../../src/node/free-port.ts";
import { COMPILE_CACHE, NODE } from "../oracle/node.ts";

const ROOT = join(import.meta.dirname, "../..");
/** The packages that the reader installs. */
const PACKAGES = ["zod", "wrangler", "typescript", "@types/node", "vitest"];

/** Long enough for wrangler to bundle and start on a loaded machine. */
const START_MS = 120_000;

/** A block of code, whose title names a file of the project or says how the block is run. */
export interface Block {
  /** Page and line, such as `1-first-server.md:30`. */
  readonly at: string;
  readonly language: string;
  readonly title: string | undefined;
  /** Whether the block is added to the end of its file, instead of replacing it. */
  readonly isAdded: boolean;
  readonly text: string;
  /** The lines that a command prints. They are in the next block. */
  readonly output: readonly string[];
}

export interface Page {
  readonly name: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

const BLOCK = /^```(\w+)(?: title="([^"]+)")?( add)?\n([\s\S]*?)^```$/gm;

/** @param folder A folder of `docs`. */
export function readPages(folder: "tutorial" | "recipes"): Page[] {
  return readdirSync(join(ROOT, "docs", folder))
    .sort()
    .map((name) => {
      const text = readFileSync(join(ROOT, "docs", folder, name), "utf8");
      const found = [...text.matchAll(BLOCK)];
      const blocks = found.map(({ index, 1: language = "", 2: title, 3: added, 4: code = "" }, at): Block => {
        const next = found[at + 1];
        const output = language === "sh" && next?.[1] === "text" ? (next[4] ?? "").trimEnd().split("\n") : [];
        const line = text.slice(0, index).split("\n").length;
        return { at: `${name}:${line}`, language, title, isAdded: added !== undefined, text: code, output };
      });
      return { name, text, blocks };
    });
}

/** The blocks that are files of the project. */
export const filesOf = ({ blocks }: Page): Block[] =>
  blocks.filter(({ language }) => !["sh", "text"].includes(language));

/** Writes the file that a block names. */
export function writeBlock(folder: string, { title = "", isAdded, text }: Block): void {
  const file = join(folder, title);
  mkdirSync(dirname(file), { recursive: true });
  if (isAdded) appendFileSync(file, text);
  else writeFileSync(file, text);
}

/** Installs what the reader installs, without the network: mcp-edge is this repository. */
export function linkPackages(folder: string, more: readonly string[] = []): void {
  const link = (target: string, name: string) => {
    const path = join(folder, "node_modules", name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(join(ROOT, target), path);
  };
  link(".", "mcp-edge");
  link("bin/mcp-edge.js", ".bin/mcp-edge");
  for (const name of ["wrangler", "tsc", "vitest"]) link(`node_modules/.bin/${name}`, `.bin/${name}`);
  for (const name of [...PACKAGES, ...more]) link(`node_modules/${name}`, name);
}

/** Fails unless the lines occur in the output in their order. Other lines may stand between them. */
function expectLines(output: string, lines: readonly string[]): void {
  const rest = stripVTControlCharacters(output).replaceAll("\r", "").split("\n").map(normalize);
  let from = 0;
  for (const line of lines) {
    // A line of a terminal can begin with a part of a spinner.
    const at = rest.findIndex((printed, index) => index >= from && printed.endsWith(normalize(line)));
    if (at < 0) expect.fail(`The output lacks the line ${JSON.stringify(line)}:\n${output}`);
    from = at + 1;
  }
}

/** Removes what differs between two runs: times, spaces, and the marks of prompts. */
function normalize(line: string): string {
  return line
    .replaceAll(/\s\d+(\.\d+)?m?s$/g, "")
    .replaceAll(/[│◇◆◈●○└┌]/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** The reader's project, in which commands use another port than 8787. */
export class Project {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly #port: number;
  #server: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.#port = port;
    this.env = {
      PATH: `${dirname(NODE)}:${process.env.PATH}`,
      HOME: folder,
      XDG_CONFIG_HOME: join(folder, "config"),
      BROWSER: "true",
      WRANGLER_SEND_METRICS: "false",
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      NO_COLOR: "1",
      NODE_COMPILE_CACHE: COMPILE_CACHE,
    };
  }

  static async create(folder: string): Promise<Project> {
    linkPackages(folder);
    return new Project(folder, await choosePort());
  }

  /** Puts the port of the project into a command or its output. */
  command(text: string): string {
    return text.replaceAll("localhost:8787", `localhost:${this.#port}`);
  }

  /** Runs the commands of a block one after another, and returns what they printed. */
  run({ at, text }: Block): string {
    return this.command(text)
      .trimEnd()
      .split("\n")
      .map((line) => {
        const { status, stdout, stderr } = spawnSync("sh", ["-c", `(${line}) 2>&1`], {
          cwd: this.folder,
          env: this.env,
          encoding: "utf8",
        });
        const mustSucceed = !line.startsWith("npx mcp-edge");
        if (mustSucceed) expect({ at, line, status, output: status === 0 ? "" : stdout }).toMatchObject({ status: 0 });
        return `${stdout}${stderr}`;
      })
      .join("");
  }

  /** Fails unless the lines occur in the output. */
  expectLines(output: string, lines: readonly string[]): void {
    expectLines(
      output,
      lines.map((line) => this.command(line)),
    );
  }

  /** Runs `npm start` until `stop()`, and waits for what it prints. */
  async start({ text, output }: Block): Promise<void> {
    const options = ["--port", String(this.#port), "--inspector-port", String(await choosePort())];
    const [program = "", ...args] = [...text.trim().split(" "), "--", ...options];
    const { folder: cwd, env } = this;
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    this.#server = child;
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (data) => (printed += data));
    const last = this.command(output.at(-1) ?? "");
    const isOver = () => printed.includes(last) || child.exitCode !== null;
    await expect.poll(isOver, { message: text, timeout: START_MS }).toBe(true);
    this.expectLines(printed, output);
  }

  /** Ends the server and its processes. */
  async stop(): Promise<void> {
    const child = this.#server;
    this.#server = undefined;
    if (child?.pid === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("close", resolve));
    process.kill(-child.pid, "SIGKILL");
    await ended;
  }
}
