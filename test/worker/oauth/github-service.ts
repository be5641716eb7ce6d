/**
 * GitHub as its documentation describes it: "Authorizing OAuth apps", "Generating a user access token for a GitHub App",
 * "Refreshing user access tokens", and "REST API endpoints" for users, e-mails and organization members.
 */
import { createHash } from "node:crypto";
import { type Asked, HttpService, type Reply } from "./http-service.ts";

export const CLIENT = { clientId: "Iv1.client", clientSecret: "secret-of-the-app" };

interface Issued {
  readonly scope: string;
}

export class GithubService extends HttpService {
  /** The user who signs in. */
  user: Record<string, unknown> = { id: 583231, login: "octocat", name: "The Octocat", email: "shown@profile.example" };
  emails: unknown = [
    { email: "old@example.org", primary: false, verified: true, visibility: null },
    { email: "octocat@example.com", primary: true, verified: true, visibility: "private" },
  ];
  memberships: unknown[] = [
    { state: "active", role: "member", organization: { login: "Acme", id: 9919 } },
    { state: "pending", role: "admin", organization: { login: "invited", id: 7 } },
  ];
  /** Whether it is a GitHub App whose tokens expire. */
  expires = false;
  readonly #codes = new Map<string, { challenge: string; redirectUri: string; scope: string }>();
  readonly #tokens = new Map<string, Issued>();
  readonly #refreshTokens = new Map<string, Issued>();
  #last = 0;

  static start(): Promise<GithubService> {
    const service: GithubService = new GithubService((asked) => service.#answer(asked));
    return service.listen();
  }

  /** The user ends the access of the app. */
  revoke(): void {
    this.#tokens.clear();
    this.#refreshTokens.clear();
  }

  #answer(asked: Asked): Reply {
    const { pathname } = asked.url;
    if (pathname === "/login/oauth/authorize") return this.#authorize(asked);
    if (pathname === "/login/oauth/access_token") return this.#token(asked);
    if (pathname.startsWith("/api/v3/")) return this.#api(asked);
    return { status: 404, body: { message: "Not Found" } };
  }

  #authorize({ url }: Asked): Reply {
    const {
      client_id,
      redirect_uri = "",
      state = "",
      scope = "",
      code_challenge = "",
      code_challenge_method,
    } = Object.fromEntries(url.searchParams);
    if (client_id !== CLIENT.clientId || code_challenge_method !== "S256") return { status: 404, body: "No such app" };
    this.#last += 1;
    const code = `code-${this.#last}`;
    this.#codes.set(code, { challenge: code_challenge, redirectUri: redirect_uri, scope });
    return { status: 302, headers: { location: `${redirect_uri}?${new URLSearchParams({ code, state })}` } };
  }

  /** GitHub sends refusals with status 200, and separates scopes by commas. */
  #token({ fields, headers }: Asked): Reply {
    const refuse = (error: string, error_description: string) => ({
      body: { error, error_description, error_uri: "" },
    });
    if (!headers.accept?.includes("application/json")) return { body: "access_token=form-encoded&token_type=bearer" };
    if (fields.get("client_id") !== CLIENT.clientId || fields.get("client_secret") !== CLIENT.clientSecret) {
      return refuse(
        "incorrect_client_credentials",
        `The client_id and/or client_secret ${fields.get("client_secret")} passed are incorrect.`,
      );
    }
    if (fields.get("grant_type") === "refresh_token") {
      const refreshed = this.#refreshTokens.get(fields.get("refresh_token") ?? "");
      this.#refreshTokens.delete(fields.get("refresh_token") ?? "");
      return refreshed
        ? this.#issue(refreshed)
        : refuse("bad_refresh_token", "The refresh token passed is incorrect or expired.");
    }
    const code = this.#codes.get(fields.get("code") ?? "");
    this.#codes.delete(fields.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(fields.get("code_verifier") ?? "")
      .digest("base64url");
    if (!code || code.challenge !== challenge)
      return refuse("bad_verification_code", "The code passed is incorrect or expired.");
    if (code.redirectUri !== fields.get("redirect_uri"))
      return refuse("redirect_uri_mismatch", "The redirect_uri MUST match.");
    return this.#issue({ scope: code.scope });
  }

  #issue(issued: Issued): Reply {
    this.#last += 1;
    const access_token = `${this.expires ? "ghu" : "gho"}_token${this.#last}`;
    this.#tokens.set(access_token, issued);
    const body = { access_token, token_type: "bearer", scope: issued.scope.replaceAll(" ", ",") };
    if (!this.expires) return { body };
    const refresh_token = `ghr_token${this.#last}`;
    this.#refreshTokens.set(refresh_token, issued);
    return { body: { ...body, scope: "", expires_in: 28_800, refresh_token, refresh_token_expires_in: 15_897_600 } };
  }

  #api({ url, headers }: Asked): Reply {
    if (!headers["user-agent"]) return { status: 403, body: "Request forbidden by administrative rules." };
    const token = /^Bearer (.+)$/.exec(headers.authorization as string)?.[1] ?? "";
    const issued = this.#tokens.get(token);
    if (!issued) return { status: 401, body: { message: "Bad credentials", status: "401" } };
    const has = (scope: string) => this.expires || issued.scope.split(" ").includes(scope);
    const path = url.pathname.slice("/api/v3".length);
    if (path === "/user") return { body: this.user };
    if (path === "/user/emails")
      return has("user:email") ? { body: this.emails } : { status: 404, body: { message: "Not Found" } };
    if (path === "/user/memberships/orgs") {
      if (!has("read:org")) return { status: 403, body: { message: "You need at least read:org scope." } };
      const [page, size] = [Number(url.searchParams.get("page")), Number(url.searchParams.get("per_page"))];
      return { body: this.memberships.slice((page - 1) * size, page * size) };
    }
    return { status: 404, body: { message: "Not Found" } };
  }
}
