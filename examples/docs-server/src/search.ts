/** Full-text search: BM25 over sections, with words that begin with a word of the query. */
import type { Documents, Page, Section } from "./documents.ts";
import { wordsOf } from "./words.ts";

export interface Hit {
  readonly page: Page;
  readonly section: Section;
  readonly excerpt: string;
}

/** Words of a query after these are ignored. */
const QUERY_WORDS_MAX = 16;
/** The shortest word that also finds words that begin with it. */
const PREFIX_CHARACTERS_MIN = 3;
/** How many words a beginning finds. */
const PREFIX_WORDS_MAX = 40;
/** The weight of a word that only begins with the word of the query. */
const PREFIX_WEIGHT = 0.4;
/** How many sections of one page are found, so that others are found too. */
const SECTIONS_PER_PAGE_MAX = 3;
/** The weight of lists of exports and options, which contain every word of the API: a guide explains it. */
const REFERENCE_WEIGHT = 0.6;
const EXCERPT_CHARACTERS_MAX = 240;
/** The constants of BM25: how fast repetitions stop counting, and how much the length of a section counts. */
const [SATURATION, LENGTH] = [1.2, 0.75];

export class Search {
  readonly #sections: readonly { readonly page: Page; readonly section: Section }[];
  readonly #words: readonly string[];
  readonly #postings: readonly string[];
  readonly #lengths: readonly number[];
  readonly #averageLength: number;

  constructor({ pages, index }: Documents) {
    this.#sections = pages.flatMap((page) => page.sections.map((section) => ({ page, section })));
    this.#words = index.words.split(" ");
    this.#postings = index.postings.split("|");
    this.#lengths = index.lengths;
    this.#averageLength = index.lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, index.lengths.length);
  }

  /** Returns the best sections for a query, the best first. */
  find(query: string, limit: number): Hit[] {
    const words = [...new Set(wordsOf(query))].slice(0, QUERY_WORDS_MAX);
    const scores = new Map<number, { score: number; matched: number }>();
    for (const word of words) {
      for (const [section, score] of this.#scoresOf(word)) {
        const { score: before, matched } = scores.get(section) ?? { score: 0, matched: 0 };
        scores.set(section, { score: before + score, matched: matched + 1 });
      }
    }
    const ranked = [...scores]
      // A section with all words is better than one with a single word many times.
      .map(([section, { score, matched }]) => {
        const weight = this.#sections[section]?.page.path.startsWith("reference/") ? REFERENCE_WEIGHT : 1;
        return { section, score: (weight * score * matched) / words.length };
      })
      .sort((one, other) => other.score - one.score || one.section - other.section);
    return this.#chosen(ranked, limit).map(({ page, section }) => ({
      page,
      section,
      excerpt: excerptOf(section, words),
    }));
  }

  #chosen(ranked: readonly { readonly section: number }[], limit: number) {
    const chosen: { readonly page: Page; readonly section: Section }[] = [];
    const counts = new Map<Page, number>();
    for (const { section: number } of ranked) {
      const found = this.#sections[number];
      if (chosen.length === limit) break;
      const count = found ? (counts.get(found.page) ?? 0) : 0;
      if (!found || count === SECTIONS_PER_PAGE_MAX) continue;
      counts.set(found.page, count + 1);
      chosen.push(found);
    }
    return chosen;
  }

  /** Returns the score of each section for one word of a query. */
  #scoresOf(word: string): Map<number, number> {
    const scores = new Map<number, number>();
    const first = this.#positionOf(word);
    for (let at = first; at < first + PREFIX_WORDS_MAX; at += 1) {
      const found = this.#words[at];
      const isSame = found === word;
      if (!found?.startsWith(word) || (!isSame && word.length < PREFIX_CHARACTERS_MIN)) break;
      const postings = decode(this.#postings[at] ?? "");
      const rarity = Math.log(1 + (this.#sections.length - postings.length + 0.5) / (postings.length + 0.5));
      for (const { section, count } of postings) {
        const length = (this.#lengths[section] ?? 0) / this.#averageLength;
        const often = (count * (SATURATION + 1)) / (count + SATURATION * (1 - LENGTH + LENGTH * length));
        const score = rarity * often * (isSame ? 1 : PREFIX_WEIGHT);
        scores.set(section, Math.max(scores.get(section) ?? 0, score));
      }
    }
    return scores;
  }

  /** Returns the position of the first word that is not before a word. */
  #positionOf(word: string): number {
    let [low, high] = [0, this.#words.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#words[middle] ?? "") < word) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function decode(postings: string): { readonly section: number; readonly count: number }[] {
  let section = 0;
  return postings.split(" ").map((posting) => {
    const [distance = "", count = "1"] = posting.split("*");
    section += Number.parseInt(distance, 36);
    return { section, count: Number(count) };
  });
}

/** Returns the line with most words of the query. */
function excerptOf({ text }: Section, words: readonly string[]): string {
  let best = { line: "", score: -1 };
  for (const line of text.split("\n")) {
    if (line.startsWith("#") || line.startsWith("```") || line.trim() === "") continue;
    const has = new Set(wordsOf(line));
    const score = words.filter((word) => has.has(word)).length;
    if (score > best.score) best = { line, score };
  }
  const line = best.line.trim();
  return line.length > EXCERPT_CHARACTERS_MAX ? `${line.slice(0, EXCERPT_CHARACTERS_MAX)}...` : line;
}
