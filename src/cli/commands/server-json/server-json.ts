/**
 * `mcp-edge server-json`: writes or checks `server.json`, which describes a server in the MCP registry.
 *
 * @module
 * @see https://github.com/modelcontextprotocol/registry, schema of server.json of 2025-12-11
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
      if (problems.length === 0) terminal.note(`${out} matches the server.`);
      return problems.length === 0 ? Exit.ok : Exit.serverError;
    }
    const text = `${toJson(describe(client.server, before, options.name, url), 2)}\n`;
    if (print) {
      terminal.print(text.trimEnd());
      return Exit.ok;
    }
    writeProjectFile(out, text);
    terminal.note(`${out} was written. To publish it, use the registry's program mcp-publisher.`);
    return Exit.ok;
  });
}

/** Returns the description of a server. Members that the server does not provide, such as `packages`, are kept from the old file. */
function describe(
  { info }: ServerFacts,
  before: JsonObject | undefined,
  given: string | undefined,
  url: string | undefined,
): JsonObject {
  const name = given ?? before?.name;
  if (typeof name !== "string")
    throw usageError("Give the server a name for the registry: --name io.github.you/server");
  const problem = findNameProblem(name);
  if (problem !== undefined) throw usageError(`--name: ${problem}`);
  if (!info) throw usageError("The server does not report its name and version.");
  const { version, title, websiteUrl, icons } = info;
  const remotes = isPublic(url) ? [{ type: "streamable-http", url }] : before?.remotes;
  if (remotes === undefined && before?.packages === undefined) {
    throw usageError("The registry requires a public URL: --url https://example.com/mcp");
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
  return `${JSON.stringify(name)} is not a valid name for the registry. Write your domain in reverse order and a name, such as io.github.ada/weather.`;
}

/** Returns what is wrong with the file, and how it differs from the running server. */
function compare(file: JsonObject, { info }: ServerFacts, url: string | undefined): string[] {
  const problems: string[] = [];
  const compareMember = (member: string, actual: unknown, expected: unknown) => {
    if (expected === undefined || actual === expected) return;
    problems.push(`${member} is ${JSON.stringify(actual)}, but the server reports ${JSON.stringify(expected)}.`);
  };
  const name = findNameProblem(String(file.name));
  if (name !== undefined) problems.push(`name: ${name}`);
  if (file.$schema !== SCHEMA) problems.push(`$schema is ${JSON.stringify(file.$schema)}; use ${SCHEMA}`);
  const { description } = file;
  if (typeof description !== "string" || description.length < 1 || description.length > DESCRIPTION_CHARACTERS_MAX) {
    problems.push(`description must have 1 to ${DESCRIPTION_CHARACTERS_MAX} characters.`);
  }
  compareMember("version", file.version, info?.version);
  compareMember("title", file.title, info?.title);
  compareMember("websiteUrl", file.websiteUrl, info?.websiteUrl);
  const remotes = Array.isArray(file.remotes) ? file.remotes.filter(isObject) : [];
  if (remotes.length === 0 && !Array.isArray(file.packages))
    problems.push("The file has neither remotes nor packages.");
  for (const { url: each, type } of remotes) {
    if (type !== "streamable-http" && type !== "sse")
      problems.push(`remotes: the type ${JSON.stringify(type)} is unknown.`);
    if (typeof each !== "string" || !isPublic(each))
      problems.push(`remotes: ${JSON.stringify(each)} is not a public https: URL.`);
  }
  if (url !== undefined && !remotes.some((each) => each.url === url)) problems.push(`remotes does not contain ${url}.`);
  return problems;
}
