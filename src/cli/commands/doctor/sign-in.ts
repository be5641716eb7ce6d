/**
 * The sign-in, from the 401 to the metadata of the authorization server. No one signs in: the doctor only checks that a host could.
 *
 * @module
 */
import { parseChallenges } from "../../../client/oauth/challenge.ts";
import { discoverIssuer } from "../../../client/oauth/discovery.ts";
import { OAuthError } from "../../../client/oauth/errors.ts";
import { isConfidential, type Net } from "../../../client/oauth/guard.ts";
import { resolveHost } from "../../../node/index.ts";
import { PROFILES } from "../../host-profiles/profiles.ts";
import { untilInterrupted } from "../../terminal/signals.ts";
import type { Line } from "./conversation.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { type Exchange, fetchMetadata, throwIfLimited } from "./exchange.ts";
import { checkResource, findMetadata } from "./resource.ts";

/** The metadata of an authorization server. */
type AuthorizationServer = Awaited<ReturnType<typeof discoverIssuer>>;

/** What is known about the sign-in of a server. */
export interface SignIn {
  /** The value that the audience of a token should have. */
  readonly resource: string;
  readonly issuers: readonly string[];
  /** The scopes that the server asks for in its challenge. */
  readonly required: readonly string[];
  /** The scopes that the authorization server lists; undefined if it lists none. It need not list all (RFC 8414, section 2). */
  readonly issued: ReadonlySet<string> | undefined;
}

const BASE = { step: "sign-in", severity: "breaks", fault: "server" } as const;

/** The difference between clocks from which tokens can be refused, in milliseconds. */
const CLOCK_MS = 60_000;

/** Checks the way from a refused request to the authorization server. */
export async function checkSignIn(line: Line, refused: Exchange, diagnosis: Diagnosis): Promise<SignIn> {
  const server = new URL(line.url);
  const net = netFor(line, server);
  checkClock(refused, diagnosis);
  const challenge = readBearer(refused);
  const announced = challenge?.resource_metadata;
  const { metadata, isWellKnown } = await findMetadata(net, announced, diagnosis);
  line.signal.throwIfAborted();
  if (!challenge) {
    diagnosis.add({
      ...BASE,
      id: "challenge-missing",
      severity: metadata && isWellKnown ? "degrades" : "breaks",
      what: "The 401 has no WWW-Authenticate header with the scheme Bearer, from which clients find out where to sign in.",
      fix: 'Send WWW-Authenticate: Bearer resource_metadata="https://.../.well-known/oauth-protected-resource/...".',
      ours: "Use bearer() of mcp-edge/worker/auth in the option use of edge(), which sends it.",
    });
  }
  const required = words(challenge?.scope);
  if (!metadata) return { resource: server.href, issuers: [], required, issued: undefined };
  checkResource(server, metadata.resource, diagnosis);
  const issuers = strings(metadata.authorization_servers);
  if (issuers.length === 0) {
    const what = "The protected resource metadata names no authorization server.";
    const fix = 'Write "authorization_servers" with the issuer of the tokens.';
    diagnosis.add({ ...BASE, id: "issuer-missing", what, fix });
  }
  const [issuer] = issuers;
  const authorization = issuer === undefined ? undefined : await readIssuer(net, issuer, diagnosis);
  const listed: unknown = authorization?.scopes_supported;
  const issued = Array.isArray(listed) ? new Set(strings(listed)) : undefined;
  line.signal.throwIfAborted();
  if (authorization) checkAuthorizationServer(authorization, diagnosis);
  checkScopes([...required, ...strings(metadata.scopes_supported)], issued, diagnosis);
  const resource = typeof metadata.resource === "string" ? metadata.resource : server.href;
  return { resource, issuers, required, issued };
}

/** Returns the settings of the requests for metadata, which the signal of the command ends. */
function netFor({ signal, timeoutMs }: Line, server: URL): Net {
  return {
    server,
    fetch: (url, init) => {
      const signals = init?.signal ? [signal, init.signal] : [signal];
      return fetchMetadata(url, { ...init, signal: AbortSignal.any(signals) }, signal);
    },
    timeoutMs,
    resolve: (name) => untilInterrupted(resolveHost(name), signal),
  };
}

/** Returns the parameters of the challenge for bearer tokens. */
export function readBearer({ headers }: Exchange): Readonly<Record<string, string>> | undefined {
  const challenges = parseChallenges(headers.get("www-authenticate"));
  return challenges.find(({ scheme }) => scheme === "bearer" || scheme === "dpop")?.parameters;
}

/** Compares the clock of the server with the clock of this machine. */
function checkClock({ headers }: Exchange, diagnosis: Diagnosis): void {
  const date = Date.parse(headers.get("date") ?? "");
  // A response from a cache is older.
  const ageMs = Number(headers.get("age") ?? 0) * 1_000;
  const differenceMs = date + ageMs - Date.now();
  if (!(Math.abs(differenceMs) > CLOCK_MS)) return;
  const seconds = Math.round(Math.abs(differenceMs) / 1_000);
  diagnosis.add({
    ...BASE,
    id: "clock-skew",
    severity: "degrades",
    what: `The clock of the server is ${seconds} s ${differenceMs > 0 ? "ahead of" : "behind"} the clock of this machine, so it can refuse valid tokens.`,
    fix: "Synchronize the clocks of the server, the authorization server and this machine.",
    ours: "Synchronize the clocks; bearer({ clockSkewMs }) tolerates at most 5 minutes.",
  });
}

async function readIssuer(net: Net, issuer: string, diagnosis: Diagnosis): Promise<AuthorizationServer | undefined> {
  try {
    return await discoverIssuer(net, issuer, false);
  } catch (error) {
    throwIfLimited(error);
    const isMismatch = error instanceof OAuthError && error.reason === "issuer-mismatch";
    const what = error instanceof Error ? error.message : String(error);
    const fix = isMismatch
      ? 'Write the same issuer, including a final slash, in "authorization_servers" and in the metadata of the authorization server.'
      : "Serve the metadata of the authorization server at its well-known URL over https, without a token.";
    const ours = isMismatch ? "Write the issuer of bearer() exactly as the authorization server writes it." : undefined;
    diagnosis.add({
      ...BASE,
      fault: "configuration",
      id: isMismatch ? "issuer-mismatch" : "issuer-unreachable",
      what,
      fix,
      ours,
    });
    return undefined;
  }
}

function checkAuthorizationServer(metadata: AuthorizationServer, diagnosis: Diagnosis): void {
  const { issuer, code_challenge_methods_supported: methods } = metadata;
  const base = { ...BASE, fault: "configuration" } as const;
  if (!strings(methods).includes("S256")) {
    const what = `${issuer} does not announce PKCE with S256, without which clients must refuse to sign in.`;
    const fix = 'Write "code_challenge_methods_supported": ["S256"] in its metadata.';
    diagnosis.add({ ...base, id: "pkce-missing", what, fix });
  }
  const endpoints = ["authorization_endpoint", "token_endpoint"] as const;
  const bad = endpoints.filter((name) => !isUsable(metadata[name]));
  if (bad.length > 0) {
    const what = `${bad.join(" and ")} of ${issuer} ${bad.length > 1 ? "are" : "is"} missing or not https:.`;
    diagnosis.add({ ...base, id: "endpoint-invalid", what, fix: "Write absolute https: URLs in its metadata." });
  }
  const byDocument = metadata.client_id_metadata_document_supported === true;
  if (metadata.registration_endpoint !== undefined || byDocument) return;
  const hosts = PROFILES.filter(({ registration }) => registration).map(({ name }) => name);
  diagnosis.add({
    ...base,
    id: "registration-missing",
    severity: "degrades",
    hosts,
    what: `${issuer} supports neither client ID metadata documents nor dynamic registration, so users must enter a client id.`,
    fix: "Support one of them, or give users a client id that they enter in the host.",
  });
}

function isUsable(address: unknown): boolean {
  return typeof address === "string" && URL.canParse(address) && isConfidential(new URL(address));
}

/** The maximum number of scopes that a message names. */
const NAMED_MAX = 5;

/** Returns scopes for a message. */
export function listScopes(scopes: readonly string[]): string {
  const more = scopes.length - NAMED_MAX;
  return scopes.slice(0, NAMED_MAX).join(" ") + (more > 0 ? ` and ${more} more` : "");
}

/** Adds scopes that are asked for, but that the authorization server does not list. It need not list all of its scopes. */
function checkScopes(asked: readonly string[], issued: ReadonlySet<string> | undefined, diagnosis: Diagnosis): void {
  if (issued === undefined) return;
  const missing = [...new Set(asked)].filter((scope) => !issued.has(scope));
  if (missing.length === 0) return;
  diagnosis.add({
    ...BASE,
    severity: "note",
    fault: "configuration",
    id: "scope-unknown",
    what: `The server asks for scopes that the authorization server does not list, which it need not do: ${listScopes(missing)}. If it does not issue them, the sign-in may fail with invalid_scope.`,
    fix: "Check that the authorization server issues these scopes. If it does not, create them, or do not ask for them.",
    ours: "Check that the authorization server issues these scopes, or remove them from scopes and needs of bearer().",
  });
}

/** Returns the words of a list that is separated by spaces. */
export function words(text: unknown): string[] {
  return typeof text === "string" ? text.split(" ").filter((each) => each !== "") : [];
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
