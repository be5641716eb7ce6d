import { decodeBase64, encodeText, toHex } from "../../core/basics/bytes.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import type { Client } from "../api/client.ts";
import { ClientError, invalidAnswer, toText } from "../basics/errors.ts";
import { LISTING_LIMITS, Listing } from "../requests/listing.ts";
import type { RequestOptions } from "../requests/request-options.ts";
import type { Resource, ResourceContents } from "../requests/results.ts";
import { describeProblem, type Skill, type SkillResource } from "./entries.ts";
import { SkillError } from "./errors.ts";
import { findDifference, splitManifest } from "./frontmatter.ts";
import { normalize, resolveFile } from "./paths.ts";
import { parseYaml } from "./yaml.ts";

const EXTENSION = "io.modelcontextprotocol/skills";

type ReadFile = Omit<SkillFile, "isVerified" | "body">;

/** The options of {@link Skills}. */
export interface SkillsOptions {
  /**
   * Parses the YAML of a frontmatter.
   *
   * @default a parser for the part of YAML 1.2 that is common in frontmatter, without anchors and tags. A skill with other YAML is
   *   refused.
   */
  readonly parseYaml?: (yaml: string) => JsonObject;
  /** Receives a message about each entry that was left out of a list. @default `console.warn` */
  readonly onWarning?: (message: string) => void;
}

/** A file of a skill after its checks. */
export interface SkillFile {
  /** The URI of the file. */
  readonly uri: string;
  /** The content. */
  readonly bytes: Uint8Array;
  /** The content as text, if the server sent it as text. */
  readonly text?: string;
  /** The media type, if it is known. */
  readonly mimeType?: string;
  /**
   * Whether size and digest were verified. False for files of `dynamic` skills. The digest comes from the same server, so it shows that
   * the file matches the entry, not that the file can be trusted.
   */
  readonly isVerified: boolean;
  /** For `SKILL.md`: the text after the frontmatter. */
  readonly body?: string;
}

/**
 * Reads the skills of a server, and verifies every file with the entry of its skill. Files are read only when {@link read} is called.
 *
 * ```ts
 * import { connect } from "mcp-edge/client";
 * import { Skills } from "mcp-edge/client/skills";
 *
 * const client = await connect("https://example.com/mcp", { name: "my-app", version: "1.0.0" });
 * const skills = new Skills(client);
 * for await (const skill of skills.list()) console.log(skill.frontmatter.name, skill.frontmatter.description);
 * const { body } = await skills.read(await skills.get("skill://git-workflow/SKILL.md"));
 * ```
 *
 * @see io.modelcontextprotocol/skills
 */
export class Skills {
  readonly #client: Client;
  readonly #options: SkillsOptions;

  /**
   * Creates a reader of the skills of one server.
   *
   * @param client A connected client, of any protocol version.
   */
  constructor(client: Client, options: SkillsOptions = {}) {
    this.#client = client;
    this.#options = options;
  }

  /** Whether the server has declared skills. If not, the other methods fail with `capability-missing`. */
  get areSupported(): boolean {
    return this.#settings !== undefined;
  }

  /**
   * Iterates over the skills that the server lists. The server may have other skills, which {@link get} finds. Invalid entries are left
   * out with a warning.
   */
  list(options?: RequestOptions): Listing<Skill> {
    return this.#listing("skills/list", {}, "skills", options, (entry) => this.#check(entry));
  }

  /**
   * Gets the entry of one skill, whether or not it is listed. Get it again if a file has changed. A user who approved the old entry must
   * then approve the new one.
   *
   * @param uri The URI of its `SKILL.md`.
   * @throws {SkillError} `invalid` if the entry is invalid.
   * @throws {McpError} -32602 if the server has no such skill.
   */
  async get(uri: string, options?: RequestOptions): Promise<Skill> {
    this.#require("skills/get");
    const { skill } = await this.#client.request("skills/get", { uri }, options);
    const problem = describeProblem(skill);
    if (problem !== undefined) throw new SkillError("invalid", uri, `${problem}.`);
    const entry = skill as Skill;
    if (normalize(entry.uri) === normalize(uri)) return entry;
    throw new SkillError("invalid", uri, `the server sent the entry of ${entry.uri}.`);
  }

  /**
   * Reads and verifies a file of a skill. Treat its text as untrusted, and show the user which server it is from.
   *
   * @param skill The entry, from {@link list} or {@link get}.
   * @param file A path in the folder of the skill, such as `references/FORMS.md`, or a URI.
   * @throws {SkillError} if a check fails. The content must then not be used.
   */
  async read(skill: Skill, file = "SKILL.md", options?: RequestOptions): Promise<SkillFile> {
    const problem = describeProblem(skill);
    if (problem !== undefined) throw new SkillError("invalid", String(skill?.uri), `${problem}.`);
    const uri = resolveFile(skill.uri, file);
    const listed = skill.resources === "dynamic" ? undefined : findListed(skill, skill.resources, uri);
    const read = await this.#readContent(listed?.uri ?? uri, options);
    if (listed) await verify(listed, read.bytes);
    const isManifest = normalize(uri) === normalize(skill.uri);
    return { ...read, isVerified: listed !== undefined, ...(isManifest ? this.#manifest(skill, read) : {}) };
  }

  /**
   * Iterates over the files and folders that a folder directly contains. If the entry of a skill lists its files, other files in the
   * folder are not part of the skill.
   *
   * @param uri The URI of the folder, without a trailing slash, such as `skill://git-workflow/templates`.
   * @throws {ClientError} `capability-missing` if the server has not declared `directoryRead`.
   */
  folder(uri: string, options?: RequestOptions): Listing<Resource> {
    const method = "resources/directory/read";
    this.#require(method);
    if (this.#settings?.directoryRead !== true) {
      throw new ClientError(
        "capability-missing",
        `The server has not declared "directoryRead", which ${method} needs.`,
      );
    }
    return this.#listing(method, { uri }, "resources", options, (resource) => isObject(resource));
  }

  get #settings(): JsonObject | undefined {
    const { extensions } = this.#client.server.capabilities;
    const settings = isObject(extensions) ? extensions[EXTENSION] : undefined;
    return isObject(settings) ? settings : undefined;
  }

  #require(method: string): void {
    if (this.areSupported) return;
    throw new ClientError("capability-missing", `The server has not declared "${EXTENSION}", which ${method} needs.`);
  }

  #listing<T>(
    method: string,
    params: JsonObject,
    member: string,
    options: RequestOptions | undefined,
    isValid: (item: unknown) => boolean,
  ): Listing<T> {
    const read = async (cursor: string | undefined) => {
      this.#require(method);
      const sent = cursor === undefined ? params : { ...params, cursor };
      const result = await this.#client.request(method, sent, options);
      const items = result[member];
      if (!Array.isArray(items)) throw invalidAnswer(method, `it has no list "${member}"`);
      const nextCursor = typeof result.nextCursor === "string" ? result.nextCursor : undefined;
      return { items: items.filter(isValid) as T[], nextCursor };
    };
    return new Listing(read, LISTING_LIMITS, (message) => this.#warn(message));
  }

  #check(entry: unknown): boolean {
    const problem = describeProblem(entry);
    if (problem === undefined) return true;
    const uri = isObject(entry) ? JSON.stringify(entry.uri) : "without a uri";
    this.#warn(`The skill ${uri} is left out: ${problem}.`);
    return false;
  }

  #warn(message: string): void {
    const { onWarning = (text) => console.warn(`mcp-edge/client/skills: ${text}`) } = this.#options;
    onWarning(message);
  }

  async #readContent(uri: string, options: RequestOptions | undefined): Promise<ReadFile> {
    const { contents } = await this.#client.readResource(uri, options);
    const found = contents.find((each) => normalize(each.uri) === normalize(uri));
    if (!found) throw new SkillError("invalid", uri, "the result does not contain the file.");
    const { mimeType } = found;
    const text = "text" in found && typeof found.text === "string" ? found.text : undefined;
    return {
      uri,
      bytes: text === undefined ? toBytes(found) : encodeText(text),
      ...(text === undefined ? {} : { text }),
      ...(mimeType === undefined ? {} : { mimeType }),
    };
  }

  /** Compares the frontmatter with the entry, and returns the text after it. */
  #manifest({ frontmatter }: Skill, { uri, bytes, text = decode(bytes) }: ReadFile): { body: string } {
    const manifest = splitManifest(text);
    if (!manifest)
      throw new SkillError("frontmatter", uri, "it does not begin with frontmatter between two --- lines.");
    let own: JsonObject;
    try {
      own = (this.#options.parseYaml ?? parseYaml)(manifest.yaml);
    } catch (cause) {
      throw new SkillError("frontmatter", uri, `its frontmatter cannot be read: ${toText(cause)}.`, { cause });
    }
    const field = findDifference(own, frontmatter);
    if (field === undefined) return { body: manifest.body };
    throw new SkillError("frontmatter", uri, `its field ${JSON.stringify(field)} differs from the entry.`);
  }
}

/** Finds a file in an entry, regardless of the percent-encoding of its URI. @throws {SkillError} `unlisted`. */
function findListed(skill: Skill, resources: readonly SkillResource[], uri: string): SkillResource {
  const wanted = normalize(uri);
  const found = resources.find((each) => normalize(each.uri) === wanted);
  if (found) return found;
  throw new SkillError("unlisted", uri, `the entry of ${skill.uri} does not list it.`);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
}

function toBytes(contents: ResourceContents): Uint8Array {
  const { blob } = contents as { readonly blob?: unknown };
  try {
    return decodeBase64(String(blob));
  } catch (cause) {
    throw new SkillError("invalid", contents.uri, "its blob is not base64.", { cause });
  }
}

/** Verifies the content of a file. @throws {SkillError} `size` or `digest` if it does not match the entry. */
async function verify({ uri, size, digest }: SkillResource, bytes: Uint8Array): Promise<void> {
  if (bytes.length !== size) {
    throw new SkillError("size", uri, `it has ${bytes.length} bytes, but its entry says ${size}.`);
  }
  const hash = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  if (`sha256:${toHex(new Uint8Array(hash))}` === digest) return;
  throw new SkillError("digest", uri, "its content does not match the digest in its entry.");
}
