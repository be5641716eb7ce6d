/** Returns the media type of a response, without parameters. */
export function readContentType(response: Response): string {
  return response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
}

/** Whether a response is a success with a stream of events. */
export function isStream(response: Response): boolean {
  return response.ok && readContentType(response) === "text/event-stream";
}

/** Returns the messages of a body: one message, or a batch (2025-03-26). Empty if the body is not JSON. */
export function parseBody(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    return [];
  }
}

/** Returns the target of a redirect; undefined if the client must not follow it. */
export function findRedirectTarget({ status, headers }: Response, url: string): string | undefined {
  const location = headers.get("location");
  if (location === null || (status !== 307 && status !== 308)) return undefined;
  const target = URL.canParse(location, url) ? new URL(location, url) : undefined;
  // `fetch` rejects a URL with a user name.
  return target?.origin === new URL(url).origin && !target.username ? target.href : undefined;
}
