/**
 * Returns the end of a text. If the cut divides a word, the rest of the word is removed too, because a part of a secret could not be
 * recognised and redacted.
 *
 * @param max The maximum number of characters.
 */
export function toEnd(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = text.slice(-max);
  const isDivided = /\S/.test(text.charAt(text.length - max - 1)) && /^\S/.test(end);
  return isDivided ? end.replace(/^\S+/, "") : end;
}
