/**
 * Files of tools on stdio: arguments are paths, and results are written into a folder.
 *
 * @module
 */
import { type FileHandle, open, realpath, unlink } from "node:fs/promises";
import { extname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { QuestionError } from "../../core/ask/question-errors.ts";
import { printable, quote } from "../../core/basics/quote.ts";
import type { HandlerContext } from "../../core/define/handler-context.ts";
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import type { ResourceLink } from "../../core/protocol/content.ts";
import { KitError, ToolError } from "../../core/protocol/errors.ts";
import { describeFiles, serverOf } from "../../files/add-files.ts";
import type { FileArgument, FileRules } from "../../files/argument.ts";
import { ContentReader } from "../../files/content-facts.ts";
import { cleanFileName, NAME_BYTES_MAX, shortenFileName } from "../../files/file-name.ts";
import { chooseType, describeAccepted, fitsType, isCheckable } from "../../files/media-types.ts";
import { emptyResult, type FileBackend, FileStore, type FoundFile, type NewFile, streamOf } from "../../files/store.ts";
import { RefusedError } from "../../safe/refused.ts";
import { openFileWithin } from "./files-within.ts";

/** Options of {@link openFolders}. */
export interface OpenFoldersOptions {
  /** The folders whose files a call may name, in addition to the client's roots. @default none */
  readonly read?: readonly string[];
  /**
   * Whether a call may also name files in the client's roots: the folders that the user has opened to the server.
   *
   * @default true
   */
  readonly roots?: boolean;
  /** The folder into which files are written that tools return. @default tools cannot return files */
  readonly write?: string;
}

const OPTIONS: OptionTable<OpenFoldersOptions> = { read: null, roots: null, write: null };

/**
 * Lets tools read and write files where they are, for servers on stdio. The argument of a tool is then the path of a file, or
 * its `file:` URL, in one of the folders. Symbolic links are resolved first, so they cannot lead out of a folder.
 *
 * ```ts
 * import { openFolders, serveStdio } from "mcp-edge/node";
 * import { server, store } from "./server.ts";
 *
 * openFolders(store, { read: ["/srv/reports"], write: "/srv/results" });
 * await serveStdio(server);
 * ```
 *
 * @param store The files of the server, from `addFiles()` of `mcp-edge/files`. Its tool for uploads is removed.
 * @throws {KitError} `options-invalid` naming the option.
 */
export function openFolders(store: FileStore, options: OpenFoldersOptions = {}): void {
  checkOptions("openFolders(): ", options, OPTIONS);
  const place = store instanceof FileStore ? serverOf(store) : undefined;
  if (!place)
    throw new KitError(
      "options-invalid",
      'openFolders(): the first argument is the result of addFiles() of "mcp-edge/files".',
    );
  store.join(new FolderFiles(options));
  describeFiles(place, {
    reference: "the path of a file",
    missing: "the answer names the folders that are open",
    bytesMax: Infinity,
  });
  if (place.uploadTool !== false) place.server.remove("tool", place.uploadTool);
}

/** The maximum number of files with the same name, apart from a number, in the folder for results. @limit internal */
const SAME_NAME_MAX = 1_000;

class FolderFiles implements FileBackend {
  readonly #read: readonly string[];
  readonly #useRoots: boolean;
  readonly #write: string | undefined;

  constructor({ read = [], roots = true, write }: OpenFoldersOptions) {
    this.#read = read.map((folder) => resolve(folder));
    this.#useRoots = roots;
    this.#write = write === undefined ? undefined : resolve(write);
  }

  async find(reference: string, ctx: HandlerContext, { bytesMax }: FileRules): Promise<FoundFile> {
    const given = toPath(reference);
    // A file with a slash or dots after its name would be found under a path that names a folder.
    const path = given !== undefined && NAMES_FOLDER.test(given) ? undefined : given;
    const folders = await this.#folders(ctx);
    for (const folder of path === undefined ? [] : folders) {
      const inside = await locate(folder, path ?? "");
      const found = inside === undefined ? undefined : await describe(folder, inside, bytesMax);
      if (found) return found;
    }
    const why = given === undefined ? " The server does not fetch URLs." : "";
    throw new ToolError(`There is no file ${quote(reference)} that this server may read.${why} ${this.#hint(folders)}`);
  }

  async ask({ name, rules }: FileArgument, ctx: HandlerContext): Promise<FoundFile> {
    const accepted = describeAccepted(rules.types, rules.bytesMax);
    throw new ToolError(`The argument "${name}" is missing (${accepted}). ${this.#hint(await this.#folders(ctx))}`);
  }

  async create(file: NewFile): Promise<ResourceLink> {
    const folder = this.#write;
    if (folder === undefined)
      throw new ToolError(
        "This server has no folder for results. Its author names one: openFolders(store, { write }).",
      );
    const { type } = file;
    const { handle, path, name } = await createFile(folder, file.name);
    let bytes = 0;
    try {
      const facts = new ContentReader();
      const { body } = file;
      const stream = typeof body === "string" || body instanceof Uint8Array ? streamOf(toBytes(body)) : body;
      for await (const chunk of stream) {
        facts.push(chunk);
        bytes += chunk.length;
        await handle.writeFile(chunk);
      }
      const isFit = (!isCheckable(type) || fitsType(type, facts.end())) && bytes === (file.bytes ?? bytes);
      if (bytes === 0) throw emptyResult();
      if (!isFit) {
        const text = `store.create(): the file was not stored: the content is not ${type}, or has another number of bytes.`;
        throw new KitError("options-invalid", text);
      }
    } catch (error) {
      await handle.close();
      await unlink(path);
      throw error;
    }
    await handle.close();
    const { description } = file;
    const link = { type: "resource_link", uri: pathToFileURL(path).href, name, mimeType: type, size: bytes } as const;
    return description === undefined ? link : { ...link, description };
  }

  /** Returns the folders that a call may read: those of the options, and the roots of the client. */
  async #folders(ctx: HandlerContext): Promise<readonly string[]> {
    if (!this.#useRoots || !ctx.client.can("roots")) return this.#read;
    const roots = await ctx.listRoots().catch((error: unknown) => {
      // Without an answer, there are no roots.
      if (error instanceof QuestionError) return [];
      throw error;
    });
    return [...this.#read, ...roots.flatMap(({ uri }) => toPath(uri, true) ?? [])];
  }

  #hint(folders: readonly string[]): string {
    if (folders.length > 0) return `Pass the path of a file in: ${printable(folders.join(", "))}`;
    return "No folder is open: the user opens folders in the settings of the client (roots).";
  }
}

/** Matches a path that can only name a folder. */
const NAMES_FOLDER = /(^|[/\\])\.{0,2}$/;

/** Returns the path of a reference. Undefined for URLs of other schemes or machines. */
function toPath(reference: string, isUri = false): string | undefined {
  if (!isUri && !/^[a-z][a-z\d+.-]+:/i.test(reference)) return reference;
  try {
    return fileURLToPath(reference);
  } catch {
    return undefined;
  }
}

/** Returns the path of a file relative to a folder, with slashes. Undefined if it is not below the folder. */
async function locate(folder: string, path: string): Promise<string | undefined> {
  if (!isAbsolute(path)) return path;
  // The client may know the folder by a path with links.
  const real = await realpath(folder).catch(() => undefined);
  const places = [folder, real].flatMap((each) => (each === undefined ? [] : [relative(each, resolve(path))]));
  const inside = places.find(
    (each) => each !== "" && !isAbsolute(each) && each !== ".." && !each.startsWith(`..${sep}`),
  );
  return inside?.split(sep).join("/");
}

/** Returns a file in a folder. Undefined if it does not exist, is not a file, or is not in the folder. */
async function describe(folder: string, path: string, bytesMax: number): Promise<FoundFile | undefined> {
  const handle = await openIn(folder, path);
  if (!handle) return undefined;
  try {
    const version = await versionOf(handle);
    const bytes = Number(version.size);
    const reader = new ContentReader();
    if (bytes <= bytesMax) for await (const chunk of chunksOf(handle, bytes)) reader.push(chunk);
    const facts = reader.end();
    const name = cleanFileName(path);
    const chosen = chooseType({ facts, name });
    const type = "type" in chosen ? chosen.type : "application/octet-stream";
    return {
      ...{ name, type, bytes, facts },
      open: async () => {
        const again = await openIn(folder, path);
        if (!again) throw new ToolError("The file was deleted.");
        const now = await versionOf(again);
        // What was checked would otherwise not be what the handler reads.
        if (Object.entries(version).some(([name, value]) => now[name as keyof FileVersion] !== value)) {
          await again.close();
          throw new ToolError("The file has changed since it was checked. Call again.");
        }
        // Closes the file at the end, and when the reader leaves.
        return Readable.toWeb(chunksOf(again, bytes, true)) as unknown as ReadableStream<Uint8Array>;
      },
      // The file belongs to the user.
      delete: async () => undefined,
    };
  } finally {
    await handle.close();
  }
}

/** What changes with the content of a file. Programs cannot choose the time of the last change (ctime). */
interface FileVersion {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly ctimeNs: bigint;
}

async function versionOf(handle: FileHandle): Promise<FileVersion> {
  const { dev, ino, size, ctimeNs } = await handle.stat({ bigint: true });
  return { dev, ino, size, ctimeNs };
}

/** Codes of errors that a path or a root of the client can cause. */
const UNREADABLE = ["ENOENT", "ENOTDIR", "EACCES", "EPERM", "ELOOP", "ENAMETOOLONG", "ERR_INVALID_ARG_VALUE"];

async function openIn(folder: string, path: string): Promise<FileHandle | undefined> {
  try {
    return await openFileWithin(folder, path);
  } catch (error) {
    // The caller learns only that there is no such file.
    if (error instanceof RefusedError || UNREADABLE.includes((error as NodeJS.ErrnoException).code ?? ""))
      return undefined;
    throw error;
  }
}

/** Returns the content of a file, and at most the bytes that it had when it was found. */
function chunksOf(handle: FileHandle, bytes: number, autoClose = false): Readable {
  if (bytes > 0) return handle.createReadStream({ start: 0, end: bytes - 1, autoClose });
  if (autoClose) void handle.close();
  return Readable.from([]);
}

/** Creates a file that does not exist yet, with a number in its name if necessary. */
async function createFile(folder: string, name: string) {
  // With space for the number.
  const short = shortenFileName(name, NAME_BYTES_MAX - ` (${SAME_NAME_MAX})`.length);
  const extension = extname(short);
  const stem = short.slice(0, short.length - extension.length);
  for (let number = 0; number < SAME_NAME_MAX; number += 1) {
    const own = number === 0 ? name : `${stem} (${number})${extension}`;
    const path = join(folder, own);
    try {
      return { handle: await open(path, "wx", 0o600), path, name: own };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  throw new ToolError(`The folder for results has too many files with the name ${quote(name)}. Delete some.`);
}

function toBytes(body: string | Uint8Array): Uint8Array {
  return typeof body === "string" ? new TextEncoder().encode(body) : body;
}
