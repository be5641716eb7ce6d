/** Fetches JSON from an API. */
import type { SafeFetch } from "mcp-edge/safe";
import type * as z from "zod";

/** How to access an API. */
export interface Api {
  /** The name of the service, for log messages. */
  readonly name: string;
  readonly fetch: SafeFetch;
  readonly headers: Readonly<Record<string, string>>;
}

export interface JsonResponse<T> {
  /** The HTTP status; 0 if there was no response. */
  readonly status: number;
  /** The data; undefined if the request failed or the response did not have the expected shape. */
  readonly data?: T;
}

/** Fetches JSON and validates its shape. Never throws, so that a tool can describe in its result what is missing. */
export async function getJson<T>(
  { name, fetch, headers }: Api,
  url: string,
  shape: z.ZodType<T>,
  signal: AbortSignal,
): Promise<JsonResponse<T>> {
  let status = 0;
  try {
    const response = await fetch(url, { headers, signal });
    status = response.status;
    if (response.ok) return { status, data: shape.parse(await response.json()) };
    await response.body?.cancel();
    console.error(`weather: ${name} returned HTTP status ${status}`);
  } catch (error) {
    console.error(`weather: ${name} could not be read: ${error instanceof Error ? error.message : error}`);
  }
  return { status };
}
