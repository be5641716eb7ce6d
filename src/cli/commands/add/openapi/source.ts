/**
 * Reads a description, and the files that it refers to. All of them are untrusted, so their size, number and time are limited.
 *
 * @module
 */
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { createPinnedFetch } from "../../../../node/pinned-fetch.ts";
import { RefusedError } from "../../../../safe/refused.ts";
import { CliError, Exit, usageError } from "../../../exit.ts";
import { oneLine } from "../../../terminal/terminal.ts";

/** The maximum size of all files of a description together, in bytes. */
const SOURCE_BYTES_MAX = 64_000_000;
/** The maximum number of files to which a description refers, directly or not. */
const FILES_MAX = 5_000;
/** The maximum time for a request, in milliseconds. */
const REQUEST_MS_MAX = 60_000;
/** The maximum time for all files together, in milliseconds. */
const TOTAL_MS_MAX = 300_000;
/** The maximum number of redirects of a request. */
const REDIRECTS_MAX = 5;
/** The maximum number of missing files listed in an error message. */
const NAMED_MAX = 3;
/** The maximum length of a name in an error message, in characters. */
const SHOWN_MAX = 200;

/** The files of a description. */
export class Source {
  /** The key of the description in the texts: its URL, or its name in its folder. */
  readonly main: string;
  /** The files that were read, by their URLs or by their paths in the folder. */
  readonly texts: Map<string, string> = new Map();
  readonly #folder: string | undefined;
  readonly #endsAt = Date.now() + TOTAL_MS_MAX;
  #bytes = 0;
  #taken = 0;

  private constructor(main: string, folder: string | undefined) {
    this.main = main;
    this.#folder = folder;
  }

  /** Reads a description from a file or a URL. @throws {CliError} if it cannot be read. */
  static async read(given: string): Promise<Source> {
    const source = /^https?:\/\//i.test(given) ? new Source(checkUrl(given), undefined) : fromFile(given);
    await source.add([source.main]);
    return source;

    function fromFile(path: string): Source {
      if (!existsSync(path) || !statSync(path).isFile()) throw usageError(`${oneLine(path, SHOWN_MAX)} is not a file.`);
      const real = realpathSync(path);
      const name = real.slice(dirname(real).length + 1);
      // In a reference, the text after `#` is a position in the file.
      if (name.includes("#")) throw usageError(`${oneLine(name, SHOWN_MAX)} has a # in its name. Rename it.`);
      return new Source(name, dirname(real));
    }
  }

  /** Returns the files that were read since the last call, by their names. */
  takeNew(): Record<string, string> {
    const files = [...this.texts].slice(this.#taken);
    this.#taken = this.texts.size;
    return Object.fromEntries(files);
  }

  /**
   * Reads files that the description refers to: those in its folder, or those of its host.
   *
   * @throws {CliError} if one is elsewhere, or a limit is exceeded.
   */
  async add(names: readonly string[]): Promise<void> {
    if (this.texts.size + names.length > FILES_MAX)
      throw usageError(`The description refers to more than ${FILES_MAX} files. Bundle it into one file first.`);
    for (const name of names) {
      if (Date.now() > this.#endsAt)
        throw usageError(
          `The files of the description could not be read within ${TOTAL_MS_MAX / 1000} seconds. Bundle it into one file first.`,
        );
      const text = this.#folder === undefined ? await this.#fetch(name) : this.#open(name, this.#folder);
      this.#bytes += Buffer.byteLength(text);
      if (this.#bytes > SOURCE_BYTES_MAX) throw tooLarge();
      this.texts.set(name, text);
    }
  }

  #open(name: string, folder: string): string {
    const path = join(folder, name);
    if (/^[a-z][a-z\d+.-]+:/i.test(name) || !path.startsWith(folder + sep)) throw elsewhere(name);
    // Hidden files, such as .env, contain settings and secrets. The user has chosen the description itself, so it may be hidden.
    if (name !== this.main && /(?:^|[\\/])\.[^./\\]/.test(name))
      throw usageError(`The description refers to the hidden file ${oneLine(name, SHOWN_MAX)}, which is not read.`);
    if (!existsSync(path))
      throw usageError(`The description refers to the file ${oneLine(name, SHOWN_MAX)}, which does not exist.`);
    if (!realpathSync(path).startsWith(folder + sep)) throw elsewhere(name);
    const { size } = statSync(path);
    if (!statSync(path).isFile() || size > SOURCE_BYTES_MAX)
      throw usageError(`${oneLine(name, SHOWN_MAX)} is not a file, or has more than ${SOURCE_BYTES_MAX} bytes.`);
    return readFileSync(path, "utf8");
  }

  async #fetch(name: string): Promise<string> {
    const main = new URL(this.main);
    const url = new URL(name === this.main ? name : checkUrl(name));
    if (url.host !== main.host || url.protocol !== main.protocol) throw elsewhere(name);
    const problem = (why: string) => {
      return new CliError(
        Exit.connection,
        `${oneLine(`${url.origin}${url.pathname}`, SHOWN_MAX)} could not be read: ${why}`,
      );
    };
    try {
      const response = await follow(url, { main, isFile: name !== this.main });
      if (!response.ok) throw problem(`the server responded with the status ${response.status}.`);
      return await readBounded(response);
    } catch (error) {
      if (error instanceof CliError) throw error;
      if (error instanceof RefusedError && error.reason === "too-large") throw tooLarge();
      throw problem(error instanceof Error ? oneLine(error.message, SHOWN_MAX) : "of an unknown error.");
    }
  }
}

/** The facts that decide where a request may be redirected. */
interface Origin {
  /** The URL that the user gave. */
  readonly main: URL;
  /** Whether the request is for a file that the description refers to. Such files are requested only from the host of the description. */
  readonly isFile: boolean;
}

/**
 * Follows redirects. Each URL is checked before it is requested: it has to use https, and only the host that the user has named may have
 * a private address or a port of its own.
 */
async function follow(first: URL, { main, isFile }: Origin): Promise<Response> {
  const signal = AbortSignal.timeout(REQUEST_MS_MAX);
  let url = first;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const isSame = url.host === main.host && url.protocol === main.protocol;
    const port = url.port || (url.protocol === "https:" ? "443" : "80");
    const send = createPinnedFetch({
      ...(isSame ? { privateHosts: [`${url.hostname}:${port}`] } : {}),
      redirectsMax: 0,
      timeoutMs: REQUEST_MS_MAX,
      responseBytesMax: SOURCE_BYTES_MAX,
    });
    const headers = { Accept: "application/json, application/yaml, text/yaml, */*;q=0.1", "User-Agent": "mcp-edge" };
    const response = await send(url, { headers, signal, redirect: "manual" });
    const location = [301, 302, 303, 307, 308].includes(response.status) ? response.headers.get("Location") : null;
    if (location === null) return response;
    await response.body?.cancel();
    const next = URL.canParse(location, url) ? new URL(location, url) : undefined;
    const isAllowed = next?.protocol === "https:" || (next?.protocol === main.protocol && next.host === main.host);
    if (next === undefined || !isAllowed) throw new RefusedError("redirect", "it redirects to a URL without https.");
    if (isFile && next.host !== main.host) throw new RefusedError("redirect", "it redirects to another host.");
    url = next;
  }
  throw new RefusedError("redirect", `it redirects more than ${REDIRECTS_MAX} times.`);
}

/** Says which files are missing. @throws {CliError} always. */
export function refuseMissing(missing: readonly string[]): never {
  const named = missing
    .slice(0, NAMED_MAX)
    .map((name) => oneLine(name, SHOWN_MAX))
    .join(", ");
  const more = missing.length > NAMED_MAX ? ` and ${missing.length - NAMED_MAX} more` : "";
  throw usageError(
    `The description refers to other files: ${named}${more}. Add --follow-refs to read those next to it, or bundle it into one file.`,
  );
}

function elsewhere(name: string): CliError {
  return usageError(
    `The description refers to ${oneLine(name, SHOWN_MAX)}, which is outside of its folder or on another host, and is not read. Bundle it into one file first.`,
  );
}

/** @throws {CliError} for a URL without https, except on this machine. */
function checkUrl(given: string): string {
  if (!URL.canParse(given)) throw usageError(`${oneLine(given, SHOWN_MAX)} is not a URL.`);
  const url = new URL(given);
  if (!isSafeTransport(url))
    throw usageError(`${oneLine(given, SHOWN_MAX)} is not an https: URL, so others could change the description.`);
  if (url.username !== "" || url.password !== "")
    throw usageError(
      "The URL of the description has a user name or a password, which are not sent. Download the file first.",
    );
  // The fragment is a position in the description, which is always read completely.
  url.hash = "";
  return url.href;
}

function isSafeTransport({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || (protocol === "http:" && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname));
}

function tooLarge(): CliError {
  return usageError(`The description has more than ${SOURCE_BYTES_MAX} bytes. Remove the parts that you do not need.`);
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > SOURCE_BYTES_MAX) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
