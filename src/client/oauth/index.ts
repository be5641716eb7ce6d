/**
 * mcp-edge/client/oauth: signs the client in at servers that require a token, and renews the token, on every runtime.
 *
 * @module
 */

export type { ClientAuthentication, ClientKey, OAuthClient } from "./client-authentication.ts";
export { privateKeyJwt } from "./client-authentication.ts";
export { clientCredentials } from "./client-credentials.ts";
export type { DevicePrompt } from "./device-code.ts";
export { deviceCode } from "./device-code.ts";
export type { DpopKeysOptions } from "./dpop.ts";
export { dpopKeys } from "./dpop.ts";
export type { EnterpriseOptions } from "./enterprise-managed.ts";
export { enterpriseManaged } from "./enterprise-managed.ts";
export type { OAuthErrorFacts, OAuthReason } from "./errors.ts";
export { OAuthError } from "./errors.ts";
export type { DpopKey, DpopKeys, Grant, Granted, GrantRequest } from "./grant.ts";
export type { Net, ResolveFunction } from "./guard.ts";
export type { AssertionPurpose } from "./jwt-bearer.ts";
export { jwtBearer } from "./jwt-bearer.ts";
export type { JsonKey, WebKey, WebKeyPair } from "./keys.ts";
export type { FinishedSignIn, OAuth, OAuthOptions } from "./oauth.ts";
export { oauth } from "./oauth.ts";
export type { OAuthStoreStub } from "./object-store.ts";
export { objectStore } from "./object-store.ts";
export type { OpenRedirect, RedirectHandler } from "./redirect.ts";
export { hostedRedirect } from "./redirect.ts";
export type { ClientMetadata, ConfidentialClient, PublicClient, RegisteredClient } from "./registration.ts";
export type { RevocationOutcome } from "./revocation.ts";
export { revokeTokens } from "./revocation.ts";
export type { KeyValueStorage, OAuthStore } from "./store.ts";
export { memoryStore, storageStore } from "./store.ts";
export type { WebStorage } from "./web-store.ts";
export { webStore } from "./web-store.ts";
