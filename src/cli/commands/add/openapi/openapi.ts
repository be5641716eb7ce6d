/**
 * `mcp-edge add openapi`: adds tools for an API that is described by OpenAPI.
 *
 * @module
 */
import { existsSync } from "node:fs";
import { usageError } from "../../../exit.ts";
import { readText } from "../../../files/files.ts";
import { SCHEMA_BYTES } from "../../../host-profiles/limits.ts";
import { counted, createTerminal, oneLine, type Terminal } from "../../../terminal/terminal.ts";
import { applyChanges } from "../add.ts";
import { type Change, importPath, type Project, readProject, withImport } from "../project.ts";
import { chooseTools, filterTools, hasChoice, labelOf } from "./choose.ts";
import { Generator, type OfferedTool, type ReadAnswer, type Records, type WriteAnswer } from "./generator.ts";
import { checkName, checkSource, folderName, readRecordOf } from "./names.ts";
import { checkGiven, type OpenapiOptions } from "./options.ts";
import { isOwnPath, type Recorded, recordPathOf, sourceOf, writeRecord } from "./record.ts";
import { type Made, nextSteps, report } from "./report.ts";
import { describeTaken, hasWord, type Reader, takenSecrets } from "./secrets.ts";
import { checkServer, chooseServer, describedServer, describeMoved } from "./server.ts";
import { refuseMissing, Source } from "./source.ts";
import { projectText, takenNames } from "./sources.ts";

/** The maximum number of rounds in which referenced files are read. Each round reads the files to which the previous round refers. */
const ROUNDS_MAX = 50;

/** Runs the command and returns its exit code. */
export async function addOpenapi(path: string | undefined, options: OpenapiOptions): Promise<number> {
  const given = checkGiven(path, options);
  checkName(options.name);
  const named = checkServer(options.server);
  const terminal = createTerminal();
  const source = await Source.read(given);
  const generator = await Generator.start(options.yes === true);
  try {
    terminal.status("Reading the description...");
    const first = await readAll(generator, source, options, { server: named });
    const name = options.name ?? folderName(first.title);
    if (options.list === true) return list(terminal, first, options, name);
    const project = readProject(process.cwd());
    const { record } = readRecordOf(name);
    if (options.name === undefined) checkSource(record, given, name);
    const taken = takenNames(name);
    const names = { kept: record?.tools ?? {}, taken: [...taken.keys()], prefix: name };
    const read = await readAll(generator, source, options, { names, server: named ?? record?.server });
    terminal.status(undefined);
    const server = chooseServer(read, named ?? record?.server);
    const access = options.access ?? record?.access ?? "service";
    const target: Target = { name, server, access, record, isConfirmed: options.name !== undefined };
    const tools = await chooseTools(read.tools, options, {
      before: record && Object.keys(record.tools),
      folder: name,
      access,
      canAsk: terminal.canAsk,
      beforeAsking: () => checkSecretsOfAll(generator, read, target),
    });
    const written = await write(generator, tools, target);
    checkSecrets(terminal, written.secrets, target);
    const left = leftFiles(written, record);
    const made: Made = { tools, read, written, name, server, record, left: Object.keys(left), taken };
    const next = recordOf(made, { given, access, left, isNamed: named !== undefined });
    const changes = [
      ...changesOf(written, { record, name, isWhole: options.print === true }),
      recordChange(name, next),
      ...register(project, `src/${name}/index.ts`, written.functionName),
    ];
    report(terminal, made);
    const moved = named === undefined ? describeMoved(record, read, name) : undefined;
    if (moved !== undefined) terminal.note(terminal.err.yellow(moved));
    const steps = nextSteps({
      ...target,
      secrets: record === undefined ? written.secrets : newSecrets(written, name),
      urlBinding: written.urlBinding,
      isFirst: record === undefined,
      hasSignIn: project.sources.some(({ text }) => /\bauthorizationServer\(/.test(text)),
    });
    return await applyChanges(changes, options, steps, record === undefined ? "Added." : "Changed.");
  } finally {
    terminal.status(undefined);
    generator.stop();
  }
}

/** The folder to write, and its access to the API. */
interface Target extends Reader {
  readonly access: "service" | "user";
  /** Whether the user has chosen the name of the folder. */
  readonly isConfirmed: boolean;
}

function write(generator: Generator, tools: readonly OfferedTool[], target: Target): Promise<WriteAnswer> {
  const { name, server, access, record } = target;
  const request = { operations: tools.map(({ id }) => id), name, baseUrl: server, access };
  return generator.write({ ...request, present: readPresent(record), records: record?.files ?? {} });
}

/** @throws {CliError} if the project already has secrets with these names, unless the user has confirmed that they are for this API. */
function checkSecrets(terminal: Terminal | undefined, secrets: readonly string[], target: Target): void {
  const taken = takenSecrets(secrets, target);
  if (taken.length === 0) return;
  const text = describeTaken(taken, target, target.isConfirmed);
  if (!target.isConfirmed) throw usageError(text);
  terminal?.note(terminal.err.yellow(text));
}

/** Checks the secrets of all operations before the user chooses any. @throws {CliError} as `checkSecrets`. */
async function checkSecretsOfAll(generator: Generator, read: ReadAnswer, target: Target): Promise<void> {
  if (target.isConfirmed) return;
  const { secrets } = await write(generator, read.tools, target);
  checkSecrets(undefined, secrets, target);
}

/** Returns the secrets that the generated tools did not use before. */
function newSecrets({ secrets }: WriteAnswer, name: string): string[] {
  const before = projectText(`src/${name}/api.ts`);
  return secrets.filter((secret) => !hasWord(before, secret));
}

/** The facts that are recorded in addition to the generated files. */
interface Recording {
  /** The file or URL of the description. */
  readonly given: string;
  readonly access: "service" | "user";
  readonly left: Records;
  /** Whether the user has named the base URL. */
  readonly isNamed: boolean;
}

function recordOf({ tools, read, written, server, record }: Made, recording: Recording): Recorded {
  const { given, access, left, isNamed } = recording;
  const chosen = new Set(tools.map(({ id }) => id));
  return {
    source: sourceOf(given),
    server,
    described: record === undefined || isNamed ? describedServer(read) : record.described,
    access,
    tools: Object.fromEntries(tools.map(({ id, name }) => [id, name])),
    others: read.tools.map(({ id }) => id).filter((id) => !chosen.has(id)),
    files: { ...left, ...written.records },
  };
}

function recordChange(name: string, record: Recorded): Change {
  const { text } = readRecordOf(name);
  return { path: recordPathOf(name), before: text ?? "", after: writeRecord(record, text), isBrief: true };
}

/** Reads a description and, if the user has allowed it, the files that it refers to. */
async function readAll(
  generator: Generator,
  source: Source,
  { followRefs = false }: OpenapiOptions,
  given: object = {},
): Promise<ReadAnswer> {
  for (let rounds = 0; rounds <= ROUNDS_MAX; rounds += 1) {
    // The generator keeps the texts that it has received.
    const texts = source.takeNew();
    const read = await generator.read({ main: source.main, texts, schemaBytesMax: SCHEMA_BYTES.max, ...given });
    if (read.missing.length === 0) return read;
    if (!followRefs) refuseMissing(read.missing);
    await source.add(read.missing);
  }
  throw usageError(
    `The files of the description refer to one another over more than ${ROUNDS_MAX} steps. Bundle them into one file first.`,
  );
}

function list(terminal: Terminal, { tools, refused }: ReadAnswer, options: OpenapiOptions, name: string): number {
  terminal.status(undefined);
  const { record } = hasChoice(options) ? readRecordOf(name) : {};
  const known = { before: record && Object.keys(record.tools), folder: name };
  const listed = hasChoice(options) ? filterTools(tools, options, known) : tools;
  for (const tool of listed) terminal.print(`${oneLine(tool.tag, 60)}: ${labelOf(tool)}`);
  for (const { id, reason } of refused) terminal.print(`not possible: ${oneLine(id)} (${oneLine(reason)})`);
  const bytes = listed.reduce((sum, tool) => sum + tool.bytes, 0);
  terminal.note(`${counted(listed.length, "operation")}, ${bytes.toLocaleString("en")} bytes in the list of tools`);
  return 0;
}

function readPresent(record: Recorded | undefined): Record<string, string> {
  const paths = Object.keys(record?.files ?? {});
  return Object.fromEntries(paths.map((path) => [path, readLines(path)]).filter(([, text]) => text !== undefined));
}

/** Reads a text. Git on Windows may have converted the ends of its lines. */
function readLines(path: string): string | undefined {
  return readText(path)?.replaceAll("\r\n", "\n");
}

/** Returns the records of existing files that are no longer generated, because other operations were chosen. */
function leftFiles({ records }: WriteAnswer, record: Recorded | undefined): Records {
  const left = Object.entries(record?.files ?? {}).filter(
    ([path]) => !Object.hasOwn(records, path) && existsSync(path),
  );
  return Object.fromEntries(left);
}

/**
 * Returns the changes to the generated files. A file that the author has deleted is not written again, and a file that was not generated
 * is not replaced.
 */
function changesOf({ files }: WriteAnswer, { record, name, isWhole }: Writing): Change[] {
  return files.flatMap(({ path, text }) => {
    if (!isOwnPath(path, name)) throw usageError(`The generator may not write ${oneLine(path, 200)}.`);
    const isRecorded = record !== undefined && Object.hasOwn(record.files, path);
    const before = isRecorded ? readLines(path) : undefined;
    const isRemoved = isRecorded && before === undefined;
    return isRemoved ? [] : [{ path, before: before ?? "", after: text, isBrief: before === undefined && !isWhole }];
  });
}

/** The context in which files are written. */
interface Writing {
  readonly record: Recorded | undefined;
  /** The name of the folder. */
  readonly name: string;
  /** Whether long new files are shown completely. */
  readonly isWhole: boolean;
}

/** Adds the tools to the server, unless its code already does so. Comments do not count. */
function register({ server }: Project, path: string, functionName: string): Change[] {
  const code = server.text.replace(/\/\*[\s\S]*?\*\/|(?<![:"'\w])\/\/[^\n]*/g, "");
  const from = importPath(server.path, path);
  // A formatter may have changed the import.
  const imported = new RegExp(
    `import\\s*\\{\\s*${functionName}(?:\\s+as\\s+(\\w+))?\\s*,?\\s*\\}\\s*from\\s*["']${from}["']`,
  ).exec(code);
  // The server may have a function of this name already.
  const isTaken = imported === null && new RegExp(`\\b${functionName}\\b`).test(code);
  const local = imported?.[1] ?? (isTaken ? `${functionName}OfApi` : functionName);
  if (imported !== null && new RegExp(`\\b${local}\\(`).test(code)) return [];
  const line = `import { ${functionName}${local === functionName ? "" : ` as ${local}`} } from "${from}";`;
  const text = imported === null ? withImport(server.text, line) : server.text;
  return [{ path: server.path, before: server.text, after: `${text.trimEnd()}\n\n${local}(${server.variable});\n` }];
}
