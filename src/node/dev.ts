/**
 * `mcp-edge dev`: runs `wrangler dev`, and prints the URL of the endpoint once the server is ready.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { DevRecording } from "./record/dev/record-dev.ts";

/** The parsed arguments of `mcp-edge dev`. */
interface DevOptions {
  /** The path of the endpoint. */
  readonly path: string;
  /** Whether calls are recorded. */
  readonly record: boolean;
  /** Whether wrangler's lines about requests are printed too. */
  readonly verbose: boolean;
  /** Whether arguments, results and log lines are recorded without redaction. */
  readonly contents: boolean;
  /** Whether faults that require code in the Worker can be injected. */
  readonly faults: boolean;
  /** The arguments for wrangler. */
  readonly wrangler: readonly string[];
}

/** The oldest major version of Node that wrangler supports. */
const WRANGLER_NODE_MIN = 22;

/** Separates the options of this command from the arguments for wrangler. */
function readOptions(args: readonly string[]): DevOptions {
  let path = "/mcp";
  const flags = new Set<string>();
  const wrangler: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    const [name, value] = arg.split(/=(.*)/, 2);
    if (name === "--path") path = value ?? args[++at] ?? path;
    else if (FLAGS.has(arg)) flags.add(arg);
    else wrangler.push(arg);
  }
  return {
    path: path.startsWith("/") ? path : `/${path}`,
    record: !flags.has("--no-record") && !wrangler.some((arg) => ENDS.has(arg)),
    verbose: flags.has("--verbose"),
    contents: flags.has("--contents"),
    faults: flags.has("--faults"),
    wrangler,
  };
}

/** The options without a value. */
const FLAGS: ReadonlySet<string> = new Set(["--no-record", "--verbose", "--contents", "--faults"]);

/** Arguments with which wrangler only prints information and exits. */
const ENDS: ReadonlySet<string> = new Set(["--help", "-h", "--version", "-v"]);

/** The help of this command. It is printed before the help of wrangler. */
const HELP = `mcp-edge dev runs wrangler dev, prints the URL of the endpoint, and records each call.

OPTIONS OF mcp-edge
      --path       The path of the endpoint  [default: "/mcp"]
      --contents   Record arguments, results and log lines without redaction. Tokens and secrets stay hidden.
      --verbose    Also print wrangler's lines about requests
      --faults     Add code to the Worker that can advance the clock, run alarms and reset objects
      --no-record  Do not record calls

All other options are passed to wrangler dev:
`;

/**
 * Runs `wrangler dev` for the project in the current folder until it ends. Its output is shown, and its keyboard shortcuts work.
 *
 * @param args Arguments for `wrangler dev`, and options of this command: `--path` if the endpoint is not at `/mcp`, `--no-record`,
 *   `--verbose`, `--contents` and `--faults`.
 * @returns The exit code.
 */
export async function dev(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  const { path, wrangler } = options;
  if (wrangler.some((arg) => arg === "--help" || arg === "-h")) console.log(HELP);
  if (Number.parseInt(process.versions.node, 10) < WRANGLER_NODE_MIN) {
    console.error(
      `mcp-edge: this is Node ${process.versions.node}, but wrangler requires Node ${WRANGLER_NODE_MIN} or newer. Run: npm install --save-dev node@24`,
    );
    return 1;
  }
  const program = findWrangler();
  if (!program) {
    console.error("mcp-edge: wrangler is not installed in this project. Run: npm install --save-dev wrangler");
    return 1;
  }
  const recording = await prepareRecording(options, program);
  if (recording === "failed") return 1;
  const { nodeArguments = [], wranglerArguments = wrangler } = recording ?? {};
  // On the IPC channel, wrangler reports when it is ready, and its port.
  const child = spawn(process.execPath, [...nodeArguments, program, "dev", ...wranglerArguments], {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  recording?.started(child);
  let isReady = false;
  child.on("message", (message) => {
    const address = readReady(message);
    isReady ||= address !== undefined;
    if (address) recording?.ready();
    const origin = recording?.origin ?? `${findScheme(wrangler)}://${address}`;
    if (address) void introduce(`${origin}${path}`, recording);
  });
  const stopped = forwardSignals(child);
  const code = await new Promise<number>((resolve) => {
    child.once("error", (error) => {
      console.error(`mcp-edge: wrangler cannot be started: ${error.message}`);
      resolve(1);
    });
    // The code is null if a forwarded signal ended wrangler.
    child.once("close", (code) => {
      if (code && !isReady) console.error(`mcp-edge: wrangler dev has ended. ${LOOK_ABOVE}`);
      else if (code && !stopped.isStopped) console.error(`mcp-edge: wrangler dev has ended. ${START_AGAIN}`);
      resolve(code ?? 0);
    });
  });
  await recording?.close();
  return code;
}

/** Prepares the recording. Returns undefined if it is disabled or not possible. */
async function prepareRecording(options: DevOptions, program: string): Promise<DevRecording | "failed" | undefined> {
  if (!options.record) return undefined;
  const { recordDev } = await import("./record/dev/record-dev.ts");
  const prepared = await recordDev({ ...options, program });
  if ("origin" in prepared) return prepared;
  if (prepared.reason !== undefined) console.error(`mcp-edge: ${prepared.reason}`);
  return prepared.isFatal ? "failed" : undefined;
}

/** Forwards signals to wrangler. */
function forwardSignals(child: ChildProcess): { readonly isStopped: boolean } {
  const state = { isStopped: false };
  // Ctrl-C in a terminal also reaches wrangler. All other signals reach only this process.
  const forward = (signal: NodeJS.Signals) => {
    state.isStopped = true;
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, forward);
  endWithNpm(() => child.kill("SIGTERM"));
  return state;
}

/**
 * Ends wrangler when the shell of npm has ended. npm sends signals to the shell that runs a script, and the shell ends without
 * forwarding them.
 */
function endWithNpm(end: () => void): void {
  const { ppid } = process;
  if (process.env.npm_lifecycle_event === undefined) return;
  const timer = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(timer);
    end();
  }, 250);
  timer.unref();
}

/** Returns the path of wrangler's main program. The command `wrangler` is not used, because it does not forward every signal. */
function findWrangler(): string | undefined {
  try {
    const file = createRequire(join(process.cwd(), "package.json")).resolve("wrangler/package.json");
    return join(dirname(file), "wrangler-dist/cli.js");
  } catch {
    return undefined;
  }
}

/** Returns the server's host and port from the message that wrangler sends when it is ready; undefined for other messages. */
function readReady(message: unknown): string | undefined {
  if (typeof message !== "string" || !message.includes("DEV_SERVER_READY")) return undefined;
  const { ip, port } = JSON.parse(message) as { ip: string; port: number };
  // The server listens on all interfaces, so the loopback address works.
  const host = ip === "0.0.0.0" || ip === "*" || ip === "::" ? "127.0.0.1" : ip;
  return `${host.includes(":") && !host.startsWith("[") ? `[${host}]` : host}:${port}`;
}

function findScheme(args: readonly string[]): "http" | "https" {
  return args.join(" ").includes("--local-protocol https") || args.includes("--local-protocol=https")
    ? "https"
    : "http";
}

/** Prints the endpoint's page, or its URL if it has no page. If the server does not work, prints the reason instead. */
async function introduce(url: string, recording: DevRecording | undefined): Promise<void> {
  const headers = recording ? { "User-Agent": recording.userAgent } : {};
  const { page, needsToken, problem } = await probe(url, headers);
  const rule = "─".repeat(20);
  if (problem !== undefined) {
    console.error(`${rule}\nThe MCP server at ${url} is not working. ${problem}\n${rule}`);
    return;
  }
  const hint = needsToken
    ? "The endpoint requires a token, so its contents are not shown here."
    : "Add page() to the option use of edge() to see the contents of the server here and in a browser.";
  const lines = page ?? `${url}\n\n${hint}`;
  const recorded = recording ? `Recorded calls: ${recording.page}\n` : "";
  console.log(`${rule}\nThe MCP server is ready.\n\n${lines.trimEnd()}\n\n${CONNECT} ${url}\n${recorded}${rule}`);
  if (page !== undefined || needsToken) return;
  const offered = await listTools(url, headers);
  if (offered !== undefined) console.log(`${offered}\n${rule}`);
}

const CONNECT =
  "To add it to Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Zed, ChatGPT or the Inspector: npx mcp-edge connect <host>";
/** The maximum number of tool names that are printed. */
const TOOLS_SHOWN = 20;

/** Describes the tools of a server without a page, and how to call the first one. Returns undefined if that fails. */
async function listTools(url: string, headers: Readonly<Record<string, string>>): Promise<string | undefined> {
  try {
    const { connect } = await import("../client/index.ts");
    const client = await connect(url, { name: "mcp-edge dev", version: "1.0.0", timeoutMs: 10_000, headers });
    const tools = client.server.capabilities.tools ? await client.tools().all() : [];
    await client.close();
    const names = tools.map(({ name }) => name);
    const more = names.length > TOOLS_SHOWN ? ", ..." : "";
    const [first] = names;
    const call = first === undefined ? "" : `\nnpx mcp-edge call ${url} ${first} --help`;
    return `${names.length === 1 ? "1 tool" : `${names.length} tools`}: ${names.slice(0, TOOLS_SHOWN).join(", ")}${more}${call}`;
  } catch {
    return undefined;
  }
}

/** The result of a request for the endpoint's page. */
interface Probe {
  /** The page as text; undefined if the server has no page or refuses the request. */
  readonly page?: string | undefined;
  /** Whether the server refused the request because it authenticates callers. */
  readonly needsToken?: boolean;
  /** Why the server does not work; undefined if it works. */
  readonly problem?: string;
}

async function probe(url: string, headers: Readonly<Record<string, string>>): Promise<Probe> {
  try {
    const response = await fetch(url, { headers: { Accept: "text/plain", ...headers } });
    const text = await response.text();
    if (response.status >= 500) return { problem: describeProblem(text) };
    const isPage = response.ok && response.headers.get("Content-Type")?.startsWith("text/plain");
    return { page: isPage ? text : undefined, needsToken: response.status === 401 };
  } catch {
    // With HTTPS, the request may only fail because this process does not trust the certificate.
    return url.startsWith("https:") ? {} : { problem: LOOK_ABOVE };
  }
}

const LOOK_ABOVE = "See the messages above. If they do not name the cause, run: npx mcp-edge check-config";
const START_AGAIN = "It cannot reload every change. Start it again after you change Durable Object classes.";

/** Returns the message of a JSON-RPC error, such as an error that lists what is wrong with the configuration. */
function describeProblem(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } };
    return typeof error?.message === "string" ? error.message : LOOK_ABOVE;
  } catch {
    return LOOK_ABOVE;
  }
}
