/**
 * The servers that hosts have configured.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Target } from "../target.ts";
import { type HostFile, hostFiles, type Surroundings } from "./files.ts";
import { parseJsonc } from "./jsonc.ts";

/** A server as a host has it. */
export interface Configured {
  readonly file: HostFile;
  readonly name: string;
  /** How to reach it as the file says it, with the names of variables; undefined if that cannot be known. */
  readonly written?: Target | undefined;
  /** Why it cannot be reached. */
  readonly problem?: string | undefined;
  readonly isDisabled: boolean;
  /** The variables of the environment that it gets. */
  readonly variables: readonly string[];
  /**
   * Returns how to reach it, with the values of variables. They may be secrets, so the user has agreed before to a server
   * of a project's file.
   *
   * @throws {Error} saying what is missing.
   */
  resolve(): Target;
}

/** The servers of one file. */
export interface ReadFile {
  readonly file: HostFile;
  readonly servers: readonly Configured[];
  /** Why the file could not be read. */
  readonly problem?: string;
}

/** The surroundings of this process. */
export function surroundings(): Surroundings {
  return { platform: process.platform, home: homedir(), env: process.env, cwd: process.cwd() };
}

/** Reads the files that exist. */
export function readHosts(around: Surroundings): ReadFile[] {
  return hostFiles(around).flatMap((file): ReadFile[] => {
    let text: string;
    try {
      text = readFileSync(file.path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      return [{ file, servers: [], problem: (error as Error).message }];
    }
    try {
      return [{ file, servers: serversOf(parseJsonc(text), file, around) }];
    } catch {
      return [{ file, servers: [], problem: "The file is not JSON." }];
    }
  });
}

function serversOf(whole: unknown, file: HostFile, around: Surroundings): Configured[] {
  if (!isObject(whole)) return [];
  const entries = entriesOf(whole[file.member]);
  // Claude Code also keeps the servers that a person added for one project.
  const { projects } = whole;
  const own = file.host === "claude-code" && isObject(projects) ? projects[around.cwd] : undefined;
  // Its own entry of a project takes the place of the general one.
  const all = new Map([...entries, ...entriesOf(isObject(own) ? own.mcpServers : undefined)]);
  return [...all].map(([name, entry]) => readEntry(name, entry, file, around));
}

function entriesOf(servers: unknown): [string, JsonObject][] {
  return Object.entries(isObject(servers) ? servers : {}).filter((entry): entry is [string, JsonObject] =>
    isObject(entry[1]),
  );
}

function readEntry(name: string, entry: JsonObject, file: HostFile, around: Surroundings): Configured {
  const isDisabled = entry.disabled === true || entry.enabled === false;
  const text = JSON.stringify(entry);
  const variables = [...new Set([...text.matchAll(VARIABLE)].flatMap(([, each = ""]) => nameOf(each) ?? []))];
  const resolve = () => checked(targetOf(expand(entry, around) as JsonObject));
  try {
    return { file, name, written: targetOf(entry), isDisabled, variables, resolve };
  } catch (error) {
    return { file, name, problem: (error as Error).message, isDisabled, variables, resolve };
  }
}

/** @throws {Error} saying what is missing. */
function targetOf(entry: JsonObject): Target {
  const url = entry.url ?? entry.serverUrl ?? entry.httpUrl;
  if (typeof url === "string") return { kind: "http", url, headers: textsOf(entry.headers) };
  // Zed once wrote the command as an object.
  const { command, args, env } = isObject(entry.command)
    ? { ...entry.command, command: entry.command.path }
    : (entry as { command?: unknown; args?: unknown; env?: unknown });
  if (typeof command !== "string" || command === "") throw new Error("It has neither a url nor a command.");
  const cwd = typeof entry.cwd === "string" ? { cwd: entry.cwd } : {};
  return { kind: "stdio", command, args: Array.isArray(args) ? args.map(String) : [], env: textsOf(env), ...cwd };
}

/** @throws {Error} if the address is no URL, which only its values can show. */
function checked(target: Target): Target {
  if (target.kind === "http" && !(/^https?:/.test(target.url) && URL.canParse(target.url))) {
    throw new Error(`${JSON.stringify(target.url)} is not a URL.`);
  }
  return target;
}

function textsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(isObject(value) ? value : {}).map(([name, each]) => [name, String(each)]));
}

const VARIABLE = /\$\{([^}]+)\}/g;

/** The variable of the environment that `${...}` means; undefined if it means something of the editor. */
function nameOf(text: string): string | undefined {
  const isEditors = text === "workspaceFolder" || text === "userHome" || text.startsWith("input:");
  return isEditors ? undefined : /^(?:env:)?(\w+)/.exec(text)?.[1];
}

/** Replaces variables in all strings. @throws {Error} naming the variable that has no value. */
function expand(value: unknown, around: Surroundings): unknown {
  if (typeof value === "string") return value.replace(VARIABLE, (_, name: string) => resolved(name, around));
  if (Array.isArray(value)) return value.map((each) => expand(each, around));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, expand(each, around)]));
}

/** `${NAME}`, `${NAME:-default}` and `${env:NAME}` are variables of the environment; the others are the editors'. */
function resolved(text: string, { env, cwd, home }: Surroundings): string {
  if (text === "workspaceFolder") return cwd;
  if (text === "userHome") return home;
  if (text.startsWith("input:"))
    throw new Error(`It needs the input ${text.slice(6)}, which only the host can ask for.`);
  const [, name = "", fallback] = /^(?:env:)?(\w+)(?::-(.*))?$/.exec(text) ?? [];
  const value = env[name] ?? fallback;
  if (value === undefined) throw new Error(`The variable ${name || text} has no value.`);
  return value;
}
