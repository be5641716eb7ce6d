/** A local simulation of the parts of GitHub that the notebook uses: sign-in, the user, and issues. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const APP = { GITHUB_CLIENT_ID: "Iv1.notebook", GITHUB_CLIENT_SECRET: "secret-of-the-app" };

export interface CreatedIssue {
  readonly repository: string;
  readonly author: string;
  readonly title: string;
  readonly body: string;
}

const ACCOUNTS: Readonly<Record<string, number>> = { ada: 1, grace: 2 };

export class FakeGitHub {
  readonly #server: Server = createServer((request, response) => void this.#answer(request, response));
  /** The account that is signed in in the browser. */
  account = "ada";
  readonly issues: CreatedIssue[] = [];
  /** The accounts by authorization code, and by token. */
  readonly #codes = new Map<string, string>();
  readonly #tokens = new Map<string, string>();

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Issues a token for an account, like the page "Personal access tokens". */
  issueToken(account: string): string {
    const token = `token-${crypto.randomUUID()}`;
    this.#tokens.set(token, account);
    return token;
  }

  /** Revokes the access of the app for all users. */
  revokeAll(): void {
    this.#tokens.clear();
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url);
    const body = (await request.toArray()).join("");
    const send = (status: number, value: object, headers = {}) =>
      response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(value));
    if (url.pathname === "/login/oauth/authorize") {
      const code = crypto.randomUUID();
      this.#codes.set(code, this.account);
      const back = new URLSearchParams({ code, state: url.searchParams.get("state") ?? "" });
      return void send(302, {}, { Location: `${url.searchParams.get("redirect_uri")}?${back}` });
    }
    if (url.pathname === "/login/oauth/access_token") {
      const form = new URLSearchParams(body);
      const account = this.#codes.get(form.get("code") ?? "");
      if (account === undefined || form.get("client_secret") !== APP.GITHUB_CLIENT_SECRET) {
        return void send(200, { error: "bad_verification_code" });
      }
      return void send(200, { access_token: this.issueToken(account), token_type: "bearer", scope: "public_repo" });
    }
    const account = this.#tokens.get(request.headers.authorization?.replace("Bearer ", "") ?? "");
    if (account === undefined) return void send(401, { message: "Bad credentials" });
    const path = url.pathname.replace("/api/v3", "");
    if (path === "/user") return void send(200, { id: ACCOUNTS[account], login: account, name: account });
    if (path === "/user/emails") return void send(200, []);
    const repository = /^\/repos\/(.+)\/issues$/.exec(path)?.[1] ?? "";
    if (request.method !== "POST" || repository.startsWith("nobody/")) return void send(404, { message: "Not Found" });
    if (repository === "octocat/old-name") return void send(301, {}, { Location: `${this.url}/repositories/1/issues` });
    const { title, body: text } = JSON.parse(body) as { title: string; body: string };
    const number = this.issues.push({ repository, author: account, title, body: text });
    send(201, { number, html_url: `${this.url}/${repository}/issues/${number}` });
  }
}
