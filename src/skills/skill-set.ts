/**
 * The skills of one server, found by the URIs of their files and folders.
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

/** A skill that is served, with its entry. */
interface Served {
  readonly skill: ServedSkill;
  readonly entry: WithUri;
}

/** A file, and the skills that it belongs to: several if skills are nested. */
interface Found {
  readonly uri: string;
  readonly file: ServedSkillFile;
  readonly owners: ServedSkill[];
}

export class SkillSet {
  readonly #isVisible: IsVisible;
  /** By the normalized URI of their `SKILL.md`. */
  readonly #skills = new Map<string, Served>();
  /** By their normalized URI. */
  readonly #files = new Map<string, Found>();

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

  /** @throws {McpError} -32602 if the server has no such skill, or the caller may not see it. */
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

  /** Returns the content of a file; undefined if there is none that the caller may read. */
  read(uri: string, ctx: HandlerContext): ResourceContent | undefined {
    const found = this.#files.get(normalize(uri));
    if (!found || !this.#isReadable(found, ctx)) return undefined;
    const { mimeType, text, base64 } = found.file;
    return text === undefined ? { mimeType, blob: base64 ?? "" } : { mimeType, text };
  }

  /** Whether a caller may see one of the skills that a file belongs to. */
  #isReadable({ owners }: Found, ctx: HandlerContext): boolean {
    return owners.some((skill) => this.#isVisible(skill, ctx));
  }

  /**
   * Returns the files and folders directly below a folder.
   *
   * @throws {McpError} -32602 if the URI is not that of a folder with files that the caller may see.
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
    throw invalidParams(`${quote(String(uri))} is not a folder of a skill. Its URI has no slash at the end.`, {
      field: "uri",
    });
  }
}
