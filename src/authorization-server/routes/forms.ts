/**
 * Reads the bodies of requests.
 *
 * @module
 */

/**
 * The maximum number of bytes of a form.
 * @limit bytes A request to `/token` or `/revoke`. A longer one is refused with 400.
 */
const FORM_MAX = 32 * 1024;

/** The parameters of a form, each of which occurs at most once. */
export type Form = ReadonlyMap<string, string>;

/** Returns the form of a request, or the reason why it is refused. */
export async function readForm(request: Request): Promise<Form | string> {
  const type = request.headers.get("Content-Type") ?? "";
  if (!/^application\/x-www-form-urlencoded(?: *;|$)/i.test(type)) {
    return "The body must be a form, with the Content-Type application/x-www-form-urlencoded.";
  }
  const text = await readText(request, FORM_MAX);
  if (text === undefined) return `The body has more than ${FORM_MAX} bytes, or is incomplete.`;
  const parameters = new URLSearchParams(text);
  const form = new Map(parameters);
  // RFC 6749, section 3.2: parameters must not occur more than once, and a parameter without a value counts as omitted.
  if (form.size !== parameters.size) return "A parameter occurs more than once.";
  for (const [name, value] of form) if (value === "") form.delete(name);
  return form;
}

/** Returns the text of a body, or undefined if it is longer than the limit or ends early. */
export async function readText(request: Request, bytesMax: number): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let [text, bytes] = ["", 0];
  try {
    for await (const chunk of request.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) return undefined;
      text += decoder.decode(chunk, { stream: true });
    }
  } catch {
    // The client has disconnected, so the response does not matter.
    return undefined;
  }
  return text + decoder.decode();
}
