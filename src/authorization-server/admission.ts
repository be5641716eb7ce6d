/**
 * Decides which users are admitted, and which scopes they may grant.
 *
 * @module
 */

import { quote } from "../core/basics/quote.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import { KitError } from "../core/protocol/errors.ts";
import type { SignedInUser } from "./identity/provider.ts";

/** An organisation or group of an identity provider. */
export interface Organisation {
  /** The issuer that decides who is a member. */
  readonly issuer: string;
  /** The company at an issuer that serves several, as `tenant` of `enterprise()`. @default none */
  readonly tenant?: string;
  /** The name of the organisation at the issuer, case-insensitive. For GitHub, the login, or `id:` followed by the numeric id. */
  readonly name: string;
}

/** A set of users. A user belongs to it if any of its members matches. */
export interface Users {
  /** E-mail addresses, case-insensitive. An address matches only if the identity provider has verified it. */
  readonly emails?: readonly string[];
  /** Domains of verified e-mail addresses, such as `example.com`. Subdomains are not included. */
  readonly domains?: readonly string[];
  /**
   * Organisations. A string is the login of an organisation on github.com, or `id:` followed by its numeric id, which stays the
   * same when the organisation is renamed. The identity provider must be configured to list organisations: see `organisations`
   * of `github()` and `organisationsClaim` of `oidc()`.
   */
  readonly organisations?: readonly (string | Organisation)[];
  /** Single users, by issuer and subject, and by `tenant` of `enterprise()` at an issuer that serves several companies. */
  readonly users?: readonly { readonly issuer: string; readonly tenant?: string; readonly subject: string }[];
  /** Everyone who can sign in. For GitHub, this is everyone with a GitHub account. */
  readonly anyone?: boolean;
}

/** A set of users, or a function that decides about each user. Only the result `true` admits a user. */
export type UserRule = Users | ((user: SignedInUser) => boolean | Promise<boolean>);

/** A scope that users are offered. */
export interface OfferedScope {
  /** What the scope permits, in words that users understand. It is shown on the consent page. @default the name */
  readonly description?: string;
  /** The users who may grant the scope. @default every admitted user */
  readonly only?: UserRule;
}

/** Options of {@link admission}. */
export interface AdmissionOptions {
  /** The users who are admitted. */
  readonly allow: UserRule;
  /** The scopes by name. A scope that is not listed cannot be granted. @default none */
  readonly scopes?: Readonly<Record<string, OfferedScope>>;
}

/** A user who is admitted. */
export interface AdmittedUser {
  /** The scopes that the user may grant, in the order of the options. */
  readonly scopes: readonly { readonly name: string; readonly description?: string | undefined }[];
}

/** The rules for users. */
export interface Admission {
  /** The names of all scopes. */
  readonly scopeNames: readonly string[];
  /**
   * Returns the scopes that a user may grant, or undefined if the user is not admitted. Call it again whenever the identity
   * provider has confirmed the user, because addresses and organisations change.
   */
  decide(user: SignedInUser): Promise<AdmittedUser | undefined>;
}

const OPTIONS: OptionTable<AdmissionOptions> = { allow: null, scopes: null };
const USERS: OptionTable<Users> = { emails: null, domains: null, organisations: null, users: null, anyone: null };
const SCOPE: OptionTable<OfferedScope> = { description: null, only: null };
const GITHUB = "https://github.com";

/**
 * Creates the rules of an authorization server.
 *
 * @throws {KitError} `options-invalid` naming the option, including for a rule that cannot admit any user.
 */
export function admission(options: AdmissionOptions): Admission {
  checkOptions("authorizationServer(): ", options, OPTIONS);
  const isAllowed = createDecider("allow", options.allow);
  const scopes = Object.entries(options.scopes ?? {}).map(([name, scope]) => {
    const where = `scopes[${quote(name)}]`;
    checkOptions(`authorizationServer(): ${where}`, scope, SCOPE);
    if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(name))
      throw invalid(where, 'is not a valid scope name; use visible ASCII without spaces, " and \\');
    const { description, only } = scope;
    return {
      shown: { name, description },
      isFor: only === undefined ? undefined : createDecider(`${where}.only`, only),
    };
  });
  return {
    scopeNames: scopes.map(({ shown }) => shown.name),
    decide: async (user) => {
      if ((await isAllowed(user)) !== true) return undefined;
      const offered = await Promise.all(scopes.map(async ({ isFor }) => !isFor || (await isFor(user)) === true));
      return { scopes: scopes.filter((_, index) => offered[index]).map(({ shown }) => shown) };
    },
  };
}

type Decider = (user: SignedInUser) => boolean | Promise<boolean>;

/** Checks a rule, and returns it as a function. */
function createDecider(where: string, rule: UserRule): Decider {
  if (typeof rule === "function") return rule;
  checkOptions(`authorizationServer(): ${where}: `, rule, USERS);
  const { emails = [], domains = [], organisations = [], users = [], anyone = false } = rule;
  for (const [name, list] of Object.entries({ emails, domains, organisations, users })) {
    if (!Array.isArray(list)) throw invalid(`${where}.${name}`, "is not a list");
  }
  if (!anyone && emails.length + domains.length + organisations.length + users.length === 0) {
    throw invalid(where, "does not admit any user; list the users, or write { anyone: true }");
  }
  const addresses = new Set<string>();
  for (const email of emails) {
    const { address } = parseAddress(email) ?? {};
    if (address === undefined)
      throw invalid(`${where}.emails`, `contains ${quote(email)}; write an e-mail address in ASCII`);
    addresses.add(address);
  }
  const hosts = new Set(domains.map(lowerAscii));
  for (const host of hosts) {
    if (!DOMAIN.test(host))
      throw invalid(`${where}.domains`, `contains ${quote(host)}; write a domain such as "example.com"`);
  }
  const listed = organisations.map((each) => (typeof each === "string" ? { issuer: GITHUB, name: each } : each));
  return (user) => {
    if (anyone === true) return true;
    if (users.some((each) => isAtSame(user, each) && each.subject === user.subject)) return true;
    const belongsTo = (name: string) => user.organisations?.some((each) => isSameText(each, name));
    if (listed.some((each) => isAtSame(user, each) && belongsTo(each.name))) return true;
    const verified = user.emailVerified === true ? parseAddress(user.email ?? "") : undefined;
    return verified !== undefined && (addresses.has(verified.address) || hosts.has(verified.domain));
  };
}

/** Names of organisations and subjects are unique only within an issuer, or within one company at an issuer that serves several. */
function isAtSame(user: SignedInUser, wanted: Pick<Organisation, "issuer" | "tenant">): boolean {
  return user.issuer === wanted.issuer && user.tenant === wanted.tenant;
}

/** Compares strings. Only the case of ASCII letters is ignored: the Kelvin sign "K" must not equal the letter "k". */
function isSameText(one: string, other: string): boolean {
  return lowerAscii(one) === lowerAscii(other);
}

function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const ADDRESS = /^([a-z0-9.!#$%&'*+/=?^_`{|}~-]+)@([a-z0-9.-]+)$/;

/** Parses an e-mail address in ASCII with one "@". Returns undefined for any other text, which then does not match any rule. */
export function parseAddress(text: string): { readonly address: string; readonly domain: string } | undefined {
  const [address, , domain = ""] = ADDRESS.exec(lowerAscii(text)) ?? [];
  return address === undefined || !DOMAIN.test(domain) ? undefined : { address, domain };
}

function invalid(where: string, problem: string): KitError {
  return new KitError("options-invalid", `authorizationServer(): ${where} ${problem}.`);
}
