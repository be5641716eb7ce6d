/**
 * Chooses the client id for an authorization server.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization/client-registration
 */
import type { AuthorizationServer } from "oauth4webapi";
import { KitError } from "../../core/protocol/errors.ts";
import type { ClientAuthentication, OAuthClient } from "./client-authentication.ts";
import { OAuthError } from "./errors.ts";
import { findObject, type Net, request } from "./guard.ts";
import type { OAuthStore } from "./store.ts";
import { readStored } from "./tokens.ts";

/** A client that was registered manually, without credentials. @see RFC 6749, section 2.1 */
export interface PublicClient {
  /** The client id. */
  readonly id: string;
  /**
   * The issuer of the authorization server where the client is registered.
   *
   * @default the issuer of the first authorization server with which the client is used. It is stored, and the client is then not used
   *   with other authorization servers.
   */
  readonly issuer?: string | undefined;
  /** A client with a secret is a {@link ConfidentialClient}. */
  readonly secret?: undefined;
  /** A client that authenticates is a {@link ConfidentialClient}. */
  readonly authentication?: undefined;
}

/** A client that was registered manually, with a secret or a key. @see RFC 6749, section 2.1 */
export interface ConfidentialClient extends OAuthClient {
  /**
   * The issuer of the authorization server where the client is registered. The secret, and JWTs signed with the key, are never sent to
   * another authorization server that an MCP server may name.
   */
  readonly issuer: string;
  /** How the client authenticates without a secret, such as `privateKeyJwt(...)`. */
  readonly authentication?: ClientAuthentication | undefined;
}

/** A client that was registered at an authorization server manually. */
export type RegisteredClient = PublicClient | ConfidentialClient;

/** The metadata with which a client registers itself at an authorization server. @see RFC 7591, section 2 */
export interface ClientMetadata {
  /** The name that is shown to users when they are asked for consent. */
  readonly client_name?: string | undefined;
  /** The URL of the web page of the client. */
  readonly client_uri?: string | undefined;
  /** The URL of the logo of the client. */
  readonly logo_uri?: string | undefined;
  /** Other members, such as `contacts` or `software_id`. */
  readonly [member: string]: unknown;
}

/** The options that determine the client id. */
export interface ClientChoice {
  readonly client?: RegisteredClient | undefined;
  readonly clientMetadataUrl?: string | undefined;
  readonly clientMetadata?: ClientMetadata | false | undefined;
}

/** The authentication methods for a registration, the preferred one first. */
const METHODS = ["none", "client_secret_basic", "client_secret_post"] as const;

/** The input for the choice of the client id. */
export interface ClientRequest {
  readonly net: Net;
  readonly store: OAuthStore;
  readonly server: AuthorizationServer;
  readonly options: ClientChoice;
  /** The human-readable name of the client. */
  readonly name: string;
  /** The redirect URL. Undefined if the grant has no redirect. */
  readonly redirectUrl: string | undefined;
  /** The grant type to register for, if the grant has no redirect. */
  readonly grantType?: string | undefined;
}

/** A stored registration. */
interface Registration extends OAuthClient {
  /** The registered redirect URL or, if there is none, the grant type. */
  readonly purpose: string;
  readonly expiresAtMs?: number | undefined;
}

/**
 * Returns the client for an authorization server, in this order of preference: the client that was registered there manually; the
 * client id metadata document; a public client without an issuer; a dynamic registration.
 *
 * @throws {OAuthError} `client-missing`, `registration-failed`, `issuer-mismatch`.
 */
export async function chooseClient(clientRequest: ClientRequest): Promise<OAuthClient> {
  const { server, options, redirectUrl, grantType } = clientRequest;
  const { client, clientMetadataUrl, clientMetadata } = options;
  if (client?.issuer === server.issuer) return { id: client.id };
  if (clientMetadataUrl !== undefined && server.client_id_metadata_document_supported === true) {
    return { id: clientMetadataUrl };
  }
  if (client && client.issuer === undefined) return claim(clientRequest, client);
  const purpose = redirectUrl ?? grantType;
  if (purpose !== undefined && clientMetadata !== false && server.registration_endpoint !== undefined) {
    return (await findRegistered(clientRequest, purpose)) ?? register(clientRequest, purpose);
  }
  const own = client ? `, and "client" belongs to ${client.issuer}` : "";
  const text = `${server.issuer} does not register this client${own}. Register a client there, and pass it as "client".`;
  throw new OAuthError("client-missing", text);
}

/**
 * Binds a public client without an issuer to the first authorization server that it is used with, for all MCP servers that
 * share the store. A client id is valid at one authorization server, and must not be used with another.
 *
 * @see MCP 2026-07-28, basic/authorization/client-registration, "Authorization Server Binding"
 */
async function claim({ store, server, net }: ClientRequest, client: RegisteredClient): Promise<OAuthClient> {
  const key = JSON.stringify(["issuer", client.id]);
  // The lock prevents two authorization servers from claiming the client at the same time.
  const owner = await store.exclusive(key, async () => {
    const issuer = (await store.get(key)) ?? server.issuer;
    await store.set(key, issuer);
    return issuer;
  });
  if (owner === server.issuer) return { id: client.id };
  const problem = `The client "${client.id}" belongs to ${owner}, but ${net.server.host} names ${server.issuer}.`;
  throw new OAuthError("issuer-mismatch", `${problem} Pass the issuer where it is registered as client.issuer.`);
}

/** Returns the store key of a registration, without the port of a redirect URL on this machine, which can change. */
function toKey(server: AuthorizationServer, purpose: string): string {
  return JSON.stringify(["client", server.issuer, purpose.replace(/^(http:\/\/[^/]+?):\d+/, "$1")]);
}

async function load({ store, server }: Pick<ClientRequest, "store" | "server">, purpose: string) {
  const found = readStored<Registration>(await store.get(toKey(server, purpose)));
  return found && (found.expiresAtMs ?? Number.POSITIVE_INFINITY) > Date.now() ? found : undefined;
}

/** Returns the redirect URL of an earlier registration. Its port can differ. */
export async function findRegisteredRedirect(
  place: Pick<ClientRequest, "store" | "server">,
  redirectUrl: string,
): Promise<string | undefined> {
  return (await load(place, redirectUrl))?.purpose;
}

async function findRegistered(clientRequest: ClientRequest, purpose: string): Promise<OAuthClient | undefined> {
  const found = await load(clientRequest, purpose);
  return found?.purpose === purpose ? found : undefined;
}

/** Returns the metadata for a registration. @param purpose The redirect URL or, if there is none, the grant type. */
function createMetadata({ server, options, name, redirectUrl }: ClientRequest, purpose: string): ClientMetadata {
  const supported = server.token_endpoint_auth_methods_supported ?? ["none"];
  const isNative = !/^https:/.test(purpose) || new URL(purpose).hostname === "localhost";
  const uses =
    redirectUrl === undefined
      ? { grant_types: [purpose, "refresh_token"], response_types: [] }
      : { redirect_uris: [purpose], grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] };
  return {
    client_name: name,
    ...uses,
    token_endpoint_auth_method: METHODS.find((each) => supported.includes(each)) ?? "none",
    application_type: isNative ? "native" : "web",
    ...(options.clientMetadata || {}),
  };
}

/** Registers the client. Tolerates servers that omit required members of the response. @see RFC 7591, section 3 */
async function register(clientRequest: ClientRequest, purpose: string): Promise<OAuthClient> {
  const { net, store, server } = clientRequest;
  const response = await request(net, "The registration endpoint", server.registration_endpoint, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(createMetadata(clientRequest, purpose)),
  });
  const found = (await findObject(response)) ?? {};
  const { client_id: id, client_secret: secret, client_secret_expires_at: expiresAt } = found;
  if (!response.ok || typeof id !== "string" || id === "") throw toRefusal(server.issuer, response.status, found);
  const { token_endpoint_auth_method: given } = found;
  const registration: Registration = {
    id,
    secret: typeof secret === "string" && secret !== "" ? secret : undefined,
    method: METHODS.find((each) => each === given),
    purpose,
    // Zero means that the secret does not expire. Some servers omit the member.
    expiresAtMs: typeof expiresAt === "number" && expiresAt > 0 ? expiresAt * 1_000 : undefined,
  };
  await store.set(toKey(server, purpose), JSON.stringify(registration));
  return registration;
}

function toRefusal(
  issuer: string,
  status: number,
  { error, error_description: detail }: Record<string, unknown>,
): OAuthError {
  const problem = [status, error, detail].filter((each) => typeof each === "number" || typeof each === "string");
  const text = `${issuer} did not register the client: ${problem.join(", ").slice(0, 300)}.`;
  return new OAuthError("registration-failed", text, { status, error: typeof error === "string" ? error : undefined });
}

/** Removes the registration for a redirect URL, because the authorization server no longer knows the client. */
export async function removeRegistration(
  { store, server }: Pick<ClientRequest, "store" | "server">,
  redirectUrl: string,
): Promise<void> {
  await store.set(toKey(server, redirectUrl), undefined);
}

/** Checks the option `client`. @throws {KitError} `options-invalid` if a client with credentials has no issuer. */
export function checkClient({ id, issuer, secret, authentication }: RegisteredClient): void {
  if (issuer || (secret === undefined && authentication === undefined)) return;
  const what = secret === undefined ? "authentication" : "a secret";
  const rule = `Write issuer: "https://...", the issuer of the authorization server where ${JSON.stringify(id)} is registered`;
  const text = `oauth(): client has ${what} but no issuer. ${rule}; otherwise any MCP server could request its credentials.`;
  throw new KitError("options-invalid", text);
}

/** Checks the option `clientMetadataUrl`. @throws {KitError} `options-invalid` unless it begins with https:// and has a path. */
export function checkMetadataUrl(address: string): void {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url && url.protocol === "https:" && url.pathname !== "/" && url.hash === "") return;
  const text = `oauth(): clientMetadataUrl is ${JSON.stringify(address)}; it must begin with https:// and have a path.`;
  throw new KitError("options-invalid", text);
}
