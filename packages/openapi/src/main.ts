/**
 * The program: reads requests as lines of JSON, and answers each with one line. It opens no connection and writes no file, so a hostile
 * description can at most use up the time and memory that `mcp-edge add openapi` gives it.
 *
 * @module
 */
import { type Access, needsSecret } from "./credentials.ts";
import { Description, Files } from "./document.ts";
import { mergeAll } from "./merge.ts";
import type { GivenNames } from "./names.ts";
import { type Operation, type Refused, readOperations } from "./operations.ts";
import { writeProject } from "./project.ts";
import type { FileRecord } from "./regions.ts";
import { serverUrls } from "./servers.ts";
import { DescriptionError } from "./text.ts";
import { makeTools, type Tool } from "./tools.ts";

/** A request to read a description. */
interface ReadRequest {
  readonly type: "read";
  /** The key of the description in the texts: its name or URL. */
  readonly main: string;
  /** The texts that no earlier request has contained. */
  readonly texts: Readonly<Record<string, string>>;
  readonly schemaBytesMax: number;
  /** The names of tools that are already assigned or taken. */
  readonly names?: GivenNames;
  /** The base URL that the author has named. */
  readonly server?: string;
}

/** A request to write the files of the chosen operations. */
interface WriteRequest {
  readonly type: "write";
  readonly operations: readonly string[];
  readonly name: string;
  readonly baseUrl: string;
  readonly access: Access;
  /** The current texts of generated files, and their records. */
  readonly present?: Readonly<Record<string, string>>;
  readonly records?: Readonly<Record<string, FileRecord>>;
}

/** Runs the program until its input ends. Returns the exit code. */
export async function run(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Promise<number> {
  const session = new Session();
  for await (const line of linesOf(input)) {
    if (line.trim() === "") continue;
    const answer = JSON.stringify(answerLine(session, line));
    // Node ends a line at these characters too.
    output.write(`${answer.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")}\n`);
  }
  return 0;
}

/** Divides the input at line feeds only. The module `node:readline` also does it at characters that JSON does not escape. */
async function* linesOf(input: NodeJS.ReadableStream): AsyncGenerator<string> {
  input.setEncoding("utf8");
  let parts: string[] = [];
  for await (const chunk of input) {
    const [first = "", ...rest] = String(chunk).split("\n");
    parts.push(first);
    for (const next of rest) {
      yield parts.join("");
      parts = [next];
    }
  }
  yield parts.join("");
}

function answerLine(session: Session, line: string): object {
  let request: ReadRequest | WriteRequest;
  try {
    request = JSON.parse(line) as ReadRequest | WriteRequest;
  } catch {
    return { type: "error", message: "The request is not a line of JSON." };
  }
  return session.answer(request);
}

/** The description that was read, and what was made of it. */
export class Session {
  #description: Description | undefined;
  #tools: readonly Tool[] = [];
  #files: Files | undefined;
  /** The operations that were read for a base URL. */
  #operations: (ReturnType<typeof readOperations> & { readonly server: string | undefined }) | undefined;

  /** Answers a request. A description that cannot be used leads to an answer of the type `error`. */
  answer(request: ReadRequest | WriteRequest): object {
    try {
      return request.type === "read" ? this.#read(request) : this.#write(request);
    } catch (error) {
      if (error instanceof DescriptionError) return { type: "error", message: error.message };
      // Values that are nested too deeply exhaust the stack.
      if (error instanceof RangeError && /call stack/.test(error.message))
        return { type: "error", message: "The description is nested too deeply." };
      return { type: "error", message: "The description has values that are not expected, and cannot be read." };
    }
  }

  #read({ main, texts, schemaBytesMax, names = {}, server }: ReadRequest): object {
    this.#files ??= new Files(main);
    const isNew = Object.keys(texts).length > 0;
    for (const [name, text] of Object.entries(texts)) this.#files.add(name, text);
    const description = isNew ? new Description(this.#files) : (this.#description ?? new Description(this.#files));
    const missing = [...description.missing];
    if (missing.length > 0) return { type: "read", missing, ...NOTHING };
    // The operations are read once for each base URL, because the schemas of tools are cached by operation.
    if (isNew || this.#operations?.server !== server || this.#operations === undefined)
      this.#operations = { server, ...readOperations(description, server) };
    const { operations, refused } = this.#operations;
    const made = makeTools(description, operations, schemaBytesMax, names);
    this.#description = description;
    this.#tools = made.tools;
    return {
      type: "read",
      title: description.title,
      version: description.version,
      missing,
      servers: serverUrls(description),
      tools: made.tools.map((tool) => summaryOf(tool, description)),
      refused: [...refused, ...made.refused] satisfies Refused[],
    };
  }

  #write(request: WriteRequest): object {
    if (this.#description === undefined) throw new DescriptionError("No description was read.");
    const wanted = new Set(request.operations);
    const tools = this.#tools.filter(({ operation }) => wanted.has(operation.id));
    const generated = writeProject(this.#description, tools, request);
    return { type: "written", urlBinding: generated.urlBinding, ...mergeAll(generated, request) };
  }
}

/** The response while files of the description are missing. */
const NOTHING = { title: "", version: "", servers: [], tools: [], refused: [] } as const;

function summaryOf({ operation, name, bytes, listed }: Tool, description: Description): object {
  const { id, tag, tags, method }: Operation = operation;
  return { id, tag, tags, method, name, bytes, listed, needsSecret: needsSecret(operation, description) };
}
