/**
 * Changes to the text of one file. They are collected in any order, by positions in the original text, and applied together, so the
 * syntax tree stays valid while the file is analysed, and everything that is not changed keeps its formatting.
 *
 * @module
 */

/** A range of the original text: the end is exclusive. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Returns the text of a range with the changes inside it. */
export type Nested = (range: Range) => string;

interface Edit extends Range {
  readonly text: string | ((nested: Nested) => string);
  readonly order: number;
}

/** The collected changes. */
export class Edits {
  readonly #text: string;
  readonly #edits: Edit[] = [];
  readonly #marks = new Set<string>();

  /** Starts without changes of the text. */
  constructor(text: string) {
    this.#text = text;
  }

  /** The number of changes. */
  get size(): number {
    return this.#edits.length;
  }

  /**
   * Replaces a range. A function can reuse parts of the original text, including the changes inside them. Other changes inside a replaced
   * range are dropped.
   */
  replace({ start, end }: Range, text: Edit["text"]): void {
    this.#edits.push({ start, end, text, order: this.#edits.length });
  }

  /** Inserts text at a position. */
  insert(at: number, text: string): void {
    this.replace({ start: at, end: at }, text);
  }

  /** Makes a change, unless a change was already made under the same name. */
  once(name: string, change: () => void): void {
    if (this.#marks.has(name)) return;
    this.#marks.add(name);
    change();
  }

  /** Returns the changed text, and the ranges of the original text that it still contains. */
  apply(): { readonly text: string; readonly kept: readonly Range[] } {
    const kept: Range[] = [];
    const text = this.#render({ start: 0, end: this.#text.length }, undefined, kept);
    return { text, kept };
  }

  #render(range: Range, owner: Edit | undefined, kept: Range[]): string {
    const keep = (start: number, end: number) => {
      if (end > start) kept.push({ start, end });
      return this.#text.slice(start, end);
    };
    let [at, text] = [range.start, ""];
    for (const edit of this.#outermost(range, owner)) {
      text += keep(at, edit.start);
      text +=
        typeof edit.text === "string"
          ? edit.text
          : edit.text((inner) => this.#render(inner, this.#ownerFor(inner, edit), kept));
      at = edit.end;
    }
    return text + keep(at, range.end);
  }

  /** Prevents an edit that replaces exactly the requested range from being rendered inside itself. */
  #ownerFor(inner: Range, edit: Edit): Edit | undefined {
    return inner.start <= edit.start && inner.end >= edit.end ? edit : undefined;
  }

  /** The edits in a range that are not inside another edit, in the order of the text. */
  #outermost(range: Range, owner: Edit | undefined): Edit[] {
    const inside = this.#edits.filter(
      (edit) =>
        edit !== owner &&
        edit.start >= range.start &&
        edit.end <= range.end &&
        (owner === undefined || !covers(edit, owner) || edit.start === edit.end),
    );
    const outer = inside.filter(
      (edit) => !inside.some((other) => other !== edit && (covers(other, edit) || isSameButLater(other, edit))),
    );
    return outer.sort((a, b) => a.start - b.start || a.end - b.end || a.order - b.order);
  }
}

/** Whether one edit lies strictly inside another one. Insertions at the borders of a replaced range are outside of it. */
function covers(outer: Range, inner: Range): boolean {
  if (inner.start === inner.end) return inner.start > outer.start && inner.start < outer.end;
  return outer.start <= inner.start && outer.end >= inner.end && outer.end - outer.start > inner.end - inner.start;
}

/** Whether `other` replaces the same range as `edit` and was added later, so that it applies instead. */
function isSameButLater(other: Edit, edit: Edit): boolean {
  return other.start === edit.start && other.end === edit.end && edit.end > edit.start && other.order > edit.order;
}
