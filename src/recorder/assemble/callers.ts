/**
 * Identifies the sender of a request: session, principal and version. Session ids and tokens are only stored as hashes.
 *
 * @module
 */
import { decodeBase64Url } from "../../core/basics/bytes.ts";
import { isObject } from "../../core/protocol/jsonrpc.ts";
import type { Assembly } from "./assembly.ts";
import type { EntryFacts, LiveEntry } from "./live-entry.ts";
import { findHeader, toVersion, type WireRequest } from "./wire.ts";

/** The query parameter in which a client of 2024-11-05 sends its session id. */
const SESSION_PARAMETER = /[?&]sessionId=([^&#]+)/;

/** Reads the sender of a request from its method, path and headers. */
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

/** The sender of a request. `endpoint` and `token` are only used by findings. */
interface Caller {
  readonly facts: EntryFacts;
  readonly sessionKey: string;
  readonly endpoint: readonly string[];
  readonly token: LiveEntry["token"];
}

/** The maximum number of audiences that are examined. */
const AUDIENCES_MAX = 10;

/** Returns the audiences and the expiry of a JSON Web Token. Undefined for other tokens. */
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

/** Returns the issuer and subject of a JSON Web Token, without verifying it. Returns other tokens unchanged. */
function principalOf(token: string): string {
  const claims = readClaims(token);
  return claims && typeof claims.sub === "string" ? JSON.stringify([claims.iss, claims.sub]) : token;
}

/** Returns the claims of a JSON Web Token, without verifying it. */
export function readClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  const [, payload, signature] = token.split(".");
  const bytes = payload === undefined || signature === undefined ? undefined : decodeBase64Url(payload);
  if (!bytes) return undefined;
  try {
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(claims) ? claims : undefined;
  } catch {
    // An opaque token that contains dots.
    return undefined;
  }
}
