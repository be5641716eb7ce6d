/**
 * Finds the authorization server of an MCP server, and its endpoints.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization/authorization-server-discovery
 */
import type { AuthorizationServer } from "oauth4webapi";
import { OAuthError } from "./errors.ts";
import { findObject, type Net, request } from "./guard.ts";

/** The metadata of an MCP server about its authorization. */
export interface ProtectedServer {
  /** The value of the `resource` parameter, exactly as the server spells it. */
  readonly resource: string;
  /** The issuers of its authorization servers. At least one. */
  readonly issuers: readonly string[];
  /** The supported scopes, separated by spaces. */
  readonly scopes: string | undefined;
  /** Whether the server names no issuer, like servers of MCP 2025-03-26. It is then its own authorization server. */
  readonly isSilent: boolean;
}

type Json = Readonly<Record<string, unknown>>;

const RESOURCE = "/.well-known/oauth-protected-resource";
const OAUTH = "/.well-known/oauth-authorization-server";
const OPENID = "/.well-known/openid-configuration";

/**
 * Reads the metadata of a protected MCP server.
 *
 * @param announced The URL of the metadata, from a challenge.
 * @throws {OAuthError} `resource-mismatch` if the metadata describes another server; `discovery-failed`, `unreachable`,
 *   `address-refused`.
 */
export async function discoverResource(net: Net, announced: string | undefined): Promise<ProtectedServer> {
  const { origin, pathname, search } = net.server;
  const path = pathname === "/" ? "" : pathname;
  const places = [`${origin}${RESOURCE}${path}${search}`, `${origin}${RESOURCE}`];
  const found = await fetchFirst(net, "The metadata of the MCP server", announced ? [announced, ...places] : places);
  if (!found) return { resource: `${origin}${path}${search}`, issuers: [origin], scopes: undefined, isSilent: true };
  const { resource, authorization_servers: servers, scopes_supported: scopes } = found;
  if (typeof resource !== "string" || !covers(resource, net.server)) {
    const text = `The metadata describes ${JSON.stringify(resource)}, but ${net.server.href} was called.`;
    throw new OAuthError("resource-mismatch", text);
  }
  const issuers = strings(servers);
  return {
    resource,
    issuers: issuers.length > 0 ? issuers : [origin],
    scopes: strings(scopes).join(" ") || undefined,
    isSilent: issuers.length === 0,
  };
}

/**
 * Reads the metadata of an authorization server.
 *
 * @param isSilent Whether the MCP server names no issuer. If true, default endpoints are used if there is no metadata.
 * @throws {OAuthError} `issuer-mismatch` if the metadata names another issuer; `discovery-failed`, `unreachable`,
 *   `address-refused`.
 */
export async function discoverIssuer(net: Net, issuer: string, isSilent: boolean): Promise<AuthorizationServer> {
  if (!URL.canParse(issuer))
    throw new OAuthError("discovery-failed", `The issuer ${JSON.stringify(issuer)} is not a URL.`);
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const inserted = [`${origin}${OAUTH}${path}`, `${origin}${OPENID}${path}`];
  const places = path ? [...inserted, `${origin}${path}${OPENID}`] : inserted;
  const found = await fetchFirst(net, "The metadata of the authorization server", places);
  if (found) {
    // Compared as strings, because two issuers can differ only in a slash.
    const isExpected = found.issuer === issuer || (isSilent && found.issuer === `${issuer}/`);
    if (isExpected) return found as unknown as AuthorizationServer;
    const text = `The metadata of ${issuer} names another issuer: ${JSON.stringify(found.issuer)}.`;
    throw new OAuthError("issuer-mismatch", text);
  }
  if (!isSilent) {
    throw new OAuthError(
      "discovery-failed",
      `The authorization server ${issuer} has no metadata at its well-known URLs.`,
    );
  }
  // MCP 2025-03-26, basic/authorization, "Fallbacks for Servers without Metadata Discovery".
  return {
    issuer,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ["S256"],
  };
}

/** Returns the first JSON object at one of the URLs. If there is none, the first failure is thrown. */
async function fetchFirst(net: Net, what: string, places: readonly string[]): Promise<Json | undefined> {
  let failure: unknown;
  for (const place of places) {
    try {
      const response = await request(net, what, place);
      const found = response.ok ? await findObject(response) : undefined;
      if (found) return found;
      if (response.status >= 500) {
        failure ??= new OAuthError("unreachable", `${what} could not be read: ${place} has status ${response.status}.`);
      }
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return undefined;
}

/** Whether a resource identifier covers a server: it has the same origin, and the same path or a parent of it. */
function covers(resource: string, server: URL): boolean {
  if (!URL.canParse(resource)) return false;
  const { origin, pathname, search, hash } = new URL(resource);
  const above = pathname.replace(/\/$/, "");
  const isAbove = server.pathname === pathname || `${server.pathname}/`.startsWith(`${above}/`);
  return origin === server.origin && isAbove && (search === "" || search === server.search) && hash === "";
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
