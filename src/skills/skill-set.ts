/**
 * Finds the skills of one server, their files and their folders by URI.
 *
 * @module
 */
import { normalize } from "../client/skills/paths.ts";
import { quote } from "../core/basics/quote.ts";
import type { HandlerContext } from "../core/define/handler-context.ts";
import type { ResourceContent } from "../core/define/resource.ts";
import { invalidParams, KitError } from "../core/protocol/errors.ts";
import { type ServedSkill, type ServedSkillFile, skillUri, toEntry, type WithUri } from "./skill.ts";

const FOLDER = "inode/directory";

/** Whether a caller may see a skill. */
export type IsVisible = (skill: ServedSkill, ctx: HandlerContext) => boolean;

/** A skill with its entry. */
interface Served {
  readonly skill: ServedSkill;
  readonly entry: WithUri;
}

/** A file, and the skills that contain it: several if skills are nested. */
interface OwnedFile {
  readonly uri: string;
  readonly file: ServedSkillFile;
  readonly owners: ServedSkill[];
}

export class SkillSet {
  readonly #isVisible: IsVisible;
  /** The skills by the normalized URI of their `SKILL.md`. */
  readonly #skills = new Map<string, Served>();
  /** The files by their normalized URI. */
  readonly #files = new Map<string, OwnedFile>();

  /** @throws {KitError} `definition-duplicate` if two skills have the same path. */
  constructor(skills: readonly ServedSkill[], isVisible: IsVisible) {
    this.#isVisible = isVisible;
    for (const skill of skills) this.#add(skill);
  }

  #add(skill: ServedSkill): void {
    const entry = toEntry(skill);
    if (this.#skills.has(normalize(entry.uri))) {
      throw new KitError("definition-duplicate", `There are two skills at ${entry.uri}.`);
    }
    this.#skills.set(normalize(entry.uri), { skill, entry });
    for (const file of skill.files) {
      const uri = skillUri(`${skill.path}/${file.path}`);
      const found = this.#files.get(normalize(uri));
      if (found) found.owners.push(skill);
      else this.#files.set(normalize(uri), { uri, file, owners: [skill] });
    }
  }

  /** Returns the entries of the skills that a caller may see. */
  entries(ctx: HandlerContext): WithUri[] {
    return [...this.#skills.values()].filter(({ skill }) => this.#isVisible(skill, ctx)).map(({ entry }) => entry);
  }

  /** Returns the entry of a skill. @throws {McpError} -32602 if there is no such skill, or the caller must not see it. */
  entry(uri: unknown, ctx: HandlerContext): WithUri {
    const served = typeof uri === "string" ? this.#skills.get(normalize(uri)) : undefined;
    if (served && this.#isVisible(served.skill, ctx)) return served.entry;
    throw invalidParams(
      `No skill is served at ${quote(String(uri))}. skills/list has the URIs of this server's skills.`,
      {
        field: "uri",
      },
    );
  }

  /** Returns the content of a file; undefined if there is no such file, or the caller must not read it. */
  read(uri: string, ctx: HandlerContext): ResourceContent | undefined {
    const found = this.#files.get(normalize(uri));
    if (!found || !this.#isReadable(found, ctx)) return undefined;
    const { mimeType, text, base64 } = found.file;
    return text === undefined ? { mimeType, blob: base64 ?? "" } : { mimeType, text };
  }

  /** Whether a caller may see one of the skills that contain a file. */
  #isReadable({ owners }: OwnedFile, ctx: HandlerContext): boolean {
    return owners.some((skill) => this.#isVisible(skill, ctx));
  }

  /**
   * Returns the files and folders that a folder directly contains.
   *
   * @throws {McpError} -32602 if there is no such folder, or it contains no files that the caller may see.
   */
  children(uri: unknown, ctx: HandlerContext): WithUri[] {
    const folder = normalize(String(uri));
    const depth = folder.split("/").length;
    const children = new Map<string, WithUri>();
    for (const [normalized, found] of this.#files) {
      if (!normalized.startsWith(`${folder}/`) || !this.#isReadable(found, ctx)) continue;
      const segments = found.uri.split("/");
      const childUri = segments.slice(0, depth + 1).join("/");
      const mimeType = segments.length > depth + 1 ? FOLDER : found.file.mimeType;
      children.set(childUri, { uri: childUri, name: decodeURIComponent(segments[depth] ?? ""), mimeType });
    }
    if (children.size > 0) return [...children.values()];
    throw invalidParams(`${quote(String(uri))} is not a folder of a skill. Write its URI without a trailing slash.`, {
      field: "uri",
    });
  }
}
