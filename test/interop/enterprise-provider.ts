/**
 * A company's identity provider: oidc-provider, which signs users in and issues ID tokens, with the exchange of an ID token for an
 * assertion, which it does not have itself, as a registered grant.
 */
import { browse, RealAuthority } from "../client/oauth/oidc-provider.ts";
import { newKey, type SigningKey, signJwt } from "../harness/issuer.ts";
import type { Members } from "../http/messages.ts";
import { postForm } from "../worker/authorization.ts";

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const CALLBACK = "https://agent.example/callback";
const SECRET = "a secret of the agent at the company";

/** The agent, as the company has registered it. */
export const AGENT_AT_COMPANY = { id: "agent-at-company", secret: SECRET };

/** What the handler of a registered grant uses. */
interface GrantContext {
  readonly oidc: {
    readonly params: Readonly<Record<string, string | undefined>>;
    readonly client: { readonly clientId: string };
  };
  body: unknown;
  status: number;
}

/** The members of oidc-provider that only this file uses. */
interface WithGrants {
  registerGrantType(
    name: string,
    handler: (context: GrantContext) => Promise<void>,
    parameters: readonly string[],
  ): void;
  readonly IdToken: { validate(token: string, client: object): Promise<{ readonly payload: Members }> };
}

/** What the company allows: the scopes of a client at a server, and the client's name there. */
export interface CompanyPolicy {
  readonly audience: string;
  readonly resource: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
}

export class CompanyProvider implements AsyncDisposable {
  readonly #authority: RealAuthority;
  readonly #key: SigningKey;
  /** Without a policy, the company allows nothing. */
  policy: CompanyPolicy | undefined;
  /** How far the clock of the company is ahead, in milliseconds. */
  aheadMs = 0;
  /** The assertions that were issued. */
  readonly issued: string[] = [];

  private constructor(authority: RealAuthority, key: SigningKey) {
    this.#authority = authority;
    this.#key = key;
    const provider = authority.provider as unknown as WithGrants;
    const names = ["audience", "resource", "scope", "requested_token_type", "subject_token", "subject_token_type"];
    provider.registerGrantType(TOKEN_EXCHANGE, (context) => this.#exchange(context, provider), names);
  }

  static async start(): Promise<CompanyProvider> {
    const key = await newKey("ES256", "company");
    const { d } = (await crypto.subtle.exportKey("jwk", key.pair.privateKey)) as { d?: string };
    const about = { email: "ada@example.com", email_verified: true, name: "Ada Lovelace" };
    const authority = await RealAuthority.start({
      clients: [
        {
          client_id: AGENT_AT_COMPANY.id,
          client_secret: SECRET,
          redirect_uris: [CALLBACK],
          grant_types: ["authorization_code", TOKEN_EXCHANGE],
          response_types: ["code"],
          id_token_signed_response_alg: "ES256",
        },
      ],
      jwks: { keys: [{ ...key.jwk, d, alg: "ES256", use: "sig" }] },
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
      findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, ...about }) }),
      extraParams: [],
      pkce: { required: () => false },
    });
    return new CompanyProvider(authority, key);
  }

  get issuer(): string {
    return this.#authority.issuer;
  }

  /** Signs the user in at the agent, and returns the ID token. */
  async signIn(): Promise<string> {
    const asked = { client_id: AGENT_AT_COMPANY.id, redirect_uri: CALLBACK, response_type: "code", scope: "openid" };
    const returned = new URL(await browse(`${this.issuer}/auth?${new URLSearchParams(asked)}`));
    const code = returned.searchParams.get("code") ?? "";
    const form = { grant_type: "authorization_code", code, redirect_uri: CALLBACK };
    const credentials = { client_id: AGENT_AT_COMPANY.id, client_secret: SECRET };
    const { body } = await postForm(`${this.issuer}/token`, { ...form, ...credentials });
    return String(body.id_token);
  }

  /** Exchanges an ID token of this client for an assertion, if the company allows it. */
  async #exchange(context: GrantContext, provider: WithGrants): Promise<void> {
    const { params, client } = context.oidc;
    const { audience, resource, scope, subject_token = "", requested_token_type } = params;
    const { payload } = await provider.IdToken.validate(subject_token, client);
    const { policy } = this;
    const isAllowed = policy && audience === policy.audience && resource === policy.resource;
    if (!isAllowed || requested_token_type !== ID_JAG) {
      context.status = 400;
      context.body = { error: "invalid_grant", error_description: "The company does not allow this." };
      return;
    }
    const scopes = scope?.split(" ").filter((each) => policy.scopes.includes(each)) ?? policy.scopes;
    const iat = Math.floor((Date.now() + this.aheadMs) / 1000);
    const claims = {
      ...{ iss: this.issuer, sub: payload.sub, aud: audience, resource, client_id: policy.clientId },
      ...{ iat, exp: iat + 300, jti: crypto.randomUUID(), scope: scopes.join(" ") },
      ...{ email: "ada@example.com", email_verified: true, name: "Ada Lovelace" },
    };
    const access_token = await signJwt(this.#key, claims, { typ: "oauth-id-jag+jwt" });
    this.issued.push(access_token);
    context.body = { access_token, issued_token_type: ID_JAG, token_type: "N_A", expires_in: 300 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#authority[Symbol.asyncDispose]();
  }
}
