/**
 * The issuers whose assertions are accepted, their policies, and the verification of their signatures.
 *
 * @module
 */
import { encodeText } from "../../core/basics/bytes.ts";
import { pause } from "../../core/basics/pause.ts";
import { quote } from "../../core/basics/quote.ts";
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { KitError } from "../../core/protocol/errors.ts";
import type { Execution } from "../../core/protocol/execution.ts";
import { isObject } from "../../core/protocol/jsonrpc.ts";
import { ALGORITHMS } from "../../worker/access/auth/by-signature.ts";
import { checkUrl, isSafeUrl } from "../../worker/access/auth/fetch-json.ts";
import { discoverKeys, IssuerKeys, type JsonWebKeySet, loadKeys } from "../../worker/access/auth/issuer-keys.ts";
import {
  findScheme,
  isSignedBy,
  type Jwk,
  type TokenAlgorithm,
  type UnverifiedJwt,
} from "../../worker/access/auth/jwt.ts";
import { admission, type UserRule } from "../admission.ts";
import type { Assertion, AssertionIssuer } from "./assertion.ts";

/** An identity provider of a company, and what it may decide. */
export interface TrustedIssuer extends AssertionIssuer {
  /** The issuer, exactly as it is written in its assertions. */
  readonly issuer: string;
  /**
   * The company at an issuer that serves several companies, the claim `tenant`. An assertion with this claim is refused if the
   * option is not set, because the subject then identifies a user only within the company.
   *
   * @default none
   */
  readonly tenant?: string | undefined;
  /** The company at your server, the claim `aud_tenant`. An assertion with this claim is refused if the option is not set. @default none */
  readonly audienceTenant?: string | undefined;
  /** Its public keys, or the URL of its key set. @default the `jwks_uri` of its metadata (RFC 8414 or OpenID Connect Discovery) */
  readonly jwks?: string | JsonWebKeySet;
  /** The accepted signature algorithms. @default RS256, PS256, ES256 and EdDSA */
  readonly algorithms?: readonly TokenAlgorithm[];
  /** The ids of the clients to which it may give access. @default every client */
  readonly clients?: readonly string[];
  /** The scopes that it may grant. @default every scope of `authorizationServer()` */
  readonly scopes?: readonly string[];
  /**
   * The domains of its e-mail addresses. Any identity provider can claim any address, so an address in another domain does not
   * count as verified.
   *
   * @default none, so that no address counts as verified
   */
  readonly domains?: readonly string[];
  /** The users who are admitted. @default the option `allow` of `authorizationServer()` */
  readonly allow?: UserRule;
  /** The claim that lists the user's organisations or groups, such as `groups`. @default none */
  readonly organisationsClaim?: string;
}

/**
 * Returns the issuer that an assertion names, with its policy, or undefined if it is not trusted. It is called before the signature
 * is verified, so what is asked comes from a stranger. It is also called at most once per `revocationMs` for a token, so that the
 * access ends when you remove an issuer. If it does not answer within 10 s, the request is answered with 503.
 *
 * Whoever can choose the `issuer` and the `jwks` of an answer speaks for all users of that issuer, so let only operators write them.
 * An issuer with its own `jwks` is refused if users can sign in at it interactively, and if an identity provider does not name its issuer.
 */
export type FindIssuer<Env> = (
  asked: AssertionIssuer,
  env: Env,
) => TrustedIssuer | null | undefined | Promise<TrustedIssuer | null | undefined>;

const OPTIONS: OptionTable<TrustedIssuer> = {
  issuer: null,
  tenant: null,
  audienceTenant: null,
  jwks: null,
  algorithms: null,
  clients: null,
  scopes: null,
  domains: null,
  allow: null,
  organisationsClaim: null,
};

const NAMES = Object.keys(OPTIONS) as readonly (keyof TrustedIssuer)[];

/** The characters of a URL. Its parser would ignore some others, such as a line break. */
const URL_TEXT = /^[\x21-\x7e]+$/;
const DOMAIN = /^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;

/** @throws {KitError} `options-invalid` naming the member. */
export function checkIssuer(trusted: TrustedIssuer): void {
  checkOptions("enterprise(): issuers: ", trusted, OPTIONS);
  // A policy from a database may contain null for a missing value, even in an accessor of its class. Null must not mean "no limit".
  const empty = NAMES.find((name) => trusted[name] === null);
  if (empty !== undefined) throw invalid(`${empty} is null; leave it out`);
  for (const name of ["tenant", "audienceTenant", "organisationsClaim"] as const) {
    const text: unknown = trusted[name];
    if (text !== undefined && (typeof text !== "string" || text === "")) throw invalid(`${name} is not a text`);
  }
  const { issuer, jwks, algorithms, domains, allow } = trusted;
  checkUrl("enterprise(): issuers: issuer", issuer);
  // Assertions contain such a host in its "xn--" form, so this issuer would never be found.
  if (!URL_TEXT.test(issuer)) throw invalid(`issuer is ${quote(issuer)}; write it in ASCII, as in the assertions`);
  if (typeof jwks === "string") checkUrl("enterprise(): issuers: jwks", jwks);
  else if (jwks !== undefined && !(Array.isArray(jwks.keys) && jwks.keys.every(isObject)))
    throw invalid("jwks is neither a URL nor a key set");
  for (const name of ["algorithms", "clients", "scopes", "domains"] as const) {
    const list = trusted[name] ?? [];
    if (!Array.isArray(list) || list.some((each) => typeof each !== "string"))
      throw invalid(`${name} is not a list of texts`);
  }
  const unknown = algorithms?.find((algorithm) => !findScheme(algorithm));
  if (unknown !== undefined) throw invalid(`algorithms has ${quote(unknown)}, which is not an asymmetric algorithm`);
  const domain = domains?.find((each) => !DOMAIN.test(each));
  if (domain !== undefined) throw invalid(`domains has ${quote(domain)}; write a domain such as "example.com"`);
  if (allow !== undefined) admission({ allow });
}

function invalid(problem: string): KitError {
  return new KitError("options-invalid", `enterprise(): issuers: ${problem}.`);
}

/**
 * The maximum size of the keys that are cached, which are those of about 4,000 issuers with three keys each. It is not a number of issuers,
 * which would have to be low enough for the largest key sets: beyond it, each assertion would cause requests, even a forged one.
 * @limit characters The keys of all issuers that an isolate caches. When it is reached, those of the least recently used issuers are
 * removed, and requested again when they are needed.
 */
const CACHED_MAX = 8_000_000;
/** The size of a cached issuer in addition to its keys, in characters. */
const ISSUER_SIZE = 500;

/**
 * The maximum length of an issuer or organisation that is passed to the author's function. Authors use them as keys of KV, which have up
 * to 512 bytes.
 * @limit bytes The claim `iss`, `tenant` or `aud_tenant` of an assertion. An issuer or organisation with a longer one is not trusted.
 */
const NAME_MAX = 512;
/**
 * How long to wait for the function of the author, in milliseconds.
 * @limit ms The time that a function for `issuers` has to answer. After that, requests get 503.
 */
const FIND_MS = 10_000;

/** The cached keys of an issuer. */
interface CachedKeys {
  readonly keys: IssuerKeys;
  /** Their number of characters. */
  size: number;
}

/** Finds trusted issuers, and verifies their signatures. */
export class Issuers {
  readonly #find: FindIssuer<never>;
  readonly #jwksCacheMs: number;
  /** The keys of issuers, the least recently used first. */
  readonly #cached = new Map<string, CachedKeys>();

  constructor(given: readonly TrustedIssuer[] | FindIssuer<never>, jwksCacheMs: number) {
    if (typeof given !== "function") checkList(given);
    this.#find = typeof given === "function" ? given : (asked) => given.find((each) => isSame(each, asked));
    this.#jwksCacheMs = jwksCacheMs;
  }

  /** Returns the trusted issuer, or undefined if it is not trusted. @throws what the author's function throws. */
  async find({ issuer, tenant, audienceTenant }: AssertionIssuer, env: unknown): Promise<TrustedIssuer | undefined> {
    const asked = { issuer, tenant, audienceTenant };
    if (!URL_TEXT.test(issuer) || !isSafeUrl(issuer)) return undefined;
    if (![issuer, tenant, audienceTenant].every(isName)) return undefined;
    const found = await inTime(this.#find(asked, env as never));
    if (!found) return undefined;
    checkIssuer(found);
    // If the author's function returns the policy of another company, the issuer must not be trusted with it.
    return isSame(found, asked) ? found : undefined;
  }

  /** Returns whether an issuer has signed an assertion. @throws {Error} if its keys could not be requested. */
  async hasSigned(trusted: TrustedIssuer, { jwt }: Pick<Assertion, "jwt">, execution: Execution): Promise<boolean> {
    const { algorithms = ALGORITHMS } = trusted;
    if (!algorithms.some((algorithm) => algorithm === jwt.algorithm)) return false;
    return isSignedByAny(await this.#keysOf(trusted).find(jwt.algorithm, jwt.kid, execution), jwt);
  }

  #keysOf({ issuer, jwks }: TrustedIssuer): IssuerKeys {
    // The keys may have changed since the last request, so they are not cached.
    if (typeof jwks === "object") return new IssuerKeys(async () => jwks.keys, 0);
    const name = JSON.stringify([issuer, jwks]);
    const load = async () => {
      const loaded = await (jwks ? loadKeys(jwks) : discoverKeys(issuer));
      const keys = loaded.map(toPublicKey);
      cached.size = ISSUER_SIZE + JSON.stringify(keys).length;
      this.#makeRoom();
      return keys;
    };
    const known = this.#cached.get(name);
    const cached: CachedKeys = known ?? { keys: new IssuerKeys(load, this.#jwksCacheMs), size: ISSUER_SIZE };
    this.#cached.delete(name);
    this.#cached.set(name, cached);
    if (!known) this.#makeRoom();
    return cached.keys;
  }

  #makeRoom(): void {
    let size = [...this.#cached.values()].reduce((sum, each) => sum + each.size, 0);
    for (const [name, each] of this.#cached) {
      if (size <= CACHED_MAX) return;
      this.#cached.delete(name);
      size -= each.size;
    }
  }
}

/** Returns the members of a key that are used. Many issuers add certificates, which are longer. */
function toPublicKey({ kty, kid, alg, use, key_ops, crv, x, y, n, e }: Jwk): Jwk {
  return { kty, kid, alg, use, key_ops, crv, x, y, n, e } as Jwk;
}

function checkList(given: readonly TrustedIssuer[]): void {
  const names = new Set<string>();
  for (const each of given) {
    checkIssuer(each);
    const name = JSON.stringify([each.issuer, each.tenant, each.audienceTenant]);
    if (names.has(name))
      throw invalid(`there are two entries for ${quote(each.issuer)}, of which only one would count`);
    names.add(name);
  }
}

/** Whether an untrusted name is safe for the author's function, which may use it as a key of KV or as the name of a member of an object. */
function isName(name: string | undefined): boolean {
  if (name === undefined) return true;
  return encodeText(name).length <= NAME_MAX && !(name in Object.prototype);
}

/** Waits for the answer of the author's function. */
async function inTime<T>(answer: T | Promise<T>): Promise<T> {
  const settled = new AbortController();
  const late = pause(FIND_MS, settled.signal).then(() => {
    throw new Error("enterprise(): the function for issuers did not answer in time.");
  });
  return Promise.race([answer, late]).finally(() => settled.abort());
}

async function isSignedByAny(keys: readonly Jwk[], jwt: UnverifiedJwt): Promise<boolean> {
  for (const key of keys) if (await isSignedBy(key, jwt)) return true;
  return false;
}

/** Whether two names are those of the same organisation at the same issuer. */
export function isSame(one: AssertionIssuer, other: AssertionIssuer): boolean {
  return one.issuer === other.issuer && one.tenant === other.tenant && one.audienceTenant === other.audienceTenant;
}
