/** Returns the media type of a response, without parameters. */
export function readContentType(response: Response): string {
  return response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
}

/** Whether a response is a success with a stream of events. */
export function isStream(response: Response): boolean {
  return response.ok && readContentType(response) === "text/event-stream";
}

/** Returns the messages of a body: one, or those of a batch (2025-03-26). */
export function parseBody(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [value];
  } catch {
    // Not JSON, so it holds no message.
    return [];
  }
}

/** Returns the address that a redirect leads to, if it is to be followed. */
export function toTarget({ status, headers }: Response, url: string): string | undefined {
  const location = headers.get("location");
  if (location === null || (status !== 307 && status !== 308)) return undefined;
  const target = URL.canParse(location, url) ? new URL(location, url) : undefined;
  // A request cannot have an address with a user name.
  return target?.origin === new URL(url).origin && !target.username ? target.href : undefined;
}
