/**
 * Returns the end of a text, without the word that the cut divides: the rest of a secret could not be recognised any
 * more.
 *
 * @param max The maximum number of characters.
 */
export function toEnd(text: string, max: number): string {
  if (text.length <= max) return text;
  const end = text.slice(-max);
  const isDivided = /\S/.test(text.charAt(text.length - max - 1)) && /^\S/.test(end);
  return isDivided ? end.replace(/^\S+/, "") : end;
}
