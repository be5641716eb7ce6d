/**
 * The files of a server, as its handlers use them. Where files are stored is decided by the transport: see {@link FileBackend}.
 *
 * @module
 */

import { quote } from "../core/basics/quote.ts";
import type { HandlerContext } from "../core/define/handler-context.ts";
import { isMediaType, type ResourceLink } from "../core/protocol/content.ts";
import { KitError, ToolError } from "../core/protocol/errors.ts";
import type { FileArgument, FileRules } from "./argument.ts";
import { type ContentFacts, readFacts } from "./content-facts.ts";
import { isDataUrl, readDataUrl } from "./data-url.ts";
import { cleanFileName } from "./file-name.ts";
import { formatBytes } from "./format-bytes.ts";
import { chooseType, describeAccepted, NOT_UTF8, plainType, withExtension } from "./media-types.ts";

/** A file that a handler returns. */
export interface NewFile {
  /** The name for the user. Folders and special characters are removed, and its extension is corrected to fit the type. */
  readonly name: string;
  /** The media type, such as `text/csv`. */
  readonly type: string;
  /** The content, which is not empty. A stream needs `bytes`. */
  readonly body: string | Uint8Array | ReadableStream<Uint8Array>;
  /** The number of bytes of a stream. */
  readonly bytes?: number;
  /** What the file contains, for the model. */
  readonly description?: string;
}

/** Where a file can be uploaded, once. */
export interface UploadLink {
  /** The id to pass as an argument after the upload. */
  readonly id: string;
  /** The URL for a PUT request with the content, and for a browser. */
  readonly url: string;
  /** When the URL ends, in milliseconds since 1970. */
  readonly untilMs: number;
  /** The maximum number of bytes. */
  readonly bytesMax: number;
  /** The accepted media types. Undefined for all. */
  readonly types?: readonly string[] | undefined;
}

/** A stored file as a backend finds it. */
export interface FoundFile {
  /** The name, without folders and special characters. */
  readonly name: string;
  /** The media type with which it was stored, which fits its content. */
  readonly type: string;
  /** The number of bytes. */
  readonly bytes: number;
  /** What its content shows. */
  readonly facts: ContentFacts;
  /** Returns the content. May be called more than once. */
  open(): Promise<ReadableStream<Uint8Array>>;
  /** Deletes the file. */
  delete(): Promise<void>;
}

/** Where the files of a server are stored. A backend is part of a transport: `files()` in a Worker, `openFolders()` on stdio. */
export interface FileBackend {
  /**
   * Returns the file of a reference that is not a data URL.
   *
   * @param rules What the argument accepts. The content of a file that is too large need not be read, because it will be refused.
   * @throws {ToolError} if there is none that the caller may read. It tells the model what to do instead.
   */
  find(reference: string, ctx: HandlerContext, rules: FileRules): Promise<FoundFile>;
  /**
   * Obtains a file that the call does not refer to, from the user.
   *
   * @throws {ToolError} that tells the model what to do, if it cannot be obtained now.
   */
  ask(argument: FileArgument, ctx: HandlerContext): Promise<FoundFile>;
  /** Stores a file that a handler returns. Its name and its type are clean, and its body has one of the types of bodies. */
  create(file: NewFile, ctx: HandlerContext): Promise<ResourceLink>;
  /** Returns a link for one upload that follows the rules. Undefined if files are not uploaded, as on stdio. */
  readonly link?: ((ctx: HandlerContext, rules?: Partial<FileRules>) => Promise<UploadLink>) | undefined;
}

/** A file that a handler has opened. Its size and type have been checked. */
export class OpenedFile {
  readonly #found: FoundFile;
  readonly #bytesMax: number;
  /** The name, without folders and special characters. Its extension fits the type. */
  readonly name: string;
  /** The media type, which fits the content. */
  readonly type: string;
  /** The number of bytes. */
  readonly size: number;

  /** Created by {@link FileStore.open}. */
  constructor(found: FoundFile, type: string, { bytesMax }: FileRules) {
    this.#found = found;
    this.#bytesMax = bytesMax;
    this.name = withExtension(found.name, type);
    this.type = type;
    this.size = found.bytes;
  }

  /** Returns the content as a stream, for files that are too large for memory. */
  stream(): Promise<ReadableStream<Uint8Array>> {
    return this.#found.open();
  }

  /**
   * Returns the content. Archives are not unpacked: bound what you unpack by its real size, because a small archive can
   * contain a very large file.
   *
   * @param bytesMax The maximum number of bytes. @default the `bytesMax` of the argument
   * @throws {ToolError} if the file is larger, or was deleted while it was read.
   */
  async bytes(bytesMax: number = this.#bytesMax): Promise<Uint8Array<ArrayBuffer>> {
    if (this.size > bytesMax)
      throw new ToolError(
        `The file has ${formatBytes(this.size, Math.ceil)}; at most ${formatBytes(bytesMax)} are read.`,
      );
    const whole = new Uint8Array(this.size);
    let at = 0;
    const reader = (await this.stream()).getReader();
    // The stream fails, or ends early, if the file is deleted meanwhile.
    const next = () => reader.read().catch(() => Promise.reject(changed()));
    for (let { done, value } = await next(); !done; { done, value } = await next()) {
      const chunk = value ?? new Uint8Array(0);
      if (chunk.length > whole.length - at) {
        await reader.cancel();
        throw changed();
      }
      whole.set(chunk, at);
      at += chunk.length;
    }
    // A part of a file must not look like the whole file.
    if (at < whole.length) throw changed();
    return whole;
  }

  /**
   * Returns the content as text, without a byte order mark.
   *
   * @param bytesMax The maximum number of bytes. @default the `bytesMax` of the argument
   * @throws {ToolError} if the file is larger, is not valid UTF-8, or was deleted while it was read.
   */
  async text(bytesMax: number = this.#bytesMax): Promise<string> {
    const bytes = await this.bytes(bytesMax);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
    } catch {
      throw new ToolError(`The file cannot be read: ${NOT_UTF8}.`);
    }
  }

  /** Deletes the file before its time, for files that are not needed again. A file on stdio is not deleted. */
  delete(): Promise<void> {
    return this.#found.delete();
  }
}

function changed(): ToolError {
  return new ToolError(
    "The file could not be read to its end. It may have been deleted or changed meanwhile. Call again.",
  );
}

/** The files of a server: what its calls refer to, and what its handlers return. Created by `addFiles()`. */
export class FileStore {
  #backend: FileBackend | undefined;

  /**
   * Called by the transport.
   *
   * @internal
   * @throws {KitError} `options-invalid` if another transport has joined.
   */
  join(backend: FileBackend): void {
    if (this.#backend)
      throw new KitError("options-invalid", "The files of a server have one place. Call addFiles() for each endpoint.");
    this.#backend = backend;
  }

  /**
   * Why the files cannot be used yet. Undefined if a transport has joined.
   *
   * @internal
   */
  get problem(): string | undefined {
    if (this.#backend) return undefined;
    return 'The files of this server have no place. In a Worker, add files(store) from "mcp-edge/worker/files" to the option use of edge(). On stdio, call openFolders(store, { read }) from "mcp-edge/node" first, and so in tests with connectInMemory().';
  }

  /**
   * Opens a file that the call refers to. If the call has none, the user is asked for it: through a page, if the client
   * supports URL elicitation; otherwise the call fails with a text that tells the model how to upload the file.
   *
   * @throws {ToolError} if there is no such file, if its size or content is not accepted, or without a transport.
   */
  async open<Env>(argument: FileArgument, ctx: HandlerContext<Env>): Promise<OpenedFile> {
    const { reference, rules, name } = argument;
    // A backend uses nothing of the context that depends on the type of the bindings.
    const plain = ctx as HandlerContext;
    const place = this.#place;
    const isData = reference !== undefined && isDataUrl(reference);
    const search = () => (reference === undefined ? place.ask(argument, plain) : place.find(reference, plain, rules));
    const found = isData ? readData(reference, argument) : await search();
    const checked = "problem" in found ? found : checkFound(found, rules);
    if (checked instanceof OpenedFile) return checked;
    // The old link has been used, so a refusal has a new one.
    const link = await place.link?.(plain, rules);
    const next = link ? ` ${explainUpload(link)}` : "";
    throw new ToolError(`The file of "${name}" was refused: ${checked.problem}.${next}`);
  }

  /**
   * Stores a file, and returns a link to it, which the handler returns.
   *
   * @throws {KitError} `options-invalid` if the content does not fit the type, or a stream has no `bytes`; {ToolError} if
   *   the file is empty or too large, if there is no room, or without a transport.
   */
  async create<Env>(file: NewFile, ctx: HandlerContext<Env>): Promise<ResourceLink> {
    return this.#place.create(checkNew(file), ctx as HandlerContext);
  }

  /**
   * Returns a link for one upload, as the tool for uploads does. Undefined if the transport does not upload files.
   *
   * @throws {ToolError} without a transport.
   */
  async link<Env>(ctx: HandlerContext<Env>): Promise<UploadLink | undefined> {
    return this.#place.link?.(ctx as HandlerContext);
  }

  get #place(): FileBackend {
    if (this.#backend) return this.#backend;
    // A ToolError, because the caller of a server without files sees nothing of its log in most programs.
    throw new ToolError(this.problem ?? "");
  }
}

/** Why a file is refused. */
interface Refused {
  readonly problem: string;
}

/** Reads a file in the arguments. */
function readData(reference: string, { name: argument, rules }: FileArgument): FoundFile | Refused {
  const data = readDataUrl(reference);
  if (data.problem !== undefined) return data;
  const { bytes, declared } = data;
  const facts = readFacts(bytes);
  const chosen = chooseType({ facts, declared, types: rules.types });
  if ("problem" in chosen) return chosen;
  return {
    name: cleanFileName(argument),
    type: chosen.type,
    bytes: bytes.length,
    facts,
    open: async () => streamOf(bytes),
    delete: async () => undefined,
  };
}

/** Checks that an argument accepts a file. */
function checkFound(found: FoundFile, { types, bytesMax }: FileRules): OpenedFile | Refused {
  if (found.bytes === 0) return { problem: "it is empty" };
  if (found.bytes > bytesMax)
    return {
      problem: `it has ${formatBytes(found.bytes, Math.ceil)}, and at most ${formatBytes(bytesMax)} are accepted`,
    };
  const chosen = chooseType({ facts: found.facts, declared: found.type, name: found.name, types });
  return "problem" in chosen ? chosen : new OpenedFile(found, chosen.type, { types, bytesMax });
}

/** Checks what a handler returns, and cleans its name. */
function checkNew(file: NewFile): NewFile {
  const { body, bytes } = file;
  const wrong = (text: string) => new KitError("options-invalid", `store.create(): ${text}.`);
  const type = plainType(String(file.type));
  if (!isMediaType(type)) throw wrong(`type is ${quote(String(file.type))}; write one such as text/csv`);
  const isWhole = typeof body === "string" || body instanceof Uint8Array;
  if (!isWhole && typeof (body as Partial<ReadableStream> | null | undefined)?.getReader !== "function")
    throw wrong("the body is neither a string nor a Uint8Array nor a ReadableStream");
  if (isWhole ? body.length === 0 : bytes === 0) throw emptyResult();
  return { ...file, name: withExtension(cleanFileName(file.name), type), type };
}

/** An empty file could not be passed to another tool, and is a mistake more often than a wish. */
export function emptyResult(): ToolError {
  return new ToolError("The result is empty, so there is no file.");
}

/** Explains to a model how a file is uploaded. */
export function explainUpload({ id, url, untilMs, bytesMax, types }: UploadLink): string {
  return [
    `Upload a file (${describeAccepted(types, bytesMax)}) in one of these ways, until ${new Date(untilMs).toISOString()}:`,
    `- Run: curl -T FILE '${url}'`,
    `- Ask the user to open ${url} in a browser.`,
    `Then pass "${id}" as the argument. The URL works for one file. Do not show it to others.`,
  ].join("\n");
}

/** Returns bytes as a stream. */
export function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}
