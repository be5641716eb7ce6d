/** Finds pages and sections by the names that models give them. */
import type { Documents, Page, Section } from "./documents.ts";
import { wordsOf } from "./words.ts";

/** The scheme of the resources. */
export const SCHEME = "docs://";

/** A page, or one of its sections. */
export interface Found {
  readonly page: Page;
  readonly section?: Section;
}

export class Library {
  readonly pages: readonly Page[];
  readonly #byPath: ReadonlyMap<string, Page>;

  constructor({ pages }: Documents) {
    this.pages = pages;
    this.#byPath = new Map(pages.map((page) => [page.path, page]));
  }

  /** Finds `guides/tasks`, `/guides/tasks.md`, `docs://guides/tasks` or `guides/tasks#cost`. Returns undefined if there is none. */
  find(name: string): Found | undefined {
    const [path = "", anchor = ""] = name.trim().replace(SCHEME, "").split("#");
    const page = this.#byPath.get(path.replace(/^\//, "").replace(/\.(md|txt|html)$/, ""));
    if (!page || anchor === "") return page && { page };
    const section = page.sections.find((each) => each.anchor === anchor.toLowerCase());
    return section && { page, section };
  }

  /** Returns the paths that have most words in common with a name, at least one. */
  similar(name: string, count: number): string[] {
    const words = new Set(wordsOf(name));
    return this.pages
      .map(({ path }) => ({ path, shared: wordsOf(path).filter((word) => words.has(word)).length }))
      .filter(({ shared }) => shared > 0)
      .sort((one, other) => other.shared - one.shared)
      .slice(0, count)
      .map(({ path }) => path);
  }

  /** Returns the paths that begin with a text or contain it, the former first. */
  complete(typed: string): string[] {
    const text = typed.toLowerCase();
    const paths = this.pages.map(({ path }) => path);
    const starting = paths.filter((path) => path.startsWith(text));
    return [...starting, ...paths.filter((path) => !path.startsWith(text) && path.includes(text))];
  }
}

/** Returns the URI of a page or a section. */
export function uriOf({ page, section }: Found): string {
  return `${SCHEME}${page.path}${section?.anchor ? `#${section.anchor}` : ""}`;
}

/** Returns the text of a page or a section. */
export function textOf({ page, section }: Found): string {
  return section ? section.text : page.sections.map(({ text }) => text).join("\n\n");
}
