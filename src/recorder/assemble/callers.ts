/**
 * Who sends a request: the session, the principal, the version. Only hashes are kept.
 *
 * @module
 */
import { decodeBase64Url } from "../../core/basics/bytes.ts";
import { isObject } from "../../core/protocol/jsonrpc.ts";
import type { Assembly } from "./assembly.ts";
import type { EntryFacts, LiveEntry } from "./live-entry.ts";
import { findHeader, toVersion, type WireRequest } from "./wire.ts";

/** The parameter with which a client of 2024-11-05 names its session. */
const SESSION_PARAMETER = /[?&]sessionId=([^&#]+)/;

/** Returns what the head of a request says about its sender, and a key for the session. */
export function identify(request: WireRequest, assembly: Assembly): Caller {
  const { headers, method, path, isHttp = true } = request;
  const { redactor, hash, links } = assembly;
  const id = findHeader(headers, "mcp-session-id") ?? SESSION_PARAMETER.exec(path)?.[1];
  const token = readToken(findHeader(headers, "authorization"));
  const version = findHeader(headers, "mcp-protocol-version");
  const session = id === undefined ? undefined : hash(id).slice(0, 8);
  const known = session === undefined ? undefined : links.sessions.get(session);
  const [plain = ""] = path.split("?", 1);
  const shown = plain === assembly.endpointPath ? plain : redactor.path(plain);
  const facts: EntryFacts = {
    ...(isHttp ? { http: { method: /^[A-Z]{1,20}$/.test(method) ? method : "?", path: shown } } : {}),
    ...request.known,
    ...known,
    ...(version === undefined ? {} : toVersion(version)),
    ...(session === undefined ? {} : { session }),
    ...(token === undefined ? {} : { principal: hash(principalOf(token)).slice(0, 8) }),
  };
  const host = findHeader(headers, "host") ?? "";
  const endpoint = ["http", "https"].flatMap((scheme) => [
    `${scheme}://${host}`,
    `${scheme}://${host}${assembly.endpointPath}`,
  ]);
  return {
    facts,
    sessionKey: session ?? "",
    endpoint,
    token: token === undefined ? undefined : describeToken(token, request, assembly),
  };
}

/** Who sends a request, and what is known for the findings. */
interface Caller {
  readonly facts: EntryFacts;
  readonly sessionKey: string;
  readonly endpoint: readonly string[];
  readonly token: LiveEntry["token"];
}

/** The maximum number of audiences that are looked at. */
const AUDIENCES_MAX = 10;

/** Returns what a JSON Web Token says about itself. */
function describeToken(token: string, { atMs }: WireRequest, { redactor }: Assembly): LiveEntry["token"] {
  const claims = readClaims(token);
  if (!claims) return undefined;
  const { aud, exp } = claims;
  const all = (Array.isArray(aud) ? aud.slice(0, AUDIENCES_MAX) : [aud]).filter((each) => typeof each === "string");
  const audiences = all.map((each) => (URL.canParse(each) ? redactor.url(each) : redactor.name(each)));
  return { audiences, isExpired: typeof exp === "number" && exp * 1_000 < atMs };
}

function readToken(authorization: string | undefined): string | undefined {
  return /^(?:Bearer|DPoP)\s+(\S+)/i.exec(authorization ?? "")?.[1];
}

/** Returns issuer and subject of a JSON Web Token, which is not verified. For other tokens, returns the token. */
function principalOf(token: string): string {
  const claims = readClaims(token);
  return claims && typeof claims.sub === "string" ? JSON.stringify([claims.iss, claims.sub]) : token;
}

/** Returns the claims of a JSON Web Token. They are not verified. */
export function readClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  const [, payload, signature] = token.split(".");
  const bytes = payload === undefined || signature === undefined ? undefined : decodeBase64Url(payload);
  if (!bytes) return undefined;
  try {
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(claims) ? claims : undefined;
  } catch {
    // Another kind of token that contains dots.
    return undefined;
  }
}
