/**
 * Writes the files of a project: a file for each tag, the requests, the registration, and the tests.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { regionName, writeTool } from "./code.ts";
import { type Access, type Credentials, prefixOf, writeCredentials } from "./credentials.ts";
import type { Description } from "./document.ts";
import { exampleArguments, exampleOf, expectedRequest } from "./examples.ts";
import { comment, fileName, memberName, pascal, quote, unique } from "./text.ts";
import type { Tool } from "./tools.ts";

/** The decisions of the author. */
export interface Choices {
  /** The name of the folder, and the prefix of the names of secrets. */
  readonly name: string;
  readonly baseUrl: string;
  readonly access: Access;
}

/** A file to write. */
export interface GeneratedFile {
  /** The path in the project. */
  readonly path: string;
  readonly text: string;
}

/** The files, and the secrets that the operator has to set. */
export interface Generated {
  readonly files: readonly GeneratedFile[];
  readonly secrets: readonly string[];
  /** The binding with which the operator can set another base URL. */
  readonly urlBinding: string;
  /** The name of the function that adds the tools. */
  readonly functionName: string;
}

const FILES = join(import.meta.dirname, "../files");
/** The names of generated files, which no tag may use. */
const OWN_FILES = ["api", "index", "generated"];

/** Writes the files for the chosen tools. */
export function writeProject(description: Description, tools: readonly Tool[], choices: Choices): Generated {
  const folder = fileName(choices.name, "api");
  const operations = tools.map(({ operation }) => operation);
  const credentials = writeCredentials(description, operations, { prefix: prefixOf(folder), access: choices.access });
  const groups = groupByTag(tools);
  const functionName = `add${functionPart(folder, "Api")}`;
  const functions = namesOfFunctions([...groups.keys()], functionName);
  const files = [...groups].map(([file, { tag, tools: own }]) => {
    return { path: `src/${folder}/${file}.ts`, text: writeTag(tag, functions.get(file) ?? "", own, credentials) };
  });
  return {
    files: [
      { path: `src/${folder}/api.ts`, text: writeApi(description, choices, credentials) },
      ...files,
      { path: `src/${folder}/index.ts`, text: writeIndex(description, functionName, functions) },
      {
        path: `test/${folder}.test.ts`,
        text: writeTest(description, tools, { folder, functionName, ...choices }, credentials),
      },
    ],
    secrets: credentials.secrets,
    urlBinding: urlBindingOf(folder),
    functionName,
  };
}

function functionPart(file: string, fallback: string): string {
  const name = pascal(file);
  return name === "" ? fallback : name;
}

/** Returns a unique function name for each file, even if two file names differ only in a dash. */
function namesOfFunctions(files: readonly string[], functionName: string): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set([functionName]);
  for (const file of files) {
    const plain = `add${functionPart(file, "Tag")}`;
    const name = unique(taken.has(plain) ? `${plain}Tag` : plain, taken, "_");
    taken.add(name);
    names.set(file, name);
  }
  return names;
}

function groupByTag(tools: readonly Tool[]): Map<string, { readonly tag: string; readonly tools: Tool[] }> {
  const files = new Map<string, string>();
  const groups = new Map<string, { readonly tag: string; readonly tools: Tool[] }>();
  for (const tool of tools) {
    const { tag } = tool.operation;
    let file = files.get(tag);
    if (file === undefined) {
      file = unique(fileName(tag, "other"), new Set([...files.values(), ...OWN_FILES]), "-");
      files.set(tag, file);
      groups.set(file, { tag, tools: [] });
    }
    groups.get(file)?.tools.push(tool);
  }
  return groups;
}

function writeTag(tag: string, functionName: string, tools: readonly Tool[], { used, usual }: Credentials): string {
  const code = tools.map((tool) => {
    const own = used.get(tool.operation.id) ?? [];
    return writeTool(tool, JSON.stringify(own) === JSON.stringify(usual) ? undefined : own);
  });
  return [
    `/** The tools of ${comment(tag)}. Each region is an operation of the API. Change what you like: it is kept. */`,
    'import type { McpServer } from "mcp-edge";',
    'import * as z from "zod";',
    'import { api } from "./api.ts";',
    "",
    `export function ${functionName}<Env>(server: McpServer<Env>): void {`,
    code.join("\n\n"),
    "}",
    "",
  ].join("\n");
}

function writeIndex({ title, version }: Description, functionName: string, names: ReadonlyMap<string, string>): string {
  const sorted = [...names].sort(([one], [other]) => (one < other ? -1 : 1));
  return [
    `/** Adds the tools of ${comment(`${title} ${version}`.trim())} to a server. */`,
    'import type { McpServer } from "mcp-edge";',
    ...sorted.map(([file, name]) => `import { ${name} } from "./${file}.ts";`),
    "",
    `export function ${functionName}<Env>(server: McpServer<Env>): void {`,
    ...[...names.values()].map((name) => `  ${name}(server);`),
    "}",
    "",
  ].join("\n");
}

/** Returns the name of the binding with another base URL. */
function urlBindingOf(name: string): string {
  return `${prefixOf(fileName(name, "api"))}_API_URL`;
}

function writeApi({ title }: Description, { baseUrl, name }: Choices, { code, usual }: Credentials): string {
  const constants = [
    `const NAME = ${quote(title)};`,
    "/** The base URL of the API. */",
    `export const BASE_URL = ${quote(baseUrl)};`,
    "/** The binding that names another base URL, such as that of an API on your machine. */",
    `const URL_BINDING = ${quote(urlBindingOf(name))};`,
  ];
  const table =
    code.length === 0
      ? ["const CREDENTIALS: Readonly<Record<string, Credential>> = {};"]
      : ["const CREDENTIALS: Readonly<Record<string, Credential>> = {", ...code, "};"];
  const credentials = [
    "/** How each kind of credentials of the API is added to a request. */",
    ...table,
    "/** What a request has unless it says otherwise. */",
    `const USUAL: readonly string[] = [${usual.map(quote).join(", ")}];`,
  ];
  return fill("api.ts", title, { constants, credentials });
}

/** What a test imports. */
interface Tested extends Choices {
  readonly folder: string;
  readonly functionName: string;
}

function writeTest(
  { title }: Description,
  tools: readonly Tool[],
  { baseUrl, folder, functionName, access }: Tested,
  { secrets }: Credentials,
): string {
  const cases = tools.map((tool) => writeCase(tool, baseUrl));
  const names = secrets.map((name) => `${memberName(name)}: "secret"`);
  const tested = [
    `import { BASE_URL } from "../src/${folder}/api.ts";`,
    "",
    "/** A Worker with these tools only: how your own Worker admits its callers has no effect on the tests. */",
    "const SOURCE = `",
    'import { McpServer } from "mcp-edge";',
    `import { ${access === "user" ? "authenticate" : "anonymous"}, edge } from "mcp-edge/worker";`,
    `import { ${functionName} } from "./src/${folder}/index.ts";`,
    "",
    'const server = new McpServer({ name: "test", version: "1.0.0" });',
    `${functionName}(server);`,
    ...(access === "user"
      ? [
          "// Every caller is a user who has signed in, and who has this token of the API.",
          'const upstream = async () => ({ accessToken: "the token of the user" });',
          'const user = authenticate(() => ({ issuer: "https://login.example.com", subject: "user", upstream }));',
          "export default edge(server, { use: [user] });",
        ]
      : ["export default edge(server, { use: [anonymous()] });"]),
    "`;",
    "/** The secrets of the Worker in this test. */",
    `const SECRETS = {${names.length === 0 ? "" : ` ${names.join(", ")} `}};`,
  ];
  return fill("api.test.ts", title, { tested }, cases);
}

function writeCase(tool: Tool, baseUrl: string): string {
  const args = exampleArguments(tool);
  const { url, headers, json, text } = expectedRequest(tool, baseUrl, args);
  const request = {
    method: tool.operation.method,
    // A key that is sent in the query follows the parameters from the arguments.
    url: url.slice(baseUrl.length),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(json === undefined ? {} : { json }),
    ...(text === undefined ? {} : { text }),
  };
  const answer = tool.operation.response === undefined ? undefined : exampleOf(tool.response, true);
  return [
    `  // #region ${regionName(tool.operation.id)}`,
    "  {",
    `    tool: ${quote(tool.name)},`,
    `    args: ${literal(args, "    ")},`,
    `    request: ${literal(request, "    ")},`,
    ...(answer === undefined ? [] : [`    answer: ${literal(answer, "    ")},`]),
    "  },",
    "  // #endregion",
  ].join("\n");
}

/** Writes a value of JSON as code. */
function literal(value: unknown, indent: string): string {
  if (typeof value === "string") return quote(value);
  if (typeof value !== "object" || value === null) return String(value);
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((each) => literal(each, `${indent}  `))
    : Object.entries(value)
        .filter(([, each]) => each !== undefined)
        .map(([name, each]) => `${memberName(name)}: ${literal(each, `${indent}  `)}`);
  const [open, close] = isList ? ["[", "]"] : ["{ ", " }"];
  const line = `${open}${parts.join(", ")}${close}`;
  if (parts.length === 0) return isList ? "[]" : "{}";
  if (line.length + indent.length < 100 && !line.includes("\n")) return line;
  return `${open.trim()}\n${parts.map((part) => `${indent}  ${part},`).join("\n")}\n${indent}${close.trim()}`;
}

/** Matches the line of the test file that the test cases replace. */
const NO_CASES = /^const CASES: readonly Case\[\] = \[\];$/m;

/**
 * Fills in a template from the folder `files`. The title is inserted last, and no placeholder is replaced after it, because text from a
 * description could contain a placeholder.
 */
function fill(
  name: string,
  title: string,
  regions: Readonly<Record<string, readonly string[]>>,
  cases: readonly string[] = [],
): string {
  const template = readFileSync(join(FILES, name), "utf8").replaceAll("\r\n", "\n");
  return template
    .replace(/^\/\/ #region (\w+)\n[\s\S]*?^\/\/ #endregion$/gm, (whole, region: string) => {
      const lines = regions[region];
      return lines === undefined ? whole : `// #region ${region}\n${lines.join("\n")}\n// #endregion`;
    })
    .replace(NO_CASES, () => `const CASES: readonly Case[] = [\n${cases.join("\n")}\n];`)
    .replace("{TITLE}", () => comment(title));
}
