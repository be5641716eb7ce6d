/**
 * Quotes a word for a POSIX shell if necessary, so that the user can safely paste a suggested command line. The word may come from a
 * server.
 */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
