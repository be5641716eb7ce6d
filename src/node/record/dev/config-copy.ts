/**
 * A copy of the user's wrangler configuration with the tail Worker. It is in the folder of the original, because its paths are
 * relative, and because wrangler looks for `.dev.vars` in that folder.
 *
 * @module
 */
import { readdirSync, rmSync, unwatchFile, watchFile, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";

/** The name of the tail Worker. */
export const TAIL_NAME = "mcp-edge-recorder";

/** The user's configuration. */
export interface UserConfig {
  /** The path of the file. */
  readonly path: string;
  readonly config: JsonObject;
}

/** The options of {@link withTail}. */
export interface CopyOptions {
  readonly environment: string | undefined;
  /** Replaces `main`. A path relative to the configuration. @default the `main` of the configuration */
  readonly main?: string | undefined;
}

type ReadRawConfig = (args: { readonly config?: string | undefined }) => {
  readonly rawConfig: unknown;
  readonly configPath?: string | undefined;
  readonly userConfigPath?: string | undefined;
};

/**
 * Reads the user's configuration without resolving it. Returns undefined if there is none.
 *
 * @param path The path of the file. @default the file that wrangler finds in the current folder
 * @throws {Error} of wrangler if it cannot read the file.
 */
export function readUserConfig(folder: string, path: string | undefined): UserConfig | undefined {
  const wrangler = createRequire(join(folder, "package.json"))("wrangler") as {
    experimental_readRawConfig: ReadRawConfig;
  };
  const { rawConfig, configPath } = wrangler.experimental_readRawConfig({ config: path });
  if (configPath === undefined || !isObject(rawConfig)) return undefined;
  return { path: resolve(folder, configPath), config: rawConfig };
}

/** Returns a configuration with the tail Worker. */
export function withTail(config: JsonObject, { environment, main }: CopyOptions): JsonObject {
  const named = environment === undefined || !isObject(config.env) ? undefined : config.env[environment];
  // An environment does not inherit consumers. Its `main` overrides the top-level one.
  const env = isObject(named)
    ? { env: { ...(config.env as JsonObject), [environment ?? ""]: addTail(named, main) } }
    : {};
  return { ...addTail(config, main), ...env };
}

function addTail(config: JsonObject, main: string | undefined): JsonObject {
  const { streaming_tail_consumers: known } = config;
  const consumers = [...(Array.isArray(known) ? known : []), { service: TAIL_NAME }];
  const replaced = main !== undefined && config.main !== undefined ? { main } : {};
  return { ...config, ...replaced, streaming_tail_consumers: consumers };
}

/** The file of the copy. It is updated whenever the original changes. */
export class ConfigCopy {
  /** The path of the copy. */
  readonly path: string;
  readonly #user: UserConfig;
  readonly #write: () => void;

  /** @param format Returns the text of the copy. Called whenever the user's file changes. */
  constructor(user: UserConfig, format: (config: JsonObject) => string) {
    const folder = dirname(user.path);
    this.#user = user;
    this.path = join(folder, `.mcp-edge.${process.pid}.wrangler.json`);
    this.#write = () => {
      try {
        const { config } = readUserConfig(folder, user.path) ?? user;
        writeFileSync(this.path, format(config), { mode: 0o600 });
      } catch {
        // The file is being edited and cannot be read at the moment. wrangler keeps using the last copy.
      }
    };
    removeStale(folder);
    writeFileSync(this.path, format(user.config), { mode: 0o600 });
    // Polling also works with editors that replace the file.
    watchFile(user.path, { interval: WATCH_MS, persistent: false }, this.#write);
  }

  remove(): void {
    unwatchFile(this.#user.path, this.#write);
    rmSync(this.path, { force: true });
  }
}

const WATCH_MS = 500;

/** Removes the files of killed processes. */
export function removeStale(folder: string): void {
  for (const name of readdirSync(folder)) {
    const [, pid] = /^\.mcp-edge\.(\d+)\.(?:wrangler\.json|entry\.ts)$/.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(folder, name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // This process is not permitted to signal the other process, but it exists.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Formats a configuration as JSON. Dates, which only exist in TOML, become strings, as wrangler expects. */
export function formatConfig(config: JsonObject): string {
  return JSON.stringify(
    config,
    (_, value: unknown) => (value instanceof Date ? value.toISOString().slice(0, 10) : value),
    2,
  );
}
