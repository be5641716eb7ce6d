/**
 * The grants of one user, with the exchange of codes and refresh tokens. Requests for the same grant run one at a time.
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

/** A user who still has access, with the scopes that the user may grant. */
export interface ConfirmedUser {
  readonly user: SignedInUser;
  readonly offered: readonly string[];
}

/** A request for new tokens, after the code or refresh token was verified. */
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
 * @limit count Grants of one user, one for each sign-in of a client. When it is reached, the oldest unused code is removed, or
 * else the least recently used grant of the client that has the most.
 */
const GRANTS_MAX = 100;

/**
 * The maximum number of unused codes of one client.
 * @limit count Unused codes of one client for one user. When it is reached, the oldest is removed.
 */
const CODES_MAX = 10;

/** The grants of a user. */
export class Grants {
  readonly #storage: UserStorage;
  readonly #confirm: () => Promise<ConfirmedUser | undefined>;
  readonly #turns = new Turns();

  /** @param confirm Returns the user, or undefined if the user no longer has access. */
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
   * @param isAllowed Called immediately before the grant is stored, because the user may have signed out in the meantime.
   * @param alsoStore Called when the grant is stored. If it throws, the grant is not stored either.
   */
  async create(
    approval: Approval & { readonly expiresAtMs: number },
    isAllowed: () => boolean,
    alsoStore: () => void,
  ): Promise<{ grant: string; secret: string } | undefined> {
    const [grant, secret] = [newId(), newSecret()];
    const hash = await hashText(secret);
    if (!isAllowed()) return undefined;
    const nowMs = Date.now();
    const { code, ...given } = approval;
    this.#storage.transactionSync(() => {
      this.sweep();
      this.#makeRoom(given.client.id);
      this.#put(grant, { ...given, code: { ...code, hash }, createdAtMs: nowMs, usedAtMs: nowMs, kept: [] });
      alsoStore();
    });
    return { grant, secret };
  }

  /**
   * Deletes one grant if there are too many. Unused codes are deleted first: an untrusted page can send any number of
   * authorization requests for a client that the user has already allowed, and these must not end access that is in use. If no
   * code is unused, the least recently used grant of the client with the most grants is deleted.
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
      if (!grant || code?.hash !== (await hashText(secret))) return invalid("The code is invalid or has expired.");
      if (grant.client.id !== request.clientId) return invalid("The code was issued to another client.");
      if (code.redirectUri !== request.redirectUri)
        return invalid("redirect_uri differs from the authorization request.");
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

  /** Handles the second use of a code. A client that has lost the response repeats its request at once. */
  async #repeatCode(
    id: string,
    grant: GrantRecord,
    secret: string,
    request: RedeemRequest,
  ): Promise<TokenResponse | TokenError> {
    const kept = findCodeResponse(grant, Date.now());
    const response = kept?.request === computeFingerprint(request) ? await openResponse(secret, kept) : undefined;
    if (response && this.get(id)) return response;
    // Either this sender or the first one may have stolen the code and its verifier, so neither keeps the access.
    this.#delete(id);
    return { ...invalid("The code was used before."), replayed: "code" };
  }

  /** Exchanges a refresh token for tokens. A repeated request receives the same response for a minute. */
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

  /** Handles a request with a refresh token that was replaced. */
  async #repeat(order: TokenOrder): Promise<TokenResponse | TokenError> {
    const { id, grant, used } = order;
    const nowMs = Date.now();
    const kept = findKeptResponse(grant, used.presented, nowMs);
    if (kept?.request !== used.request) {
      // Two parties have a token that was replaced long ago, or that is sent with different parameters. It is unknown which
      // of them is the client.
      this.#delete(id);
      return {
        ...invalid("The refresh token was used before. The user must sign in again."),
        replayed: "refresh-token",
      };
    }
    if (isRepeatable(kept, nowMs))
      return (await openResponse(used.secret, kept)) ?? invalid("The refresh token was used before.");
    // The new successor replaces the first one, so only one of two parties that have the token can continue.
    return this.#issue({ ...order, used: { ...used, usedAtMs: kept.usedAtMs } });
  }

  /**
   * Issues tokens for a grant. The new refresh token and the response are stored before the response leaves the object.
   */
  async #issue({ id, grant, jkt, scopes: asked, used }: TokenOrder): Promise<TokenResponse | TokenError> {
    const beyond = asked?.find((scope) => !grant.scopes.includes(scope));
    if (beyond !== undefined) return { error: "invalid_scope", description: "A scope was not granted." };
    const confirmed = await this.#confirm();
    if (!confirmed) return invalid("The user no longer has access.");
    const scopes = (asked ?? grant.scopes).filter((scope) => confirmed.offered.includes(scope));
    const secret = newSecret();
    const refresh = await hashText(secret);
    const response = await this.#seal({ id, grant, jkt, scopes, secret }, confirmed.user);
    if (response.access_token.length > TEXT_MAX) return tooLong(response);
    const kept = await keepResponse(grant, used, response);
    // The user may have revoked the grant in the meantime. There is no await between this check and the write.
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

  /** Revokes a grant if it belongs to the client. */
  revoke(id: string, clientId: string): void {
    if (this.get(id)?.client.id === clientId) this.#delete(id);
  }

  /** Revokes all grants of a client, or of all clients if `clientId` is undefined. */
  revokeClient(clientId: string | undefined): void {
    for (const [id, { client }] of this.#all()) if (clientId === undefined || client.id === clientId) this.#delete(id);
  }

  /** Returns the grants that are shown to the user. */
  list(): GrantSummary[] {
    return this.#all()
      .filter(([id, { refresh }]) => refresh !== undefined && this.get(id))
      .map(([id, { client, code, scopes, createdAtMs }]) => {
        return { id, client, redirectUri: code.redirectUri, scopes, createdAtMs };
      });
  }

  /** Deletes the expired grants. Returns whether any grant is left. */
  sweep(): boolean {
    let isLeft = false;
    for (const [id] of this.#all()) {
      if (this.get(id)) isLeft = true;
      else this.#delete(id);
    }
    return isLeft;
  }

  /** Returns the times at which the grants expire. */
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

/** Returns the fingerprint of a code exchange. Code, redirect URI, client and verifier have already been compared. */
function computeFingerprint({ jkt = "" }: RedeemRequest): string {
  return `code ${jkt}`;
}

function invalid(description: string): TokenError {
  return { error: "invalid_grant", description };
}

/**
 * Returns the error for an access token that is too long to be accepted. It is not thrown, because errors lose their class
 * over RPC, and the client would then repeat the request.
 */
function tooLong({ access_token: { length } }: TokenResponse): TokenError {
  const text = `authorizationServer(): claims returns so much that the access token has ${length} characters; at most ${TEXT_MAX} are allowed.`;
  console.error(`mcp-edge: ${text}`);
  return { error: "server_error", description: "See the log of the server." };
}

function findResourceProblem({ resource }: GrantRecord, request: TokenSender): TokenError | undefined {
  if (request.resource === undefined || request.resource === resource) return undefined;
  return { error: "invalid_target", description: "resource differs from the authorization request." };
}
