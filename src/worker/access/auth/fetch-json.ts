/**
 * Requests to the authorization server.
 *
 * @module
 */

import { quote } from "../../../core/basics/quote.ts";
import { KitError } from "../../../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { isLoopback } from "../../../http/origin.ts";

/**
 * How long to wait for a response, in milliseconds.
 * @limit ms The time that an authorization server has to respond. After that, requests get 503.
 */
const ANSWER_MS = 5_000;
/**
 * The maximum length of a response. The largest key sets have about 20 KB.
 * @limit characters A response of an authorization server. If it is longer, requests get 503.
 */
const ANSWER_MAX = 256 * 1024;

/** Whether a URL may be requested: it uses HTTPS, or HTTP with a loopback host. */
export function isSafeUrl(url: unknown): url is string {
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

/** @throws {KitError} `options-invalid` unless the URL may be requested. */
export function checkUrl(what: string, url: unknown): void {
  if (isSafeUrl(url)) return;
  const text = `${what} is ${typeof url === "string" ? quote(url) : typeof url}; write a URL that begins with "https://". Only a loopback host may have "http://".`;
  throw new KitError("options-invalid", text);
}

/**
 * Requests a JSON object. Redirects are not followed, because they could lead to a server that the author did not choose.
 *
 * @throws {Error} if the response is not a JSON object. The message contains the URL without its query, but no contents of
 * the request or the response.
 */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<JsonObject> {
  // Taken from the parsed URL: the string may come from the metadata of an issuer, and line breaks in it could forge log
  // lines.
  const { origin, pathname } = new URL(url);
  const where = origin + pathname;
  const signal = AbortSignal.timeout(ANSWER_MS);
  const headers = { Accept: "application/json", ...(init.headers as Record<string, string> | undefined) };
  const response = await fetch(url, { ...init, headers, redirect: "manual", signal });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`${where} answered with the status ${response.status}.`);
  }
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > ANSWER_MAX) throw new Error(`${where} answered with more than ${ANSWER_MAX} characters.`);
  }
  const value = parseObject(text + decoder.decode());
  if (!value) throw new Error(`${where} did not answer with a JSON object.`);
  return value;
}

/** Returns the JSON object in a string, or undefined if the string is anything else. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
