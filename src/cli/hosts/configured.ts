/**
 * The servers that are configured in hosts.
 *
 * @module
 */
import { homedir } from "node:os";
import {
  type ConfiguredServer,
  fillServer,
  isDisabled,
  parseServer,
  variablesIn,
} from "../../client/host/server-config.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { parseJsonc } from "../../node/jsonc.ts";

import { readPlainFile } from "../../node/plain-file.ts";
import type { ServerAddress } from "../server/server-address.ts";

import { type HostFile, hostFiles, type Surroundings } from "./files.ts";

/** A server in a host's configuration. */
export interface HostServer {
  readonly file: HostFile;
  readonly name: string;
  /** How to reach the server, as written in the file, with variables not replaced; undefined if the entry is invalid. */
  readonly written?: ServerAddress | undefined;
  /** Why the entry is invalid. */
  readonly problem?: string | undefined;
  readonly isDisabled: boolean;
  /** The names of the environment variables that the entry uses. */
  readonly variables: readonly string[];
  /**
   * Returns how to reach the server, with variables replaced by their values. These may be secrets, so the user must have agreed to
   * a server from a project's file first.
   *
   * @throws {Error} naming what is missing.
   */
  resolve(): ServerAddress;
}

/** A configuration file with its servers. */
export interface HostFileServers {
  readonly file: HostFile;
  readonly servers: readonly HostServer[];
  /** Why the file could not be read. */
  readonly problem?: string;
}

/** Returns the surroundings of this process. */
export function surroundings(): Surroundings {
  return { platform: process.platform, home: homedir(), env: process.env, cwd: process.cwd() };
}

/** Reads all configuration files that exist. */
export function readHosts(around: Surroundings): HostFileServers[] {
  return hostFiles(around).flatMap((file): HostFileServers[] => {
    let text: string;
    try {
      text = readPlainFile(file.path).toString("utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      return [{ file, servers: [], problem: (error as Error).message }];
    }
    try {
      return [{ file, servers: listServers(parseJsonc(text), file, around) }];
    } catch {
      return [{ file, servers: [], problem: "The file is not JSON." }];
    }
  });
}

function listServers(whole: unknown, file: HostFile, around: Surroundings): HostServer[] {
  if (!isObject(whole)) return [];
  const entries = listEntries(whole[file.member]);
  // Claude Code also stores servers that the user added for a single project.
  const { projects } = whole;
  const own = file.host === "claude-code" && isObject(projects) ? projects[around.cwd] : undefined;
  // An entry for the project overrides a general entry with the same name.
  const all = new Map([...entries, ...listEntries(isObject(own) ? own.mcpServers : undefined)]);
  return [...all].map(([name, entry]) => readEntry(name, entry, file, around));
}

function listEntries(servers: unknown): [string, JsonObject][] {
  return Object.entries(isObject(servers) ? servers : {}).filter((entry): entry is [string, JsonObject] =>
    isObject(entry[1]),
  );
}

function readEntry(name: string, entry: JsonObject, file: HostFile, around: Surroundings): HostServer {
  const common = { file, name, isDisabled: isDisabled(entry) };
  try {
    const server = parseServer(name, entry);
    const variables = variablesIn(server).filter((variable) => !isHostVariable(variable));
    const resolve = () => checked(toTarget(fillServer(name, server, (variable) => lookUp(variable, around))));
    return { ...common, written: toTarget(server), variables, resolve };
  } catch (error) {
    const resolve = () => {
      throw error;
    };
    return { ...common, problem: (error as Error).message, variables: [], resolve };
  }
}

function toTarget(server: ConfiguredServer): ServerAddress {
  return "url" in server ? { kind: "http", ...server } : { kind: "stdio", ...server };
}

/** @throws {Error} if the address is not a URL. That can be checked only after variables are replaced. */
function checked(target: ServerAddress): ServerAddress {
  if (target.kind === "http" && !(/^https?:/.test(target.url) && URL.canParse(target.url))) {
    throw new Error(`${JSON.stringify(target.url)} is not a URL.`);
  }
  return target;
}

/** Whether the host provides the value of a variable, not the environment. */
function isHostVariable(variable: string): boolean {
  return variable === "workspaceFolder" || variable === "userHome" || variable.includes(":");
}

/** Returns the value of a variable. @throws {Error} if only the host can ask the user for it. */
function lookUp(variable: string, { env, cwd, home }: Surroundings): string | undefined {
  if (variable === "workspaceFolder") return cwd;
  if (variable === "userHome") return home;
  if (variable.startsWith("input:"))
    throw new Error(`It requires the input ${variable.slice(6)}, which only the host can ask for.`);
  return env[variable];
}
