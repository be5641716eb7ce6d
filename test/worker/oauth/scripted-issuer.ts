/** An OpenID Connect provider whose responses tests change: ID tokens that are wrong in one way. */
import { newKey, type SigningKey, signJwt } from "../../harness/issuer.ts";
import { type Asked, HttpService, type Reply } from "./http-service.ts";

type Members = Record<string, unknown>;

export class ScriptedIssuer extends HttpService {
  key!: SigningKey;
  published: unknown[] = [];
  /** Members that replace members of the metadata, the ID token and the token response. */
  metadata: Members = {};
  claims: Members = {};
  header: Members = {};
  answer: Members = {};
  /** The response of the UserInfo endpoint. */
  info: Members = { sub: "ada", email: "ada@example.com", email_verified: true, name: "Ada" };
  /** Replaces the signed ID token. */
  change: (idToken: string) => string = (idToken) => idToken;
  #nonce = "";

  static async start(): Promise<ScriptedIssuer> {
    const issuer: ScriptedIssuer = new ScriptedIssuer((asked) => issuer.#reply(asked));
    await issuer.listen();
    issuer.key = await newKey("ES256", "first");
    issuer.published = [issuer.key.jwk];
    return issuer;
  }

  /** Stores the nonce of a sign-in, as the provider does, and returns the URL with which the browser returns. */
  visit(url: string, more: Record<string, string> = {}): string {
    const { nonce = "", redirect_uri = "", state = "" } = Object.fromEntries(new URL(url).searchParams);
    this.#nonce = nonce;
    return `${redirect_uri}?${new URLSearchParams({ code: "a-code", state, ...more })}`;
  }

  async #reply({ url: { pathname } }: Asked): Promise<Reply> {
    if (pathname === "/.well-known/openid-configuration") return { body: this.#metadata() };
    if (pathname === "/jwks") return { body: { keys: this.published } };
    if (pathname === "/userinfo") return { body: this.info };
    if (pathname !== "/token") return { status: 404 };
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: this.origin, sub: "ada", aud: "client", nonce: this.#nonce, iat: now, exp: now + 300 };
    const signed = await signJwt(this.key, { ...claims, ...this.claims }, { typ: "JWT", ...this.header });
    const body = { access_token: "at-secret", token_type: "Bearer", expires_in: 60, id_token: this.change(signed) };
    return { body: { ...body, ...this.answer } };
  }

  #metadata(): Members {
    return {
      issuer: this.origin,
      authorization_endpoint: `${this.origin}/authorize`,
      token_endpoint: `${this.origin}/token`,
      jwks_uri: `${this.origin}/jwks`,
      userinfo_endpoint: `${this.origin}/userinfo`,
      id_token_signing_alg_values_supported: ["ES256"],
      ...this.metadata,
    };
  }
}
