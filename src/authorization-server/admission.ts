/**
 * Which users may use the server, and which scopes they are offered.
 *
 * @module
 */

import { quote } from "../core/basics/quote.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import { KitError } from "../core/protocol/errors.ts";
import type { SignedInUser } from "./identity/provider.ts";

/** An organisation or group of an identity provider. */
export interface Organisation {
  /** The issuer that says who belongs to it. */
  readonly issuer: string;
  /** Its name as the issuer writes it, in any case. For GitHub the login, or `id:` with the numeric id. */
  readonly name: string;
}

/** A set of users. A user who fits one of the members belongs to it. */
export interface Users {
  /** E-mail addresses, in any case. They count only if the identity provider has verified them. */
  readonly emails?: readonly string[];
  /** Domains of verified e-mail addresses, such as `example.com`. Subdomains are other domains. */
  readonly domains?: readonly string[];
  /**
   * Organisations. A text is the login of an organisation on github.com, or `id:` with its numeric id, which nobody else can
   * get after the organisation was renamed. The identity provider must be told to list them: see `organisations` of
   * `github()` and `organisationsClaim` of `oidc()`.
   */
  readonly organisations?: readonly (string | Organisation)[];
  /** Single users, by issuer and subject. */
  readonly users?: readonly { readonly issuer: string; readonly subject: string }[];
  /** Everyone who can sign in. With GitHub that is everyone with a GitHub account. */
  readonly anyone?: boolean;
}

/** A set of users, or a function that decides. A user belongs to the set only if the function returns `true`. */
export type UserRule = Users | ((user: SignedInUser) => boolean | Promise<boolean>);

/** A scope that users are offered. */
export interface OfferedScope {
  /** What it permits, in the words of users. The consent page shows it. @default the name */
  readonly description?: string;
  /** The users who are offered it. @default every admitted user */
  readonly only?: UserRule;
}

/** Options of {@link admission}. */
export interface AdmissionOptions {
  /** The users who are admitted. */
  readonly allow: UserRule;
  /** The scopes by name. A scope that is not listed is offered to nobody. @default none */
  readonly scopes?: Readonly<Record<string, OfferedScope>>;
}

/** The scopes of an admitted user. */
export interface AdmittedUser {
  /** The scopes that the user is offered, in the order of the options. */
  readonly scopes: readonly { readonly name: string; readonly description?: string | undefined }[];
}

/** Decides about users. */
export interface Admission {
  /** The names of all scopes, for the metadata. */
  readonly scopeNames: readonly string[];
  /**
   * Returns what a user is offered, or undefined if the user is not admitted. Ask again when the identity provider was asked
   * again, because addresses and organisations change.
   */
  decide(user: SignedInUser): Promise<AdmittedUser | undefined>;
}

const OPTIONS: OptionTable<AdmissionOptions> = { allow: null, scopes: null };
const USERS: OptionTable<Users> = { emails: null, domains: null, organisations: null, users: null, anyone: null };
const SCOPE: OptionTable<OfferedScope> = { description: null, only: null };
const GITHUB = "https://github.com";

/**
 * Creates the rules of an authorization server. There is no default: whom to admit must be written.
 *
 * @throws {KitError} `options-invalid` naming the option, also for a rule that admits nobody.
 */
export function admission(options: AdmissionOptions): Admission {
  checkOptions("admission(): ", options, OPTIONS);
  const isAllowed = createDecider("allow", options.allow);
  const scopes = Object.entries(options.scopes ?? {}).map(([name, scope]) => {
    const where = `scopes[${quote(name)}]`;
    checkOptions(`admission(): ${where}`, scope, SCOPE);
    if (!/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(name))
      throw invalid(where, "is not a scope; use visible ASCII without spaces");
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
  checkOptions(`admission(): ${where}`, rule, USERS);
  const { emails = [], domains = [], organisations = [], users = [], anyone = false } = rule;
  for (const [name, list] of Object.entries({ emails, domains, organisations, users })) {
    if (!Array.isArray(list)) throw invalid(`${where}.${name}`, "is not a list");
  }
  if (!anyone && emails.length + domains.length + organisations.length + users.length === 0) {
    throw invalid(where, "admits nobody; write whom, or { anyone: true }");
  }
  const addresses = new Set<string>();
  for (const email of emails) {
    const { address } = parseAddress(email) ?? {};
    if (address === undefined) throw invalid(`${where}.emails`, `has ${quote(email)}; write an address in ASCII`);
    addresses.add(address);
  }
  const hosts = new Set(domains.map(lowerAscii));
  for (const host of hosts) {
    if (!DOMAIN.test(host))
      throw invalid(`${where}.domains`, `has ${quote(host)}; write a domain such as "example.com"`);
  }
  const listed = organisations.map((each) => (typeof each === "string" ? { issuer: GITHUB, name: each } : each));
  return (user) => {
    if (anyone === true) return true;
    if (users.some(({ issuer, subject }) => issuer === user.issuer && subject === user.subject)) return true;
    if (listed.some((organisation) => belongsTo(user, organisation))) return true;
    const verified = user.emailVerified === true ? parseAddress(user.email ?? "") : undefined;
    return verified !== undefined && (addresses.has(verified.address) || hosts.has(verified.domain));
  };
}

/** Organisations are compared with their issuer, because every issuer can have a group of any name. */
function belongsTo({ issuer, organisations = [] }: SignedInUser, wanted: Organisation): boolean {
  return issuer === wanted.issuer && organisations.some((name) => isSameText(name, wanted.name));
}

/** Compares texts in ASCII without case: other letters have lower-case forms that are ASCII letters, such as "K" (Kelvin). */
function isSameText(one: string, other: string): boolean {
  return lowerAscii(one) === lowerAscii(other);
}

function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;
const ADDRESS = /^([a-z0-9.!#$%&'*+/=?^_`{|}~-]+)@([a-z0-9.-]+)$/;

/** Reads an e-mail address in ASCII with one "@". Undefined for any other text, which then fits no rule. */
function parseAddress(text: string): { readonly address: string; readonly domain: string } | undefined {
  const [address, , domain = ""] = ADDRESS.exec(lowerAscii(text)) ?? [];
  return address === undefined || !DOMAIN.test(domain) ? undefined : { address, domain };
}

function invalid(where: string, problem: string): KitError {
  return new KitError("options-invalid", `admission(): ${where} ${problem}.`);
}
