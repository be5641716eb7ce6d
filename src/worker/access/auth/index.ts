/**
 * mcp-edge/worker/auth: verifies access tokens, so that the endpoint is an OAuth protected resource.
 *
 * @module
 */
export type { AuthPlugin } from "../../plugin.ts";
export { type AccessOptions, cloudflareAccess } from "./access.ts";
export { bearer } from "./bearer.ts";
export type { BearerOptions } from "./bearer-options.ts";
export type { IntrospectionOptions } from "./introspection.ts";
export type { JsonWebKeySet } from "./issuer-keys.ts";
export type { Jwk, TokenAlgorithm } from "./jwt.ts";
export type { ScopeNeeds, ScopesByName } from "./needs.ts";
export { type OAuthProviderOptions, workersOAuthProvider } from "./oauth-provider.ts";
export type { TokenRequest, VerifiedToken, VerifyToken } from "./opaque.ts";
