/**
 * The grants of one user: codes and refresh tokens are exchanged here. Requests for one grant take turns.
 *
 * @module
 */
import { Turns } from "../../core/basics/turns.ts";
import type { SignedInUser } from "../identity/provider.ts";
import type { UserStorage } from "../policy.ts";
import { hashText, hashUserId, newId, newSecret, TEXT_MAX } from "../sealing.ts";
import type {
  AccessTerms,
  Approval,
  GrantRecord,
  GrantSummary,
  RedeemRequest,
  RefreshRequest,
  TokenError,
  TokenHandle,
  TokenResponse,
  TokenSender,
} from "./grant-record.ts";
import {
  findCodeResponse,
  findKeptResponse,
  isRepeatable,
  keepResponse,
  openResponse,
  type UsedToken,
} from "./successors.ts";

/** A user who has access, with the scopes that the user may grant. */
export interface ConfirmedUser {
  readonly user: SignedInUser;
  readonly offered: readonly string[];
}

/** Tokens that are to be issued for a code or refresh token. */
interface TokenOrder {
  /** The id of the grant. */
  readonly id: string;
  readonly grant: GrantRecord;
  /** The thumbprint of the key that the request has proven. */
  readonly jkt: string | undefined;
  /** The requested scopes. Undefined for all scopes of the grant. */
  readonly scopes?: readonly string[] | undefined;
  /** The code or refresh token that was presented. */
  readonly used: UsedToken;
}

/** The content of an access token and a refresh token. */
interface TokenTerms extends Pick<TokenOrder, "id" | "grant" | "jkt"> {
  readonly scopes: readonly string[];
  /** The secret of the new refresh token. */
  readonly secret: string;
}

const PREFIX = "user/grant/";

/**
 * The maximum number of grants of a user.
 * @limit count Grants of one user, one for each sign-in of a client. A further one replaces a code that was not used,
 * or else the grant of the client with most that was not used for the longest time.
 */
const GRANTS_MAX = 100;

/**
 * The maximum number of codes of one client that were not used yet.
 * @limit count Codes of one client for one user that were not used yet. A further one replaces the oldest.
 */
const CODES_MAX = 10;

export class Grants {
  readonly #storage: UserStorage;
  readonly #confirm: () => Promise<ConfirmedUser | undefined>;
  readonly #turns = new Turns();

  /** @param confirm Returns the user, or undefined if the user has no access any more. */
  constructor(storage: UserStorage, confirm: () => Promise<ConfirmedUser | undefined>) {
    this.#storage = storage;
    this.#confirm = confirm;
  }

  /** Returns a grant that has not expired. */
  get(id: string): GrantRecord | undefined {
    const grant = this.#storage.kv.get<GrantRecord>(PREFIX + id);
    return grant && Date.now() < grant.expiresAtMs ? grant : undefined;
  }

  /**
   * Creates a grant with a code.
   *
   * @param isAllowed Asked immediately before the grant is stored: the user may have signed out in the meantime.
   */
  async create(
    approval: Approval & { readonly expiresAtMs: number },
    isAllowed: () => boolean,
  ): Promise<{ grant: string; secret: string } | undefined> {
    const [grant, secret] = [newId(), newSecret()];
    const hash = await hashText(secret);
    if (!isAllowed()) return undefined;
    const nowMs = Date.now();
    const { code, ...given } = approval;
    this.sweep();
    this.#makeRoom(given.client.id);
    this.#put(grant, { ...given, code: { ...code, hash }, createdAtMs: nowMs, usedAtMs: nowMs, kept: [] });
    return { grant, secret };
  }

  /**
   * Deletes a grant if there are too many. First a code that was not used: a page of strangers can make a client that
   * the user has remembered ask again and again, and must not end access that is in use. Then of the client that has
   * the most grants, the one that was not used for the longest time.
   */
  #makeRoom(clientId: string): void {
    const stored = this.#all().toSorted(([, one], [, other]) => one.usedAtMs - other.usedAtMs);
    const codes = stored.filter(([, { refresh }]) => refresh === undefined);
    const own = codes.filter(([, { client }]) => client.id === clientId);
    const byClient = Map.groupBy(stored, ([, { client }]) => client.id);
    const [most = []] = [...byClient.values()].toSorted((one, other) => other.length - one.length);
    const isFull = stored.length >= GRANTS_MAX;
    const [first] = own.length >= CODES_MAX ? own : isFull ? [...codes, ...most] : [];
    if (first) this.#delete(first[0]);
  }

  /** Exchanges a code for tokens. */
  redeem(id: string, secret: string, request: RedeemRequest): Promise<TokenResponse | TokenError> {
    return this.#turns.run(id, async () => {
      const grant = this.get(id);
      const { code } = grant ?? {};
      if (!grant || code?.hash !== (await hashText(secret))) return invalid("The code is not valid, or has expired.");
      if (grant.client.id !== request.clientId) return invalid("The code was issued to another client.");
      if (code.redirectUri !== request.redirectUri)
        return invalid("redirect_uri is not that of the authorization request.");
      if (code.challenge !== request.challenge) return invalid("code_verifier does not match code_challenge.");
      if (code.jkt !== undefined && code.jkt !== request.jkt) return invalid("The code is bound to another key.");
      const problem = findResourceProblem(grant, request);
      if (problem) return problem;
      if (grant.refresh !== undefined) return this.#repeatCode(id, grant, secret, request);
      const bound = request.isPublic ? request.jkt : undefined;
      const used = { secret, presented: code.hash, request: computeFingerprint(request), usedAtMs: Date.now() };
      return this.#issue({ id, grant: { ...grant, jkt: bound }, jkt: request.jkt, used });
    });
  }

  /** Answers the second use of a code: a client whose answer was lost repeats its request at once. */
  async #repeatCode(
    id: string,
    grant: GrantRecord,
    secret: string,
    request: RedeemRequest,
  ): Promise<TokenResponse | TokenError> {
    const kept = findCodeResponse(grant, Date.now());
    const answer = kept?.request === computeFingerprint(request) ? await openResponse(secret, kept) : undefined;
    if (answer && this.get(id)) return answer;
    // Whoever has code and verifier of a used code may have stolen them, and so may the one who used them first.
    this.#delete(id);
    return { ...invalid("The code was used before."), replayed: "code" };
  }

  /** Exchanges a refresh token for tokens, or returns again what it was exchanged for. */
  refresh(id: string, secret: string, request: RefreshRequest): Promise<TokenResponse | TokenError> {
    return this.#turns.run(id, async () => {
      const grant = this.get(id);
      const presented = await hashText(secret);
      if (grant?.refresh === undefined) return invalid("The refresh token was revoked, or has expired.");
      if (grant.client.id !== request.clientId) return invalid("The refresh token was issued to another client.");
      if (grant.jkt !== undefined && grant.jkt !== request.jkt)
        return invalid("The refresh token is bound to another key.");
      const problem = findResourceProblem(grant, request);
      if (problem) return problem;
      const used = { secret, presented, request: request.fingerprint, usedAtMs: Date.now() };
      const order = { id, grant, jkt: request.jkt, scopes: request.scopes, used };
      return presented === grant.refresh ? this.#issue(order) : this.#repeat(order);
    });
  }

  /** Answers a request with a refresh token that was replaced. */
  async #repeat(order: TokenOrder): Promise<TokenResponse | TokenError> {
    const { id, grant, used } = order;
    const nowMs = Date.now();
    const kept = findKeptResponse(grant, used.presented, nowMs);
    if (kept?.request !== used.request) {
      // A token that was replaced long ago, or that comes with other parameters, is in the hands of two. Which of them is the
      // client is unknown.
      this.#delete(id);
      return {
        ...invalid("The refresh token was used before. The user must sign in again."),
        replayed: "refresh-token",
      };
    }
    if (isRepeatable(kept, nowMs))
      return (await openResponse(used.secret, kept)) ?? invalid("The refresh token was used before.");
    // The new successor replaces the first one: of two who hold the token, only one can go on.
    return this.#issue({ ...order, used: { ...used, usedAtMs: kept.usedAtMs } });
  }

  /**
   * Issues tokens for a grant. The grant is stored with its new refresh token and the response before the response leaves the
   * object.
   */
  async #issue({ id, grant, jkt, scopes: asked, used }: TokenOrder): Promise<TokenResponse | TokenError> {
    const beyond = asked?.find((scope) => !grant.scopes.includes(scope));
    if (beyond !== undefined) return { error: "invalid_scope", description: "A scope was not granted." };
    const confirmed = await this.#confirm();
    if (!confirmed) return invalid("The user has no access any more.");
    const scopes = (asked ?? grant.scopes).filter((scope) => confirmed.offered.includes(scope));
    const secret = newSecret();
    const refresh = await hashText(secret);
    const response = await this.#seal({ id, grant, jkt, scopes, secret }, confirmed.user);
    if (response.access_token.length > TEXT_MAX) return tooLong(response);
    const kept = await keepResponse(grant, used, response);
    // The user may have revoked the grant during the awaits. Nothing is awaited between this and the write.
    if (!this.get(id)) return invalid("The grant was revoked.");
    const nowMs = Date.now();
    const expiresAtMs = nowMs + this.#storage.host.policy.refreshTokenMs;
    this.#put(id, { ...grant, refresh, kept, usedAtMs: nowMs, expiresAtMs });
    return response;
  }

  /** Seals an access token and a refresh token for a user, and returns the response with them. */
  async #seal({ id, grant, jkt, scopes, secret }: TokenTerms, user: SignedInUser): Promise<TokenResponse> {
    const { env, host } = this.#storage;
    const { issuer, resource, client } = grant;
    // The id is also in the object's name, but an object that was woken by an alarm does not know its name.
    const userId = await hashUserId(user);
    const { sealing, policy } = host;
    const nowMs = Date.now();
    const expiresAtMs = nowMs + policy.accessTokenMs;
    const claims = policy.createClaims(user);
    const access: AccessTerms = {
      user: userId,
      grant: id,
      client: client.id,
      scopes,
      resource,
      expiresAtMs,
      jkt,
      claims,
    };
    const handle: TokenHandle = { user: userId, grant: id, secret, expiresAtMs: nowMs + policy.refreshTokenMs };
    const [access_token, refresh_token] = await Promise.all([
      sealing.seal(env, "OAuth access token", access, issuer),
      sealing.seal(env, "OAuth refresh token", handle, issuer),
    ]);
    const token_type = jkt === undefined ? "Bearer" : "DPoP";
    return {
      access_token,
      token_type,
      expires_in: Math.floor(policy.accessTokenMs / 1000),
      refresh_token,
      scope: scopes.join(" "),
    };
  }

  /** Ends a grant, if it belongs to the client. */
  revoke(id: string, clientId: string): void {
    if (this.get(id)?.client.id === clientId) this.#delete(id);
  }

  /** Ends all grants of a client, or of all clients. */
  forget(clientId: string | undefined): void {
    for (const [id, { client }] of this.#all()) if (clientId === undefined || client.id === clientId) this.#delete(id);
  }

  /** Returns the grants as the user sees them. */
  list(): GrantSummary[] {
    return this.#all()
      .filter(([id, { refresh }]) => refresh !== undefined && this.get(id))
      .map(([id, { client, code, scopes, createdAtMs }]) => {
        return { id, client, redirectUri: code.redirectUri, scopes, createdAtMs };
      });
  }

  /** Deletes the grants that have expired. Returns whether others are left. */
  sweep(): boolean {
    let isLeft = false;
    for (const [id] of this.#all()) {
      if (this.get(id)) isLeft = true;
      else this.#delete(id);
    }
    return isLeft;
  }

  /** Returns when the grants expire. */
  expiries(): number[] {
    return this.#all().map(([, { expiresAtMs }]) => expiresAtMs);
  }

  #all(): [string, GrantRecord][] {
    return [...this.#storage.kv.list<GrantRecord>({ prefix: PREFIX })].map(([key, grant]) => [
      key.slice(PREFIX.length),
      grant,
    ]);
  }

  #put(id: string, grant: GrantRecord): void {
    this.#storage.kv.put(PREFIX + id, grant);
  }

  #delete(id: string): void {
    this.#storage.kv.delete(PREFIX + id);
  }
}

/** Identifies equal exchanges of a code. Code, redirect URI, client and verifier are compared before. */
function computeFingerprint({ jkt = "" }: RedeemRequest): string {
  return `code ${jkt}`;
}

function invalid(description: string): TokenError {
  return { error: "invalid_grant", description };
}

/**
 * A token that nobody would accept. Thrown errors lose their class between objects, and the client would repeat the
 * request.
 */
function tooLong({ access_token: { length } }: TokenResponse): TokenError {
  const text = `authorizationServer(): claims makes an access token of ${length} characters; return less, for at most ${TEXT_MAX}.`;
  console.error(`mcp-edge: ${text}`);
  return { error: "server_error", description: "See the log of the server." };
}

function findResourceProblem({ resource }: GrantRecord, request: TokenSender): TokenError | undefined {
  if (request.resource === undefined || request.resource === resource) return undefined;
  return { error: "invalid_target", description: "resource is not that of the authorization request." };
}
