/** Splits text into the words that are indexed. The build and the search use the same function, so that their words are equal. */

/** Longer words are not indexed: they are keys and digests. */
const WORD_CHARACTERS_MAX = 40;

/** Words that are in nearly every section. */
const COMMON = new Set(
  "a an and are as at be by can do for from has have i if in is it its not of on or that the this to was what when which with you your".split(
    " ",
  ),
);

/** Returns the words of a text in lower case and in the singular. A name such as `safeFetch` is one word, and also its parts. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [found] of text.matchAll(/[\p{L}\p{N}_]+/gu)) {
    if (found.length > WORD_CHARACTERS_MAX) continue;
    const parts = found.split(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|_+/u);
    for (const part of parts.length > 1 ? [found, ...parts] : parts) {
      const word = singular(part.toLowerCase());
      if (word !== "" && !COMMON.has(word)) words.push(word);
    }
  }
  return words;
}

function singular(word: string): string {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 3 && word.endsWith("s") && !word.endsWith("ss")) return word.slice(0, -1);
  return word;
}
