/**
 * Parses and validates the authorization requests of clients.
 *
 * @module
 * @see RFC 6749, section 4.1.1; RFC 7636; RFC 8707; RFC 9449, section 10; RFC 9700
 */
import type { OAuthClient } from "../clients/oauth-client.ts";
import { isRegistered } from "../clients/redirects.ts";

/** A valid authorization request. */
export interface AuthorizationRequest {
  readonly client: OAuthClient;
  readonly redirectUri: string;
  readonly state: string | undefined;
  /** The requested scopes. Undefined if the request does not name any. */
  readonly scopes: readonly string[] | undefined;
  readonly challenge: string;
  /** The thumbprint of the key that the token request must prove. */
  readonly jkt: string | undefined;
  readonly prompt: readonly string[];
}

/** Why a request is refused. */
export type RequestProblem =
  /** The error is returned to the redirect URI of the client. */
  | {
      readonly error: string;
      readonly description: string;
      readonly client: OAuthClient;
      readonly redirectUri: string;
      readonly state: string | undefined;
    }
  /** The redirect URI cannot be trusted, so a page shows the error to the user. */
  | { readonly page: string };

/**
 * The maximum number of characters of a query, both as the client has encoded it and as this server encodes it. A cookie stores
 * the query while the user signs in.
 * @limit characters The query of an authorization request. A longer one is refused with a page that states the reason.
 */
const QUERY_MAX = 2_400;
/** A SHA-256 hash in base64url. */
const HASH = /^[\w-]{43}$/;
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/**
 * Parses and validates a request.
 *
 * @param find Returns a client, or the reason why it cannot be used.
 * @param resource The only resource that tokens are issued for.
 */
export async function readAuthorizationRequest(
  { search, searchParams }: URL,
  find: (id: string) => Promise<OAuthClient | string>,
  resource: string,
): Promise<AuthorizationRequest | RequestProblem> {
  const length = Math.max(search.length, String(searchParams).length);
  if (length > QUERY_MAX) return { page: `The request is longer than ${QUERY_MAX} characters.` };
  const ids = searchParams.getAll("client_id");
  const [id = ""] = ids;
  if (ids.length !== 1 || id === "") return { page: "The request must have exactly one client_id." };
  const client = await find(id);
  if (typeof client === "string") return { page: client };
  const uris = searchParams.getAll("redirect_uri");
  const [redirectUri = ""] = uris;
  if (uris.length !== 1 || !isRegistered(redirectUri, client.redirectUris)) {
    return { page: "The redirect_uri of the request is not registered for the client." };
  }
  const parameters = new Map(searchParams);
  const state = searchParams.getAll("state").length === 1 ? parameters.get("state") : undefined;
  const refuse = (error: string, description: string): RequestProblem => {
    return { error, description, client, redirectUri, state };
  };
  const twice = [...parameters.keys()].find((name) => searchParams.getAll(name).length > 1);
  if (twice !== undefined) return refuse("invalid_request", "A parameter occurs more than once.");
  if (parameters.has("request")) return refuse("request_not_supported", "Request objects are not supported.");
  if (parameters.has("request_uri")) return refuse("request_uri_not_supported", "Request objects are not supported.");
  if (parameters.get("response_type") !== "code")
    return refuse("unsupported_response_type", "response_type must be code.");
  if ((parameters.get("response_mode") ?? "query") !== "query") {
    return refuse("invalid_request", "response_mode must be query.");
  }
  const challenge = parameters.get("code_challenge") ?? "";
  if (parameters.get("code_challenge_method") !== "S256" || !HASH.test(challenge)) {
    return refuse("invalid_request", "PKCE is required: code_challenge, with code_challenge_method S256.");
  }
  const asked = parameters.get("resource");
  if (asked !== undefined && !isSameUrl(asked, resource)) {
    return refuse(
      "invalid_target",
      "resource is not the URL of a server that this authorization server issues tokens for.",
    );
  }
  const scope = parameters.get("scope") || undefined;
  if (scope !== undefined && !SCOPE.test(scope)) return refuse("invalid_scope", "scope is malformed.");
  const jkt = parameters.get("dpop_jkt");
  if (jkt !== undefined && !HASH.test(jkt)) return refuse("invalid_request", "dpop_jkt is not a thumbprint.");
  const prompt = (parameters.get("prompt") ?? "").split(" ").filter((each) => each !== "");
  return { client, redirectUri, state, scopes: scope?.split(" "), challenge, jkt, prompt };
}

/** Returns whether two strings are the same URL. Some clients omit the slash after the host. */
export function isSameUrl(text: string, url: string): boolean {
  return URL.canParse(text) && new URL(text).href === new URL(url).href;
}
