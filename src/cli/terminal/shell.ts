/**
 * Quotes a word for a POSIX shell, if need be, so that a command line which this program proposes can be pasted. The word may come
 * from a server.
 */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
