/**
 * mcp-edge/authorization-server/dev: an identity provider for local development, in which anyone can sign in as any user. Import it
 * only in a file that is never deployed.
 *
 * @module
 */
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { KitError } from "../../core/protocol/errors.ts";
import { isLoopback } from "../../http/origin.ts";
import { html } from "../../look/html.ts";
import { IdentityError, type IdentityProvider, type SignedInUser } from "../identity/provider.ts";
import { respond } from "../pages/html.ts";

/** A user of {@link developmentUsers}. */
export interface DevelopmentUser extends Omit<SignedInUser, "issuer" | "subject"> {
  /** The user's id. */
  readonly subject: string;
}

/** Options of {@link developmentUsers}. */
export interface DevelopmentUsersOptions {
  /**
   * The users to choose from on the sign-in page.
   *
   * @default ada (ada@example.com, verified, organisation "example") and grace (grace@example.org, not verified, no organisation)
   */
  readonly users?: readonly DevelopmentUser[];
}

const OPTIONS: OptionTable<DevelopmentUsersOptions> = { users: null };

const ISSUER = "http://localhost/development-users";

/** A marker by which tests find out whether a bundle contains this module. */
const MARKER = "mcp-edge: development users, never deploy this";

const USERS: readonly DevelopmentUser[] = [
  {
    subject: "ada",
    name: "Ada Lovelace",
    email: "ada@example.com",
    emailVerified: true,
    organisations: ["example"],
  },
  { subject: "grace", name: "Grace Hopper", email: "grace@example.org", emailVerified: false, organisations: [] },
];

/**
 * Lets anyone sign in as one of a few users, without a password. It works only for loopback URLs (localhost, 127.0.0.0/8, ::1),
 * and refuses all other URLs. The issuer of the users is `http://localhost/development-users`.
 *
 * @throws {KitError} `options-invalid` if there is no user.
 */
export function developmentUsers(options: DevelopmentUsersOptions = {}): IdentityProvider {
  checkOptions("developmentUsers(): ", options, OPTIONS);
  const { users = USERS } = options;
  if (users.length === 0)
    throw new KitError("options-invalid", "developmentUsers(): users is empty; write at least one.");
  return {
    id: "development",
    label: "a development user",
    issuer: ISSUER,
    begin: async ({ redirectUri, state }) => {
      checkHost(redirectUri);
      return { url: `${redirectUri}?${new URLSearchParams({ choose: state })}`, kept: { state, redirectUri } };
    },
    page: ({ url }) => {
      const { origin, pathname, searchParams } = new URL(url);
      const state = searchParams.get("choose");
      if (state === null) return undefined;
      checkHost(url);
      return choice(users, (user) => `${origin}${pathname}?${new URLSearchParams({ state, user })}`);
    },
    finish: async (callbackUrl, { state, redirectUri }) => {
      checkHost(callbackUrl);
      const { origin, pathname, searchParams } = new URL(callbackUrl);
      const isExpected =
        origin + pathname === redirectUri && searchParams.get("state") === state && state !== undefined;
      const user = users.find(({ subject }) => subject === searchParams.get("user"));
      if (isExpected && user) return { user: { ...user, issuer: ISSUER } };
      throw new IdentityError("invalid", "The response does not belong to this sign-in of a development user.");
    },
  };
}

/** @throws {IdentityError} `misconfigured` unless the URL is a loopback URL. */
function checkHost(url: string): void {
  if (URL.canParse(url) && isLoopback(new URL(url).hostname)) return;
  throw new IdentityError("misconfigured", `${MARKER}: ${url} is not a loopback URL.`);
}

function choice(users: readonly DevelopmentUser[], createUrl: (subject: string) => string): Response {
  const entries = users.map(
    ({ subject, name, email }) =>
      html`<li><a class="button" href="${createUrl(subject)}">${name ?? subject} (${email ?? subject})</a></li>`,
  );
  const body = html`<h1>Choose a development user</h1><p>Only on this machine: everyone can sign in as everyone.</p><ul class="choice">${entries}</ul>`;
  return respond({ language: "en", title: html`Development users`, brand: {}, body });
}
