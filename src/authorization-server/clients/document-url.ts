/**
 * Recognises clients with a metadata document. This is a separate file because options are also checked outside of Workers.
 *
 * @module
 */

/** Returns whether a `client_id` is the URL of a metadata document. */
export function isDocumentUrl(id: string): boolean {
  return /^https?:\/\//.test(id);
}
