/** The documents and their index, as the build has written them. They are parsed when an isolate starts, not in a request. */
import text from "./documents.txt";

/** A part of a page, from a heading to the next one. */
export interface Section {
  readonly heading: string;
  /** The end of its link; empty for the beginning of a page. */
  readonly anchor: string;
  readonly text: string;
}

export interface Page {
  /** Such as `guides/tasks`. */
  readonly path: string;
  readonly title: string;
  readonly sections: readonly Section[];
}

/** An index from words to sections. The sections of all pages are numbered from 0. */
export interface Index {
  /** All words in alphabetical order, with spaces between them. */
  readonly words: string;
  /**
   * The sections of each word, with `|` between words. A section is its distance from the section before it, in base 36, and `*` with the
   * number of times that the word occurs, if it is more than once.
   */
  readonly postings: string;
  /** The number of words in each section. */
  readonly lengths: readonly number[];
}

export interface Documents {
  readonly pages: readonly Page[];
  readonly index: Index;
}

export const documents = JSON.parse(text) as Documents;
