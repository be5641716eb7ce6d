/** Runs a bundle in one workerd process, which the client connects to directly. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Contestant } from "./contestants.ts";

export const COMPATIBILITY_DATE = "2026-10-20";
/** A CommonJS module whose `default` is the path of the executable. */
const { default: WORKERD } = createRequire(import.meta.url)("workerd") as { readonly default: string };

export class Workerd implements AsyncDisposable {
  readonly contestant: Contestant;
  readonly port: number;
  readonly #folder: string;
  #process: ChildProcess | undefined;

  private constructor(contestant: Contestant, port: number, folder: string) {
    this.contestant = contestant;
    this.port = port;
    this.#folder = folder;
  }

  /** Starts a contestant's bundle with empty storage. Resolves when its port accepts connections. */
  static async start(contestant: Contestant, bundlePath: string, extra: readonly string[] = []): Promise<Workerd> {
    const folder = mkdtempSync(join(tmpdir(), "mcp-edge-bench-"));
    mkdirSync(join(folder, "state"));
    writeFileSync(join(folder, "worker.js"), readFileSync(bundlePath));
    const started = new Workerd(contestant, await freePort(), folder);
    writeFileSync(join(folder, "config.capnp"), configOf(contestant, started.port));
    await started.restart(extra);
    return started;
  }

  /** Kills the process if it runs, and starts it with the same storage and port. */
  async restart(extra: readonly string[] = []): Promise<void> {
    await this.#kill();
    const config = join(this.#folder, "config.capnp");
    const child = spawn(WORKERD, ["serve", "--experimental", ...extra, config], {
      cwd: this.#folder,
      stdio: ["ignore", "ignore", process.env.BENCH_LOG ? "inherit" : "ignore"],
    });
    this.#process = child;
    while (!(await takesConnections(this.port))) {
      if (child.exitCode !== null) throw new Error(`workerd ended with ${child.exitCode}: ${this.contestant.name}`);
      await pause(1);
    }
  }

  /** CPU time that the threads of the process have used so far, in microseconds. */
  cpuMicroseconds(): number {
    const tasks = `/proc/${this.#process?.pid}/task`;
    const nanoseconds = readdirSync(tasks).map((thread) =>
      Number(readFileSync(join(tasks, thread, "schedstat"), "utf8").split(" ")[0]),
    );
    return nanoseconds.reduce((sum, each) => sum + each, 0) / 1000;
  }

  /** The memory that the process has in use, in bytes, or 0 after it has ended. */
  residentBytes(): number {
    if (this.end !== undefined) return 0;
    try {
      const status = readFileSync(`/proc/${this.#process?.pid}/status`, "utf8");
      // A process that has just ended has no such line.
      return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
    } catch {
      return 0;
    }
  }

  /** How the process ended by itself, such as `SIGSEGV` or `status 1`, or undefined while it runs. */
  get end(): string | undefined {
    const { exitCode = null, signalCode = null } = this.#process ?? {};
    return signalCode ?? (exitCode === null ? undefined : `status ${exitCode}`);
  }

  /** Disk space that its objects use, in bytes. */
  diskBytes(): number {
    return Number(execFileSync("du", ["-sk", join(this.#folder, "state")], { encoding: "utf8" }).split("\t")[0]) * 1024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }
}

function configOf({ objects = {} }: Contestant, port: number): string {
  const entries = Object.entries(objects);
  const namespaces = entries.map(
    ([, name]) => `( className = "${name}", uniqueKey = "bench-${name}", enableSql = true )`,
  );
  const bindings = entries.map(([binding, name]) => `( name = "${binding}", durableObjectNamespace = "${name}" )`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ ( name = "main", worker = .worker ), ( name = "state", disk = ( path = "state", writable = true ) ) ],
  sockets = [ ( name = "http", address = "127.0.0.1:${port}", http = (), service = "main" ) ]
);
const worker :Workerd.Worker = (
  modules = [ ( name = "worker.js", esModule = embed "worker.js" ) ],
  compatibilityDate = "${COMPATIBILITY_DATE}",
  compatibilityFlags = [ "enable_request_signal" ],
  durableObjectNamespaces = [ ${namespaces.join(", ")} ],
  durableObjectStorage = ( localDisk = "state" ),
  bindings = [ ${bindings.join(", ")} ]
);
`;
}

/** Returns a port of the loopback address that nothing listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
