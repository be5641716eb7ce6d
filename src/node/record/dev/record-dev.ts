/**
 * Records the exchanges between clients and `wrangler dev`, and the events in the Worker.
 *
 * @module
 */
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { basename, dirname, join, relative, resolve } from "node:path";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { RECORDER_PATH } from "../../../recorder/api.ts";
import { Recorder } from "../../../recorder/recorder.ts";
import type { TestedServer } from "../../../recorder/recording/test-file.ts";
import { choosePort } from "../../free-port.ts";
import { type Collector, startCollector } from "../collector.ts";
import { createHash } from "../hash.ts";
import { printLines } from "../line.ts";
import { ObjectReader } from "../objects/object-states.ts";
import { createOutputCheck } from "../output-check.ts";
import { packageVersion } from "../package-version.ts";
import { RecordingProxy } from "../proxy/recording-proxy.ts";
import { recordingRoutes } from "../recording-routes.ts";
import { createRoutes } from "../routes.ts";
import { listenLike, toOrigin } from "./addresses.ts";
import { ConfigCopy, formatConfig, readUserConfig, TAIL_NAME, type UserConfig, withTail } from "./config-copy.ts";
import { FaultEntry } from "./fault-entry.ts";
import { Faults } from "./faults.ts";
import { readSecrets } from "./secret-variables.ts";
import { createPlaces } from "./source-places.ts";
import { createWorkspace, type Workspace } from "./workspace.ts";
import { readWranglerArguments, type WranglerArguments } from "./wrangler-arguments.ts";

/** The options of {@link recordDev}. */
export interface RecordOptions {
  /** The path of wrangler's program. */
  readonly program: string;
  /** The arguments of `wrangler dev`. */
  readonly wrangler: readonly string[];
  /** The path of the endpoint. */
  readonly path: string;
  readonly verbose: boolean;
  readonly contents: boolean;
  readonly faults: boolean;
}

/** A recording that was prepared before wrangler starts. */
export interface DevRecording {
  /** The arguments of Node.js that precede wrangler's program. */
  readonly nodeArguments: readonly string[];
  /** The arguments of `wrangler dev`. */
  readonly wranglerArguments: readonly string[];
  /** The origin to which clients connect, such as `http://127.0.0.1:8787`. */
  readonly origin: string;
  /** The URL of the recorder's page. */
  readonly page: string;
  /** The `User-Agent` of requests that `mcp-edge dev` itself sends. They are not shown. */
  readonly userAgent: string;
  /** Called when wrangler's process has started. */
  started(child: ChildProcess): void;
  /** Called when wrangler listens. */
  ready(): void;
  close(): Promise<void>;
}

/** The reason why a recording is not possible. */
export interface NotRecorded {
  /** A sentence for the user. Undefined if wrangler itself reports the problem. */
  readonly reason?: string;
  /** Whether wrangler must not be started either. */
  readonly isFatal?: boolean;
}

/** Prepares a recording. */
export async function recordDev(options: RecordOptions): Promise<DevRecording | NotRecorded> {
  const args = readWranglerArguments(options.wrangler);
  if (args.isRemote) return { reason: "A Worker that runs on Cloudflare (--remote) is not recorded." };
  const user = readConfig(process.cwd(), args);
  if (!user) return {};
  const dev = isObject(user.config.dev) ? user.config.dev : {};
  if (args.isHttps || dev.local_protocol === "https") return { reason: "A server with HTTPS is not recorded." };
  const host = args.ip ?? (typeof dev.ip === "string" ? dev.ip : "localhost");
  const port = args.port ?? (typeof dev.port === "number" ? dev.port : undefined);
  return new Recording(options, { args, user, inside: await choosePort() }).start(host, port);
}

function readConfig(folder: string, args: WranglerArguments): UserConfig | undefined {
  if (args.hasScript && args.configs.length === 0) return undefined;
  try {
    return readUserConfig(folder, args.configs[0]);
  } catch {
    // wrangler reports what is wrong with the file.
    return undefined;
  }
}

/** The configuration of a recording. */
interface Setup {
  readonly args: WranglerArguments;
  readonly user: UserConfig;
  /** The port at which wrangler listens. */
  readonly inside: number;
}

class Recording {
  readonly #options: RecordOptions;
  readonly #setup: Setup;
  readonly #workerName: string;
  readonly #recorder: Recorder;
  readonly #objects: ObjectReader;
  readonly #proxy: RecordingProxy;
  readonly #faults: Faults;
  readonly #entry: FaultEntry | undefined;
  readonly #userAgent = `mcp-edge-dev/${randomBytes(8).toString("hex")}`;
  readonly #ready = Promise.withResolvers<void>();
  #origin = "";
  #child: ChildProcess | undefined;

  constructor(options: RecordOptions, setup: Setup) {
    const { args, user, inside } = setup;
    this.#options = options;
    this.#setup = setup;
    this.#workerName = nameOf(user.config, args.environment);
    this.#recorder = new Recorder({
      contents: options.contents,
      endpointPath: options.path,
      hash: createHash(),
      checkOutput: createOutputCheck(),
      mapStack: createPlaces(dirname(user.path)),
      // If the user runs several Workers, wrangler prefixes log lines with or without the recorder, so the prefix is kept.
      ...(args.configs.length > 1 ? {} : { workerName: this.#workerName }),
    });
    for (const secret of readSecrets(dirname(user.path), args.environment)) this.#recorder.redactor.secrets.add(secret);
    const state = args.persistTo ?? resolve(dirname(user.path), ".wrangler/state");
    const place = { folder: join(resolve(state), "v3/do"), workerName: this.#workerName };
    this.#objects = new ObjectReader(place, this.#recorder);
    this.#entry = options.faults && !args.hasScript ? new FaultEntry(user, args.environment) : undefined;
    this.#proxy = new RecordingProxy({
      recorder: this.#recorder,
      connect: () => connect({ host: "127.0.0.1", port: inside, allowHalfOpen: true }),
      inside: createRoutes(this.#routes()),
      hasTail: true,
      isOwn: (userAgent) => userAgent === this.#userAgent,
      ready: this.#ready.promise,
    });
    this.#faults = new Faults({
      recorder: this.#recorder,
      proxy: this.#proxy,
      workerName: this.#workerName,
      inside: `http://127.0.0.1:${inside}`,
      secret: this.#entry?.secret,
      objects: () => this.#objects.states(),
      child: () => this.#child,
    });
  }

  async start(host: string, port: number | undefined): Promise<DevRecording | NotRecorded> {
    const listening = await listenLike(this.#proxy, host, port);
    if (listening === undefined) {
      return { reason: `Address already in use (${host}:${port}). Choose another port with --port.`, isFatal: true };
    }
    this.#origin = toOrigin(host, listening);
    const collector = await startCollector((events) => this.#recorder.takeTail(events));
    const { environment } = this.#setup.args;
    const copy = new ConfigCopy(this.#setup.user, (config) => {
      const main = this.#entry?.write(config);
      return formatConfig(withTail(config, { environment, main }));
    });
    const workspace = this.#createWorkspace(collector, copy);
    const stopLines = printLines(this.#recorder, (line) => console.log(line));
    const remove = () => {
      copy.remove();
      workspace.remove();
      this.#entry?.remove();
    };
    process.once("exit", remove);
    return {
      nodeArguments: ["--import", workspace.preload],
      wranglerArguments: this.#wranglerArguments(copy.path, workspace.tailConfig),
      origin: this.#origin,
      page: `${this.#origin}${RECORDER_PATH}`,
      userAgent: this.#userAgent,
      started: (child) => {
        this.#child = child;
      },
      ready: () => this.#ready.resolve(),
      close: async () => {
        stopLines();
        remove();
        collector.close();
        this.#ready.resolve();
        await this.#proxy.close();
      },
    };
  }

  #createWorkspace(collector: Collector, copy: ConfigCopy): Workspace {
    const { args, user, inside } = this.#setup;
    const output = {
      hidesRequests: !this.#options.verbose,
      inside: `http://127.0.0.1:${inside}`,
      outside: this.#origin,
      copy: basename(copy.path),
      original: basename(user.path),
      workerName: args.configs.length > 1 ? "" : this.#workerName,
      tailName: TAIL_NAME,
    };
    return createWorkspace(collector, args.environment, { output, program: this.#options.program, inside });
  }

  #wranglerArguments(copy: string, tailConfig: string): string[] {
    const { args, user, inside } = this.#setup;
    const configs = [copy, ...args.configs.slice(1), tailConfig];
    const state = resolve(dirname(user.path), ".wrangler/state");
    return [
      ...args.rest,
      ...configs.map((path) => `--config=${path}`),
      ...(args.persistTo === undefined ? [`--persist-to=${state}`] : []),
      "--ip=127.0.0.1",
      `--port=${inside}`,
    ];
  }

  #routes() {
    const info = () => ({
      mode: "dev" as const,
      endpoint: { url: `${this.#origin}${this.#options.path}`, path: this.#options.path },
      ...(this.#recorder.server ? { server: this.#recorder.server } : {}),
      contents: this.#options.contents,
      faults: this.#entry !== undefined,
      version: packageVersion(),
    });
    const { args, user } = this.#setup;
    const { environment } = args;
    const server = (): TestedServer => {
      const config = relative(process.cwd(), user.path);
      return { kind: "worker", config, ...(environment === undefined ? {} : { environment }) };
    };
    return {
      ...recordingRoutes(this.#recorder, info, server),
      info,
      objects: () => this.#objects.states(),
      causeFault: (request: Parameters<Faults["cause"]>[0]) => this.#faults.cause(request),
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
