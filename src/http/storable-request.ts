/**
 * Decides which parts of an HTTP request may be stored. A call that outlives its request (a task, or a call of a
 * session that runs again after its object was reset) passes them to the server factory and to the option `context`.
 * Only the parts that are listed here or named by the author are stored.
 *
 * @module
 */

import { quote } from "../core/basics/quote.ts";
import { KitError } from "../core/protocol/errors.ts";
import type { PlainRequest } from "./sessions.ts";

/** Additional parts of a request that may be stored. */
export interface KeepOptions {
  /**
   * The names of additional request headers that are stored with a call that may outlive its request. Headers that
   * contain credentials, such as `Authorization`, are refused.
   *
   * @default none; docs/guides/questions.md lists the headers that are always stored
   */
  readonly keepHeaders?: readonly string[];
  /**
   * The names of query parameters that are stored with such a call. Parameters that contain credentials are refused.
   *
   * @default none
   */
  readonly keepQuery?: readonly string[];
}

/** Returns the part of a request that may be stored. */
export type Storable = (request: PlainRequest | undefined) => PlainRequest | undefined;

/** Headers that describe the client and its request but contain no credentials. */
const HEADERS =
  /^(accept|accept-language|content-type|host|origin|user-agent|x-forwarded-(host|proto)|cf-(ray|region|region-code|metro-code|postal-code|timezone|ip(city|continent|country|latitude|longitude))|mcp-(protocol-version|method|name|param-.+))$/;

/** Names of headers and query parameters that may contain credentials. */
const CREDENTIAL =
  /authoriz|authentic|(^|[-_])auth([-_]|$)|cookie|token|secret|passw|pwd|jwt|assertion|credential|signature|session-?id|(^|[-_]|api)(key|sig)$/;

const HEADER_NAME = /^[-!#$%&'*+.^_`|~0-9a-z]+$/;

/**
 * Returns a function that extracts the storable part of a request. Without options it stores the scheme, host and path of
 * the URL, without the query, and these headers: `Accept`, `Accept-Language`, `Content-Type`, `Host`, `Origin`,
 * `User-Agent`, `X-Forwarded-Host`, `X-Forwarded-Proto`, `CF-Ray`, Cloudflare's location headers, and all `Mcp-*`
 * headers except the session id.
 *
 * @param part The function that received the options, for its error messages.
 * @throws {KitError} `options-invalid` naming an entry that is not a valid name or may be a credential.
 */
export function storing(part: string, { keepHeaders = [], keepQuery = [] }: KeepOptions): Storable {
  const headerNames = listNames(`${part}: keepHeaders`, keepHeaders).map((name) => name.toLowerCase());
  const badName = headerNames.find((name) => !HEADER_NAME.test(name));
  if (badName !== undefined) throw invalid(`${part}: keepHeaders`, badName, "is not the name of a header");
  const queryNames = listNames(`${part}: keepQuery`, keepQuery);
  return (request) => {
    if (!request) return undefined;
    const { origin, pathname, searchParams } = new URL(request.url);
    const query = new URLSearchParams([...searchParams].filter(([name]) => queryNames.includes(name)));
    return {
      url: origin + pathname + (query.size > 0 ? `?${query}` : ""),
      headers: request.headers.filter(([name]) => isStorable(name.toLowerCase(), headerNames)),
    };
  };
}

function isStorable(name: string, kept: readonly string[]): boolean {
  return HEADERS.test(name) || kept.includes(name);
}

function listNames(option: string, names: readonly string[]): readonly string[] {
  if (!Array.isArray(names)) throw new KitError("options-invalid", `${option} is not an array of names.`);
  for (const name of names) {
    if (typeof name !== "string" || name === "") throw invalid(option, String(name), "is not a name");
    if (CREDENTIAL.test(name.toLowerCase())) throw invalid(option, name, CREDENTIALS_STAY_OUT);
  }
  return names;
}

const CREDENTIALS_STAY_OUT =
  "may be a credential, which is never stored. Read it in authenticate(), and pass handlers what they need in the claims of the principal";

function invalid(option: string, name: string, problem: string): KitError {
  return new KitError("options-invalid", `${option}: ${quote(name)} ${problem}.`);
}
