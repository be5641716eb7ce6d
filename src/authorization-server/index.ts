/**
 * mcp-edge/authorization-server: an authorization server in the Worker of the endpoint. Users sign in with an identity provider,
 * clients receive tokens, and parallel refreshes do not sign anyone out.
 *
 * @module
 */
export type { Brand } from "../look/brand.ts";
export type { AuthPlugin } from "../worker/plugin.ts";
export type { OfferedScope, Organisation, UserRule, Users } from "./admission.ts";
export { authorizationServer } from "./authorization-server.ts";
export type { KnownClient } from "./clients/clients.ts";
export type { AssertionIssuer } from "./enterprise/assertion.ts";
export { type EnterpriseOptions, enterprise } from "./enterprise/enterprise.ts";
export type { FindIssuer, TrustedIssuer } from "./enterprise/issuers.ts";
export { type GithubOptions, github } from "./identity/github.ts";
export { type OidcOptions, oidc } from "./identity/oidc.ts";
export { type LoginAttempts, type OwnLogin, type OwnLoginOptions, ownLogin } from "./identity/own-login.ts";
export type {
  IdentityProvider,
  IdentityReason,
  KeptSignIn,
  SignedInUser,
  SignInRequest,
  StartedSignIn,
  UpstreamSignIn,
  UpstreamTokens,
} from "./identity/provider.ts";
export { IdentityError } from "./identity/provider.ts";
export type { AuthorizationServerOptions } from "./options.ts";
export type { SignInPagesOptions } from "./pages/index.ts";
export type { PageTexts } from "./pages/texts.ts";
export type { AuthorizationServerRates } from "./rates.ts";
export type { EnterpriseSignIn } from "./server.ts";
export { UpstreamError } from "./users/handler-tokens.ts";
export type { UpstreamProblem } from "./users/provider-tokens.ts";
