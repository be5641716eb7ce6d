/**
 * Which clients have a document. In a file of its own, because the check of the options runs outside of Workers too.
 *
 * @module
 */

/** Whether a `client_id` is the URL of a document. */
export function isDocumentUrl(id: string): boolean {
  return /^https?:\/\//.test(id);
}
