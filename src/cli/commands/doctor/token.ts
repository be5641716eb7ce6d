/**
 * Checks the token that the user has passed or stored: its claims, and the response of the server to it.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../../core/protocol/jsonrpc.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { reasonOf } from "./endpoint.ts";
import { describeExchange, type Exchange, withoutPeriod } from "./exchange.ts";
import { listScopes, readBearer, type SignIn, words } from "./sign-in.ts";

const BASE = { step: "token", severity: "breaks", fault: "configuration" } as const;

/** How far the times in a token may differ from the clock of this machine, in seconds. */
const TOLERANCE_S = 60;

/** Returns the claims of a JWT, which are not verified; undefined for any other token. */
export function readClaims(token: string): JsonObject | undefined {
  const [, payload, signature] = token.split(".");
  if (payload === undefined || signature === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
    return isObject(claims) ? claims : undefined;
  } catch {
    // The token is opaque.
    return undefined;
  }
}

/** Adds the reasons why the server refuses a token with 401. */
export function explainRefused(token: string, refused: Exchange, signIn: SignIn, diagnosis: Diagnosis): void {
  const claims = readClaims(token) ?? {};
  const nowS = Date.now() / 1_000;
  const before = diagnosis.findings.length;
  const { exp, nbf, iat, iss } = claims;
  if (typeof exp === "number" && exp < nowS) {
    const what = `The token expired ${Math.round(nowS - exp)} s ago.`;
    diagnosis.add({
      ...BASE,
      id: "token-expired",
      what,
      fix: "Sign in again, or check that the host refreshes its token.",
    });
  }
  const early = [nbf, iat].find((each) => typeof each === "number" && each > nowS + TOLERANCE_S) as number | undefined;
  if (early !== undefined) {
    const what = `The token becomes valid only in ${Math.round(early - nowS)} s, so the clock of its issuer is ahead.`;
    diagnosis.add({ ...BASE, id: "token-early", what, fix: "Synchronize the clock of the authorization server." });
  }
  if (typeof iss === "string" && signIn.issuers.length > 0 && !signIn.issuers.includes(iss)) {
    diagnosis.add({
      ...BASE,
      id: "token-issuer",
      what: `The token was issued by ${iss}, and the server names ${signIn.issuers.join(", ")}.`,
      fix: "Write the issuer exactly as it is in the tokens, including a final slash.",
      ours: `Write bearer({ issuer: ${JSON.stringify(iss)} }) if this issuer is yours.`,
    });
  }
  checkAudience(claims, signIn, diagnosis);
  if (diagnosis.findings.length > before) return;
  const described = withoutPeriod(readBearer(refused)?.error_description ?? describeExchange(refused));
  if (reasonOf(refused) === "unauthorized" || /\bmissing authorization\b/i.test(described)) {
    diagnosis.add({
      ...BASE,
      fault: "network",
      id: "token-removed",
      what: `The server responds as if the request had no token: ${described}. A proxy may remove the header Authorization.`,
      fix: "Let the proxy forward the header Authorization.",
    });
    return;
  }
  diagnosis.add({
    ...BASE,
    fault: "server",
    id: "token-refused",
    what: `The server refuses the token, although nothing in it explains why: ${described}.`,
    fix: "Look at the log of the server: the signature, the keys of the issuer, or a revoked token.",
  });
}

function checkAudience({ aud }: JsonObject, { resource }: SignIn, diagnosis: Diagnosis): void {
  if (aud === undefined) return;
  const audiences = [aud].flat().map(String);
  if (audiences.includes(resource)) return;
  const isSlash = audiences.some((each) => each.replace(/\/$/, "") === resource.replace(/\/$/, ""));
  diagnosis.add({
    ...BASE,
    id: "token-audience",
    what: `The token is for ${audiences.join(", ")}, and the server is ${resource}${isSlash ? "; they differ only in the final slash" : ""}.`,
    fix: "Let the authorization server use the parameter resource as the audience, or let the server accept this audience.",
    ours: `Write bearer({ audience: ${JSON.stringify(audiences[0])} }) if the authorization server ignores the parameter resource.`,
  });
}

/** Adds why the server refuses a token with 403. */
export function explainForbidden(token: string, refused: Exchange, signIn: SignIn, diagnosis: Diagnosis): void {
  const required = words(readBearer(refused)?.scope);
  const claims = readClaims(token);
  const granted = words(claims?.scope ?? (Array.isArray(claims?.scp) ? claims.scp.join(" ") : claims?.scp));
  const owned = new Set(granted);
  if (required.length > 0 && claims && required.every((scope) => owned.has(scope))) {
    diagnosis.add({
      ...BASE,
      fault: "server",
      id: "scope-never-enough",
      what: `The server asks for ${listScopes(required)}, which the token has, and refuses it: signing in again cannot help.`,
      fix: "Name all scopes that the operation needs in the challenge.",
    });
    return;
  }
  const { issued } = signIn;
  const unknown = issued ? required.filter((scope) => !issued.has(scope)) : [];
  diagnosis.add({
    ...BASE,
    id: "token-scope",
    what: `The token lacks scopes. Required: ${listScopes(required) || "unknown, because the challenge has no scope"}${claims ? `; granted: ${listScopes(granted) || "none"}` : ""}.`,
    fix:
      unknown.length > 0
        ? `The authorization server does not list ${listScopes(unknown)}: check that it issues these scopes.`
        : "Name the scopes in scopes_supported of the protected resource metadata and in the challenge, so that hosts ask for them.",
  });
}

/** Adds a finding if the server accepts a token that has expired. */
export function checkAccepted(token: string, diagnosis: Diagnosis): void {
  const exp = readClaims(token)?.exp;
  const nowS = Date.now() / 1_000;
  // Five minutes are the largest tolerance for clocks that is usual.
  if (typeof exp !== "number" || exp > nowS - 300) return;
  diagnosis.add({
    ...BASE,
    severity: "degrades",
    fault: "server",
    id: "token-expiry-ignored",
    what: `The server accepts a token that expired ${Math.round(nowS - exp)} s ago.`,
    fix: "Verify exp, and the signature, of every token.",
  });
}

/** Adds that a token was accepted by the handshake and refused by a later request. */
export function addLate(method: string, refused: Exchange, diagnosis: Diagnosis): void {
  diagnosis.add({
    ...BASE,
    fault: "server",
    id: "token-late",
    what: `initialize succeeds, but ${method} is refused: ${describeExchange(refused)}. The host shows a connected server without tools.`,
    fix: "Apply the same rules to all requests, and check scopes with 403 and a challenge that names them.",
  });
}
