/** Reads JSON from an API. */
import type { SafeFetch } from "mcp-edge/safe";
import type * as z from "zod";

/** How an API is reached. */
export interface Api {
  /** The name of the service, for the log. */
  readonly name: string;
  readonly fetch: SafeFetch;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Answer<T> {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** Undefined unless the request succeeded and the answer had the expected shape. */
  readonly data?: T;
}

/** Fetches JSON and checks its shape. Never throws, so that a tool can say in its answer what is missing. */
export async function getJson<T>(
  { name, fetch, headers }: Api,
  url: string,
  shape: z.ZodType<T>,
  signal: AbortSignal,
): Promise<Answer<T>> {
  let status = 0;
  try {
    const response = await fetch(url, { headers, signal });
    status = response.status;
    if (response.ok) return { status, data: shape.parse(await response.json()) };
    await response.body?.cancel();
    console.error(`weather: ${name} answered ${status}`);
  } catch (error) {
    console.error(`weather: ${name} could not be read: ${error instanceof Error ? error.message : error}`);
  }
  return { status };
}
