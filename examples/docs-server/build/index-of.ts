/** Creates the index for the search. */
import type { Index, Page, Section } from "../src/documents.ts";
import { wordsOf } from "../src/words.ts";

/** How many times a word counts that is in the heading of a section, or in the title of its page. */
const [IN_HEADING, IN_TITLE] = [5, 2];

export function indexOf(pages: readonly Page[]): Index {
  const sections = pages.flatMap((page) => page.sections.map((section) => ({ page, section })));
  const counts = new Map<string, Map<number, number>>();
  const lengths = sections.map(({ page, section }, number) => {
    const words = wordsOf(section.text);
    for (const word of [...words, ...repeated(section.heading, IN_HEADING), ...repeated(page.title, IN_TITLE)]) {
      const ofWord = counts.get(word) ?? new Map<number, number>();
      counts.set(word, ofWord.set(number, (ofWord.get(number) ?? 0) + 1));
    }
    return words.length;
  });
  const words = [...counts.keys()].sort();
  const postings = words.map((word) => encode([...(counts.get(word) ?? [])]));
  return { words: words.join(" "), postings: postings.join("|"), lengths };
}

function repeated(text: Section["heading"], times: number): string[] {
  return Array.from({ length: times }, () => wordsOf(text)).flat();
}

function encode(postings: readonly (readonly [number, number])[]): string {
  let last = 0;
  return postings
    .map(([section, count]) => {
      const distance = (section - last).toString(36);
      last = section;
      return count > 1 ? `${distance}*${count}` : distance;
    })
    .join(" ");
}
