/**
 * Records what passes between clients and `wrangler dev`, and what happens in the Worker.
 *
 * @module
 */
import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { RECORDER_PATH, type RecorderInfo } from "../../../recorder/api.ts";
import { Recorder } from "../../../recorder/recorder.ts";
import { startCollector } from "../collector.ts";
import { printLines } from "../line.ts";
import { RecordingProxy } from "../proxy/recording-proxy.ts";
import { createRoutes } from "../routes.ts";
import { ConfigCopy, formatConfig, readUserConfig, TAIL_NAME, type UserConfig, withTail } from "./config-copy.ts";
import { createPlaces } from "./source-places.ts";
import { createWorkspace } from "./workspace.ts";
import { readWranglerArguments, type WranglerArguments } from "./wrangler-arguments.ts";

/** What the user has chosen. */
export interface RecordOptions {
  /** The arguments of `wrangler dev`. */
  readonly wrangler: readonly string[];
  /** The path of the endpoint. */
  readonly path: string;
  readonly verbose: boolean;
  readonly contents: boolean;
  readonly faults: boolean;
}

/** A recording that is prepared, before wrangler is started. */
export interface DevRecording {
  /** The arguments of Node that come before wrangler's program. */
  readonly nodeArguments: readonly string[];
  /** The arguments of `wrangler dev`. */
  readonly wranglerArguments: readonly string[];
  /** The origin at which clients connect, such as `http://127.0.0.1:8787`. */
  readonly origin: string;
  /** The URL of the recorder's page. */
  readonly page: string;
  /** The value of `User-Agent` with which `mcp-edge dev` itself looks at the server. These requests are not shown. */
  readonly userAgent: string;
  /** Called when wrangler listens. */
  ready(): void;
  close(): Promise<void>;
}

/** Why nothing is recorded. */
export interface NotRecorded {
  /** A sentence for the user. Undefined if wrangler itself says what is wrong. */
  readonly reason?: string;
  /** Whether wrangler must not be started either. */
  readonly isFatal?: boolean;
}

const DEFAULT_PORT = 8787;

/** Prepares a recording. */
export async function recordDev(options: RecordOptions): Promise<DevRecording | NotRecorded> {
  const args = readWranglerArguments(options.wrangler);
  const folder = process.cwd();
  const user = readConfig(folder, args);
  if (!user) return {};
  const dev = isObject(user.config.dev) ? user.config.dev : {};
  if (args.isRemote) return { reason: "A Worker that runs on Cloudflare (--remote) is not recorded." };
  if (args.isHttps || dev.local_protocol === "https") return { reason: "With HTTPS, nothing is recorded." };
  const host = args.ip ?? (typeof dev.ip === "string" ? dev.ip : "localhost");
  const port = args.port ?? (typeof dev.port === "number" ? dev.port : undefined);
  const inside = await findPort();
  return new Recording(options, { args, user, inside }).start(host, port);
}

function readConfig(folder: string, args: WranglerArguments): UserConfig | undefined {
  if (args.hasScript && args.configs.length === 0) return undefined;
  try {
    return readUserConfig(folder, args.configs[0]);
  } catch {
    // wrangler says what is wrong with the file.
    return undefined;
  }
}

/** Returns a free port for wrangler. */
function findPort(): Promise<number> {
  return new Promise((done, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => done(port));
    });
  });
}

/** What was read before the recording begins. */
interface Read {
  readonly args: WranglerArguments;
  readonly user: UserConfig;
  /** The port at which wrangler listens. */
  readonly inside: number;
}

class Recording {
  readonly #options: RecordOptions;
  readonly #read: Read;
  readonly #recorder: Recorder;
  readonly #userAgent = `mcp-edge-dev/${randomBytes(8).toString("hex")}`;
  readonly #proxy: RecordingProxy;
  #origin = "";
  #letIn: () => void = () => undefined;

  constructor(options: RecordOptions, read: Read) {
    this.#options = options;
    this.#read = read;
    const key = randomBytes(16);
    const { args } = read;
    this.#recorder = new Recorder({
      contents: options.contents,
      endpointPath: options.path,
      hash: (text) => createHmac("sha256", key).update(text).digest("hex"),
      mapStack: createPlaces(dirname(read.user.path)),
      // With several Workers, wrangler marks the lines of each, and the user sees these marks without the recorder too.
      ...(args.configs.length > 1 ? {} : { workerName: nameOf(read.user.config, args.environment) }),
    });
    const ready = new Promise<void>((done) => {
      this.#letIn = done;
    });
    this.#proxy = new RecordingProxy({
      recorder: this.#recorder,
      connect: () => connect({ host: "127.0.0.1", port: read.inside, allowHalfOpen: true }),
      inside: createRoutes(this.#routes()),
      hasTail: true,
      isOwn: (userAgent) => userAgent === this.#userAgent,
      ready,
    });
  }

  async start(host: string, port: number | undefined): Promise<DevRecording | NotRecorded> {
    const listening = await this.#listen(host, port);
    if (listening === undefined) {
      const reason = `Address already in use (${host}:${port}). Choose another one with --port.`;
      return { reason, isFatal: true };
    }
    this.#origin = toOrigin(host, listening);
    const { args, user, inside } = this.#read;
    const { environment } = args;
    const collector = await startCollector((events) => this.#recorder.takeTail(events));
    const copy = new ConfigCopy(user.path, () => formatConfig(withTail(this.#readAgain(), { environment })));
    const workspace = createWorkspace(collector, environment, {
      hidesRequests: !this.#options.verbose,
      inside: `http://127.0.0.1:${inside}`,
      outside: this.#origin,
      copy: copy.path.slice(dirname(copy.path).length + 1),
      original: copy.userName,
      workerName: args.configs.length > 1 ? "" : nameOf(user.config, environment),
      tailName: TAIL_NAME,
    });
    const stopLines = printLines(this.#recorder, (line) => console.log(line));
    process.once("exit", () => {
      copy.remove();
      workspace.remove();
    });
    return {
      nodeArguments: ["--import", workspace.preload],
      wranglerArguments: this.#wranglerArguments(copy.path, workspace.tailConfig),
      origin: this.#origin,
      page: `${this.#origin}${RECORDER_PATH}`,
      userAgent: this.#userAgent,
      ready: () => this.#letIn(),
      close: async () => {
        stopLines();
        copy.remove();
        workspace.remove();
        collector.close();
        this.#letIn();
        await this.#proxy.close();
      },
    };
  }

  /** Listens where wrangler would. Undefined if the address was chosen and is in use. */
  async #listen(host: string, port: number | undefined): Promise<number | undefined> {
    const hosts = toHosts(host);
    try {
      return await this.#proxy.listen(hosts, port ?? DEFAULT_PORT);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      return port === undefined ? this.#proxy.listen(hosts, 0) : undefined;
    }
  }

  #readAgain(): JsonObject {
    const { user } = this.#read;
    // The first copy is made of what was read already.
    if (this.#isFirst) {
      this.#isFirst = false;
      return user.config;
    }
    return readUserConfig(process.cwd(), user.path)?.config ?? user.config;
  }

  #isFirst = true;

  #wranglerArguments(copy: string, tailConfig: string): string[] {
    const { args, user, inside } = this.#read;
    const persistTo = args.persistTo ?? resolve(dirname(user.path), ".wrangler/state");
    const configs = [copy, ...args.configs.slice(1), tailConfig];
    return [
      ...args.rest,
      ...configs.map((path) => `--config=${path}`),
      ...(args.persistTo === undefined ? [`--persist-to=${persistTo}`] : []),
      "--ip=127.0.0.1",
      `--port=${inside}`,
    ];
  }

  #routes() {
    const none = { problem: "This is not recorded." };
    return {
      recorder: this.#recorder,
      info: (): RecorderInfo => ({
        mode: "dev" as const,
        endpoint: { url: `${this.#origin}${this.#options.path}`, path: this.#options.path },
        contents: this.#options.contents,
        faults: this.#options.faults,
        version: packageVersion(),
      }),
      objects: async () => [],
      causeFault: async () => ({ done: false, text: "This fault cannot be caused." }),
      copyAsCurl: () => none,
      copyAsTest: () => none,
      exportRecording: () => none,
      importRecording: () => none,
      compare: () => none,
    };
  }
}

/** Returns the name of the Worker in an environment. */
function nameOf(config: JsonObject, environment: string | undefined): string {
  const name = typeof config.name === "string" ? config.name : "";
  const own = environment !== undefined && isObject(config.env) ? config.env[environment] : undefined;
  if (environment === undefined) return name;
  return isObject(own) && typeof own.name === "string" ? own.name : `${name}-${environment}`;
}

/** Returns the addresses at which wrangler would listen. */
function toHosts(host: string): readonly string[] {
  if (host === "localhost") return ["127.0.0.1", "::1"];
  return [host === "*" ? "" : host];
}

function toOrigin(host: string, port: number): string {
  const isEverywhere = host === "0.0.0.0" || host === "*" || host === "::";
  const shown = isEverywhere ? "127.0.0.1" : host;
  return `http://${shown.includes(":") && !shown.startsWith("[") ? `[${shown}]` : shown}:${port}`;
}

/** Returns the version of this package. */
function packageVersion(): string {
  for (let folder = import.meta.dirname; folder !== dirname(folder); folder = dirname(folder)) {
    try {
      const found = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
        name?: string;
        version?: string;
      };
      if (found.name === "mcp-edge") return found.version ?? "";
    } catch {
      // No package.json in this folder.
    }
  }
  return "";
}
