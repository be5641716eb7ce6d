/**
 * `mcp-edge server-json`: the description of a server for the MCP registry.
 *
 * @module
 * @see https://github.com/modelcontextprotocol/registry, server.json of 2025-12-11
 */
import type { ServerFacts } from "../../../client/index.ts";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { isLoopback } from "../../../http/origin.ts";
import { Exit, usageError } from "../../exit.ts";
import { writeProjectFile } from "../../files/files.ts";
import { readJsonFile } from "../../files/json-file.ts";
import { noHandlers, withClient } from "../../server/connection.ts";
import { clean, oneLine, toJson } from "../../terminal/terminal.ts";
import type { ServerJsonOptions } from "./options.ts";

const SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
const NAME = /^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/;
const NAME_CHARACTERS = [3, 200] as const;
const DESCRIPTION_CHARACTERS_MAX = 100;
const TITLE_CHARACTERS_MAX = 100;

/** Runs the command and returns its exit code. */
export async function describeServer(server: string, options: ServerJsonOptions): Promise<number> {
  const { out, check, print } = options;
  const before = readJsonFile(out);
  if (check && !before) throw usageError(`${out} does not exist. Without --check, the command writes it.`);
  const url = options.url ?? (/^https?:/i.test(server) ? server : undefined);
  return withClient(server, options, noHandlers, async ({ client, terminal }) => {
    if (check && before) {
      const problems = compare(before, client.server, options.url);
      for (const problem of problems) terminal.print(clean(problem));
      if (problems.length === 0) terminal.note(`${out} agrees with the server.`);
      return problems.length === 0 ? Exit.ok : Exit.serverError;
    }
    const text = `${toJson(describe(client.server, before, options.name, url), 2)}\n`;
    if (print) {
      terminal.print(text.trimEnd());
      return Exit.ok;
    }
    writeProjectFile(out, text);
    terminal.note(`${out} is written. Publish it with mcp-publisher of the registry.`);
    return Exit.ok;
  });
}

/** Describes a server. Members that only a person knows, such as packages, stay as they were. */
function describe(
  { info }: ServerFacts,
  before: JsonObject | undefined,
  given: string | undefined,
  url: string | undefined,
): JsonObject {
  const name = given ?? before?.name;
  if (typeof name !== "string")
    throw usageError("Name the server as the registry shall know it: --name io.github.you/server");
  const problem = findNameProblem(name);
  if (problem !== undefined) throw usageError(`--name: ${problem}`);
  if (!info) throw usageError("The server does not say its name and version.");
  const { version, title, websiteUrl, icons } = info;
  const remotes = isPublic(url) ? [{ type: "streamable-http", url }] : before?.remotes;
  if (remotes === undefined && before?.packages === undefined) {
    throw usageError("The registry needs an address that others reach: --url https://example.com/mcp");
  }
  const description = before?.description ?? info.description ?? title ?? info.name;
  return {
    ...before,
    $schema: SCHEMA,
    name,
    ...(title === undefined ? {} : { title: oneLine(title, TITLE_CHARACTERS_MAX) }),
    description: oneLine(String(description), DESCRIPTION_CHARACTERS_MAX),
    version,
    ...(websiteUrl === undefined ? {} : { websiteUrl }),
    ...(icons === undefined ? {} : { icons }),
    ...(remotes === undefined ? {} : { remotes }),
  };
}

function isPublic(url: string | undefined): url is string {
  return url !== undefined && URL.canParse(url) && url.startsWith("https:") && !isLoopback(new URL(url).hostname);
}

function findNameProblem(name: string): string | undefined {
  const [min, max] = NAME_CHARACTERS;
  if (NAME.test(name) && name.length >= min && name.length <= max) return undefined;
  return `${JSON.stringify(name)} is not a name for the registry. Write a domain of yours backwards and a name, such as io.github.ada/weather.`;
}

/** Returns what is wrong with a file, or differs from the running server. */
function compare(file: JsonObject, { info }: ServerFacts, url: string | undefined): string[] {
  const problems: string[] = [];
  const differs = (member: string, is: unknown, shall: unknown) => {
    if (shall === undefined || is === shall) return;
    problems.push(`${member} is ${JSON.stringify(is)}, and the server says ${JSON.stringify(shall)}.`);
  };
  const name = findNameProblem(String(file.name));
  if (name !== undefined) problems.push(`name: ${name}`);
  if (file.$schema !== SCHEMA) problems.push(`$schema is ${JSON.stringify(file.$schema)}; use ${SCHEMA}`);
  const { description } = file;
  if (typeof description !== "string" || description.length < 1 || description.length > DESCRIPTION_CHARACTERS_MAX) {
    problems.push(`description must have 1 to ${DESCRIPTION_CHARACTERS_MAX} characters.`);
  }
  differs("version", file.version, info?.version);
  differs("title", file.title, info?.title);
  differs("websiteUrl", file.websiteUrl, info?.websiteUrl);
  const remotes = Array.isArray(file.remotes) ? file.remotes.filter(isObject) : [];
  if (remotes.length === 0 && !Array.isArray(file.packages)) problems.push("It has neither remotes nor packages.");
  for (const { url: each, type } of remotes) {
    if (type !== "streamable-http" && type !== "sse")
      problems.push(`remotes: the type ${JSON.stringify(type)} is unknown.`);
    if (typeof each !== "string" || !isPublic(each))
      problems.push(`remotes: ${JSON.stringify(each)} is not a public https: address.`);
  }
  if (url !== undefined && !remotes.some((each) => each.url === url)) problems.push(`remotes do not have ${url}.`);
  return problems;
}
