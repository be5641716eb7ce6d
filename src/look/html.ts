/**
 * HTML templates that escape inserted text.
 *
 * @module
 */

/** A fragment of HTML. It is created by {@link html}, so text cannot be mistaken for HTML. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** A value that can be inserted into HTML. Text is escaped; undefined inserts nothing. */
export type Insertable = string | Html | undefined | readonly Insertable[];

/** Creates HTML from a template. Attributes must have double quotes. */
export function html(template: TemplateStringsArray, ...inserted: readonly Insertable[]): Html {
  return new Html(template.map((part, index) => part + insert(inserted[index])).join(""));
}

function insert(value: Insertable): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.toString();
  if (typeof value !== "string") return value.map(insert).join("");
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
