/**
 * A Worker on real workerd, with real sockets and state on disk, that can be killed and started again on the same
 * state. The Worker is bundled as wrangler bundles it.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";

const ROOT = join(import.meta.dirname, "../..");

export interface WorkerdOptions {
  /** Entry file of the Worker, below the project's root; or its TypeScript source. */
  readonly entry: string | { readonly source: string };
  /** Durable Object bindings: binding name to class name. */
  readonly objects?: Readonly<Record<string, string>>;
  readonly bindings?: Readonly<Record<string, unknown>>;
  /** Answers every fetch the Worker makes: what stands where the internet would. */
  readonly outbound?: (request: Request) => Response | Promise<Response>;
  /** True: a second isolate of the same Worker with the objects of the first, which reaches it by the binding TWIN. */
  readonly twin?: boolean;
}

/** A key list for MCP_KEYS, new each time. */
export function newKeys(): string {
  return randomBytes(32).toString("base64url");
}

/** A running Worker. */
export class Workerd {
  readonly #options: WorkerdOptions;
  readonly #script: string;
  readonly #state: string;
  #miniflare: Miniflare | undefined;
  /** Origin, such as `http://127.0.0.1:41234`. A restart takes another port. */
  origin = "";

  private constructor(options: WorkerdOptions, script: string, state: string) {
    this.#options = options;
    this.#script = script;
    this.#state = state;
  }

  static async start(options: WorkerdOptions): Promise<Workerd> {
    const script = await bundle(options.entry);
    const worker = new Workerd(options, script, mkdtempSync(join(tmpdir(), "mcp-edge-")));
    await worker.#run();
    return worker;
  }

  /** Ends workerd as a crash would (SIGKILL) and starts it again on the same state. */
  async killAndRestart(): Promise<void> {
    for (const pid of workerdChildren()) {
      if (pid === this.#pid) process.kill(pid, "SIGKILL");
    }
    await this.#miniflare?.dispose().catch(() => undefined);
    await this.#run();
  }

  async stop(): Promise<void> {
    await this.#miniflare?.dispose();
    rmSync(this.#state, { recursive: true, force: true });
  }

  /**
   * Ends the life of a named object in memory, as being idle does.
   *
   * @param webSockets What becomes of its hibernating sockets: they sleep, or are lost.
   */
  async evict(className: string, name: string, webSockets: "hibernate" | "close" = "hibernate"): Promise<void> {
    await this.#miniflare?.unsafeEvictDurableObject("first", className, { name, webSockets });
  }

  /** Runs the handler `scheduled` of the Worker, as its cron would. */
  async runCron(): Promise<void> {
    const worker = await this.#miniflare?.getWorker("first");
    await worker?.scheduled({ cron: "* * * * *" });
  }

  /** Hands messages to the handler `queue` of the Worker, as a queue would. */
  async runQueue(bodies: readonly unknown[]): Promise<void> {
    const worker = await this.#miniflare?.getWorker("first");
    const messages = bodies.map((body, index) => ({ id: String(index), timestamp: new Date(), attempts: 1, body }));
    await worker?.queue("subjects", messages);
  }

  /** Object ids of a class that have a database on disk. */
  storedObjects(className: string): string[] {
    const folders = readdirSync(this.#state, { recursive: true, encoding: "utf8" });
    return folders.filter(
      (path) => path.includes(`-${className}`) && path.endsWith(".sqlite") && !path.includes("metadata"),
    );
  }

  /** The workerd process this harness started last. */
  get pid(): number | undefined {
    return this.#pid;
  }

  #pid: number | undefined;

  async #run(): Promise<void> {
    const { objects = {}, bindings = {}, outbound, twin = false } = this.#options;
    const before = new Set(workerdChildren());
    const worker = (name: string, objectsOf: object, more: object) => ({
      name,
      modules: true,
      script: this.#script,
      compatibilityDate: "2026-10-20",
      compatibilityFlags: ["enable_request_signal"],
      durableObjects: Object.fromEntries(
        Object.entries(objects).map(([binding, className]) => [binding, { className, useSQLite: true, ...objectsOf }]),
      ),
      bindings: bindings as never,
      ...(outbound ? { outboundService: outbound as never } : {}),
      ...more,
    });
    this.#miniflare = new Miniflare(
      convertV4MiniflareOptions({
        resourcePersistencePath: this.#state,
        host: "127.0.0.1",
        port: 0,
        cf: false,
        ...(twin
          ? {
              workers: [
                worker("first", {}, { serviceBindings: { TWIN: "twin" } }),
                worker("twin", { scriptName: "first" }, {}),
              ],
            }
          : worker("first", {}, {})),
      }),
    );
    this.origin = (await this.#miniflare.ready).origin;
    this.#pid = workerdChildren().find((pid) => !before.has(pid));
  }
}

/** Bundles one entry as wrangler does for Workers. */
async function bundle(entry: WorkerdOptions["entry"]): Promise<string> {
  const input =
    typeof entry === "string"
      ? { entryPoints: [join(ROOT, entry)] }
      : { stdin: { contents: entry.source, loader: "ts" as const, resolveDir: ROOT } };
  const result = await build({
    ...input,
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    keepNames: true,
    logLevel: "error",
  });
  return result.outputFiles[0]?.text ?? "";
}

/** Process ids of this process's own workerd children. */
function workerdChildren(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const [, command, parent] = /^\d+ \((.*)\) \S (\d+)/.exec(stat) ?? [];
        return command === "workerd" && Number(parent) === process.pid ? [Number(name)] : [];
      } catch {
        // The process ended between the listing and the read.
        return [];
      }
    });
}
