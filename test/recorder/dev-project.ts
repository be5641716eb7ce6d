/** A project with `mcp-edge dev`, on the real wrangler. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { choosePort } from "../../src/node/free-port.ts";
import { DEV_HEADER } from "../../src/recorder/api.ts";
import type { Entry, Summary } from "../../src/recorder/entry.ts";
import { until } from "../../src/testing/until.ts";
import { NODE } from "../oracle/node.ts";

const ROOT = join(import.meta.dirname, "../..");
const CLI = join(ROOT, "src/cli/main.ts");

/** Long enough for wrangler to bundle and start on a loaded machine. */
export const START_MS = 120_000;

const INDEX = `
import { McpServer } from "mcp-edge";
import { edge, page } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";

const server = new McpServer({ name: "project", version: "1.0.0" });
server.tool("hello", { annotations: { readOnlyHint: true } }, (_, ctx) => "Hello from " + ctx.env.CITY);
server.tool("boom", {}, () => { throw new Error("the reason"); });
server.tool("log", {}, () => { console.log("a line of the log"); return "logged"; });
server.tool("wait", {}, async (_, ctx) => { for (let at = 0; at < 300; at += 1) { ctx.progress(at); await new Promise((resolve) => setTimeout(resolve, 100)); } return "waited"; });
const app = edge(server, { use: [durable(), page()] });
export default { fetch: (request, env, ctx) => new URL(request.url).pathname === "/echo" ? Response.json({ url: request.url, headers: [...request.headers] }) : app.fetch(request, env, ctx) };
export class McpObject extends app.McpObject {}
`;

const CONFIG = `name = "project"
main = "src/index.ts"
compatibility_date = "2026-10-20"
compatibility_flags = ["enable_request_signal"]
send_metrics = false
vars = { CITY = "Berlin" }

[exports.McpObject]
type = "durable-object"
storage = "sqlite"

[env.staging]
name = "project-staging"
vars = { CITY = "Bern" }
`;

/** A folder with a project. */
export class Project implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), "mcp-edge-project-"));

  constructor(index: string = INDEX, config: string = CONFIG) {
    symlinkSync(join(ROOT, "node_modules"), join(this.folder, "node_modules"));
    this.write("src/index.ts", index);
    this.write("wrangler.toml", config);
    this.write("package.json", '{ "name": "project", "private": true, "type": "module" }');
  }

  write(name: string, text: string): void {
    const file = join(this.folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** Starts `mcp-edge dev`, and waits until it reports that the server is ready. */
  async dev(...args: readonly string[]): Promise<Dev> {
    const port = await choosePort();
    // Other tests start wrangler at the same time, which would all choose the inspector's default port.
    const inspector = args.includes("--inspector-port") ? [] : ["--inspector-port", String(await choosePort())];
    const dev = new Dev(this.folder, port, [...args, ...inspector]);
    await until("mcp-edge dev", () => dev.output.includes("The MCP server is ready") || dev.hasEnded, START_MS);
    if (dev.hasEnded) throw new Error(dev.output);
    return dev;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A running `mcp-edge dev`. */
export class Dev implements AsyncDisposable {
  readonly origin: string;
  readonly child: ChildProcess;
  output = "";
  hasEnded = false;

  constructor(cwd: string, port: number, args: readonly string[]) {
    this.origin = `http://127.0.0.1:${port}`;
    const env = {
      ...process.env,
      PATH: `${dirname(NODE)}:${process.env.PATH}`,
      WRANGLER_SEND_METRICS: "false",
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      CI: "true",
    };
    const all = [CLI, "dev", "--port", String(port), "--ip", "127.0.0.1", ...args];
    this.child = spawn(NODE, all, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on("data", (data) => {
        this.output += data;
      });
    }
    this.child.once("close", () => {
      this.hasEnded = true;
    });
  }

  url(path = "/mcp"): string {
    return `${this.origin}${path}`;
  }

  /** Calls a route of the recorder. */
  async api<T = unknown>(path: string, body?: unknown): Promise<T> {
    const init =
      body === undefined ? {} : { method: "POST", headers: { [DEV_HEADER]: "1" }, body: JSON.stringify(body) };
    const response = await fetch(this.url(`/__mcp-edge/api/${path}`), init);
    return (await response.json()) as T;
  }

  /** Returns the newest entry that meets a condition, once the tail Worker has reported the end of its invocation. */
  async entry(what: string, isFound: (summary: Summary) => boolean): Promise<Entry> {
    let entry: Entry | undefined;
    await until(what, async () => {
      const found = (await this.api<Summary[]>("entries")).findLast(isFound);
      if (!found || found.outcome === "running") return false;
      entry = await this.api<Entry>(`entries/${found.id}`);
      return entry.invocations.some(({ parent, endedAtMs }) => parent === undefined && endedAtMs !== undefined);
    });
    return entry as Entry;
  }

  /** Sends SIGTERM, and waits until all processes have ended. */
  async stop(): Promise<void> {
    this.child.kill("SIGTERM");
    await until("the end of mcp-edge dev", () => this.hasEnded && !this.#isGroupAlive());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isGroupAlive()) process.kill(-(this.child.pid ?? 0), "SIGKILL");
    await until("the end of mcp-edge dev", () => this.hasEnded);
  }

  #isGroupAlive(): boolean {
    try {
      return process.kill(-(this.child.pid ?? 0), 0);
    } catch {
      return false;
    }
  }
}
