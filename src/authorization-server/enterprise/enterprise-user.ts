/**
 * The object of a user of an authorization server with `enterprise()`. In addition to what every user has, it stores the access that
 * identity providers of companies have given to clients:
 *
 * - `user/assertions/<hash of the client>` ({@link UsedAssertion} list) is written for each assertion, so that each is accepted only once.
 * - `user/managed/<id>` ({@link ManagedGrant}), one for each client, organisation and set of scopes, is written for each assertion. It is
 *   deleted when it is revoked, or a month after its last token has expired, so that the user can revoke what a company gives again.
 * - `user/denied` ({@link DeniedClient} list) is written when the user revokes a client, and when the user allows the client again.
 *
 * The rows are independent of the stored user, because a user may never have signed in interactively.
 *
 * @module
 */
import type { UserHost } from "../policy.ts";
import { hashText, newId } from "../sealing.ts";
import type { AnsweredQuestion, Approval, GrantedClient } from "../users/grant-record.ts";
import type { ProviderTokenOutcome } from "../users/provider-tokens.ts";
import { ME, type SignedIn, UserObject, type UserRpc } from "../users/user-object.ts";
import type { AssertionIssuer } from "./assertion.ts";
import { type Issuers, isSame } from "./issuers.ts";

/** The access that an assertion gives a client. */
export interface ManagedAccess {
  readonly client: GrantedClient;
  readonly scopes: readonly string[];
  readonly issuer: AssertionIssuer;
}

/** A verified assertion. */
export interface VerifiedAssertion extends ManagedAccess {
  /** The hash of the id of the assertion and its issuer. */
  readonly id: string;
  /** Until when the assertion would be accepted. */
  readonly untilMs: number;
  /** The number of the request. A Worker that repeats a lost call sends the same number. */
  readonly attempt: string;
}

/** Why the object of a user refuses an assertion. */
export type AssertionProblem = "used" | "expired" | "denied" | "too-many";

/** The id of the grant, or the reason why an assertion is refused. */
export type AdmittedAssertion = { readonly grant: string } | { readonly problem: AssertionProblem };

/** The methods that the Worker calls over RPC. */
export interface EnterpriseUserRpc extends UserRpc {
  /** Uses up an assertion, and gives the client access. */
  admit(assertion: VerifiedAssertion): Promise<AdmittedAssertion>;
  /** Returns why an assertion would be refused, without using it up. */
  findProblem(assertion: VerifiedAssertion): Promise<AssertionProblem | undefined>;
}

/** Access that is stored. */
interface ManagedGrant extends ManagedAccess {
  readonly createdAtMs: number;
  /** When its last token expires. */
  readonly expiresAtMs: number;
}

/** An assertion that was used. */
type UsedAssertion = Pick<VerifiedAssertion, "id" | "untilMs" | "attempt">;

/** A client whose access the user has revoked. */
interface DeniedClient {
  /** The hash of the client id. */
  readonly client: string;
  readonly untilMs: number;
}

/**
 * The maximum clock skew, in milliseconds. Ids of assertions are stored for this time longer than they are accepted, so that neither a
 * changed option nor the clock of another machine makes one acceptable again.
 * @limit ms The largest `clockSkewMs`, and how much longer than it is accepted the id of a used assertion is stored.
 */
export const SKEW_MAX_MS = 5 * 60_000;
/**
 * The maximum number of used assertions that are stored, of one client for one user.
 * @limit count Used assertions of one client for one user that are stored. When it is reached, further ones get 503 until one expires.
 */
const USED_MAX = 500;
/**
 * The maximum number of clients whose used assertions are stored.
 * @limit count Clients whose used assertions are stored, for one user. When it is reached, further clients get 503 until one expires.
 */
const USERS_MAX = 200;
/**
 * The maximum number of grants that companies have given for a user.
 * @limit count Grants of companies for one user, one for each client, organisation and set of scopes. When it is reached, the one that
 * expires first is removed: one that has expired, or else one of the client that has the most.
 */
const MANAGED_MAX = 100;
/**
 * How long a grant is listed after its last token has expired, in milliseconds.
 * @limit ms How long a user sees, and can revoke, the access of a company after its last token has expired.
 */
const LISTED_MS = 30 * 24 * 60 * 60_000;
/**
 * The maximum number of clients that a user has revoked.
 * @limit count Clients that a user has revoked, and that a company cannot give access to. When it is reached, the oldest is removed.
 */
const DENIED_MAX = 100;
/**
 * How long the decision of a user is stored, in milliseconds.
 * @limit ms How long a company cannot give access to a client that the user has revoked, unless the user allows the client.
 */
const DENIED_MS = 365 * 24 * 60 * 60_000;
const DAY_MS = 24 * 60 * 60_000;

const MANAGED = "user/managed/";
const USED = "user/assertions/";
const DENIED = "user/denied";

/** The role of the object of a user. */
export class EnterpriseUser extends UserObject implements EnterpriseUserRpc {
  readonly #storage: DurableObjectStorage;
  readonly #env: unknown;
  readonly #host: UserHost;
  readonly #issuers: Issuers;

  constructor(ctx: DurableObjectState, env: unknown, host: UserHost, issuers: Issuers) {
    super(ctx, env, host);
    this.#storage = ctx.storage;
    this.#env = env;
    this.#host = host;
    this.#issuers = issuers;
  }

  async admit({ id, untilMs, attempt, ...access }: VerifiedAssertion): Promise<AdmittedAssertion> {
    const client = await hashText(access.client.id);
    const stored: UsedAssertion = { id, untilMs: untilMs + SKEW_MAX_MS, attempt };
    // An assertion that is refused writes nothing, and sets no alarm.
    const early = this.#problemOf(client, { id, untilMs, attempt });
    if (early) return { problem: early };
    await this.#arm(stored.untilMs);
    // There is no await from here to the last write, so that two requests cannot use the same assertion.
    const problem = this.#problemOf(client, { id, untilMs, attempt });
    if (problem) return { problem };
    this.#sweep();
    const used = this.#used(client);
    const nowMs = Date.now();
    const own = this.#managed().find(([, grant]) => isSameAccess(grant, access));
    const grant = own?.[0] ?? newId();
    const createdAtMs = own?.[1].createdAtMs ?? nowMs;
    if (!own) this.#makeRoom();
    const expiresAtMs = nowMs + this.#host.policy.accessTokenMs;
    this.#storage.transactionSync(() => {
      if (!used.some((each) => each.id === id)) this.#storage.kv.put(USED + client, [...used, stored]);
      this.#storage.kv.put(MANAGED + grant, { ...access, createdAtMs, expiresAtMs } satisfies ManagedGrant);
    });
    // The alarm may have deleted everything since it was set, and itself too.
    await this.#arm(stored.untilMs);
    return { grant };
  }

  async findProblem(assertion: VerifiedAssertion): Promise<AssertionProblem | undefined> {
    return this.#problemOf(await hashText(assertion.client.id), assertion);
  }

  #problemOf(client: string, { id, untilMs, attempt }: UsedAssertion): AssertionProblem | undefined {
    const used = this.#used(client);
    const before = used.find((each) => each.id === id);
    if (before && before.attempt !== attempt) return "used";
    // The keys of the issuer and this call may have taken so long that the id of an earlier use is no longer stored.
    if (!before && Date.now() >= untilMs) return "expired";
    if (this.#denied().some((each) => each.client === client)) return "denied";
    if (before) return undefined;
    const isFull = used.length === 0 ? this.#countUsers() >= USERS_MAX : used.length >= USED_MAX;
    return isFull ? "too-many" : undefined;
  }

  /** Access is live while the issuer is trusted and may give it. */
  override async isLive(grant: string): Promise<boolean> {
    const managed = this.#get(grant);
    if (!managed) return super.isLive(grant);
    const trusted = await this.#issuers.find(managed.issuer, this.#env);
    if (!trusted) return false;
    const { clients = [managed.client.id], scopes = managed.scopes } = trusted;
    return clients.includes(managed.client.id) && managed.scopes.every((scope) => scopes.includes(scope));
  }

  override async visit(session: string): Promise<SignedIn | undefined> {
    const signedIn = await super.visit(session);
    if (!signedIn) return undefined;
    const byClient = Map.groupBy(this.#managed(), ([, { client }]) => client.id);
    const managed = [...byClient.values()].flatMap((rows) => {
      const live = rows.filter(([id]) => this.#get(id));
      // A client without a token is listed with the access that it had last.
      const shown = live.length > 0 ? live : rows.toSorted(byExpiry).slice(-1);
      return shown.map(([id, { client, scopes, createdAtMs, issuer }]) => {
        // The page shows the host of the issuer in place of the host to which the client returns.
        return { id, client, redirectUri: issuer.issuer, scopes, createdAtMs };
      });
    });
    return { ...signedIn, listed: [...signedIn.grants, ...managed] };
  }

  override async approve(session: string, approval: Approval, question?: AnsweredQuestion) {
    const client = await hashText(approval.client.id);
    const created = await super.approve(session, approval, question);
    const denied = this.#denied();
    const others = denied.filter((each) => each.client !== client);
    if (!created || others.length === denied.length) return created;
    if (question) {
      this.#storage.kv.put(DENIED, others);
      return created;
    }
    // The user was not asked, because the client had access when the request arrived. The user has revoked it since.
    await super.revoke(created.grant, approval.client.id);
    return undefined;
  }

  override async revokeClient(session: string, clientId: string | undefined): Promise<void> {
    if (await super.visit(session)) {
      const ids = clientId === undefined ? this.#managed().map(([, { client }]) => client.id) : [clientId];
      const hashes = await Promise.all([...new Set(ids)].map(hashText));
      const untilMs = Date.now() + DENIED_MS;
      await this.#arm(untilMs);
      // There is no await from here to the last write, so that no assertion is admitted in between. The denial is also stored without
      // any access: the user has decided about the client, and not about its last token.
      const others = this.#denied().filter((each) => !hashes.includes(each.client));
      const denied: DeniedClient[] = [...others, ...hashes.map((client) => ({ client, untilMs }))];
      this.#storage.transactionSync(() => {
        this.#storage.kv.put(DENIED, denied.slice(-DENIED_MAX));
        for (const [id, { client }] of this.#managed())
          if (ids.includes(client.id)) this.#storage.kv.delete(MANAGED + id);
      });
    }
    await super.revokeClient(session, clientId);
  }

  override async revoke(grant: string, clientId: string): Promise<void> {
    if (this.#get(grant)?.client.id === clientId) this.#storage.kv.delete(MANAGED + grant);
    await super.revoke(grant, clientId);
  }

  /** An assertion brings no tokens of the identity provider. */
  override async upstream(grant: string): Promise<ProviderTokenOutcome> {
    return this.#get(grant) ? { problem: "none" } : super.upstream(grant);
  }

  override async alarm(): Promise<void> {
    this.#sweep();
    const nextMs = this.#nextMs();
    // The alarm of the other rows deletes everything if they have expired, so it runs only if nothing is left here.
    if (nextMs === undefined) return super.alarm();
    // Deletes the other rows that have expired: no grant has this id. The user's name and address are among them, and a decision is
    // stored for much longer.
    await super.revoke("", "");
    await this.#arm(this.#storage.kv.get(ME) ? 0 : nextMs);
  }

  #get(id: string): ManagedGrant | undefined {
    const grant = this.#storage.kv.get<ManagedGrant>(MANAGED + id);
    return grant && Date.now() < grant.expiresAtMs ? grant : undefined;
  }

  /** Returns the grants that are live or listed. */
  #managed(): [string, ManagedGrant][] {
    const rows = [...this.#storage.kv.list<ManagedGrant>({ prefix: MANAGED })];
    return rows.map(([key, grant]) => [key.slice(MANAGED.length), grant]);
  }

  #used(client: string): readonly UsedAssertion[] {
    return (this.#storage.kv.get<UsedAssertion[]>(USED + client) ?? []).filter(({ untilMs }) => Date.now() < untilMs);
  }

  /** Returns for each list of used assertions when its last one can be forgotten. */
  #usedUntil(): [string, number][] {
    const lists = [...this.#storage.kv.list<UsedAssertion[]>({ prefix: USED })];
    return lists.map(([key, list]) => [key, Math.max(...list.map(({ untilMs }) => untilMs))]);
  }

  #countUsers(): number {
    return this.#usedUntil().filter(([, untilMs]) => Date.now() < untilMs).length;
  }

  #denied(): readonly DeniedClient[] {
    return (this.#storage.kv.get<DeniedClient[]>(DENIED) ?? []).filter(({ untilMs }) => Date.now() < untilMs);
  }

  #makeRoom(): void {
    const managed = this.#managed().toSorted(byExpiry);
    if (managed.length < MANAGED_MAX) return;
    const expired = managed.filter(([id]) => !this.#get(id));
    const byClient = Map.groupBy(managed, ([, { client }]) => client.id);
    const [most = []] = [...byClient.values()].toSorted((one, other) => other.length - one.length);
    const [first] = [...expired, ...most];
    if (first) this.#storage.kv.delete(MANAGED + first[0]);
  }

  /** Deletes the grants that are no longer listed, and the lists if all of their members have expired. */
  #sweep(): void {
    const { kv } = this.#storage;
    const nowMs = Date.now();
    for (const [id, { expiresAtMs }] of this.#managed()) if (nowMs >= expiresAtMs + LISTED_MS) kv.delete(MANAGED + id);
    for (const [key, untilMs] of this.#usedUntil()) if (nowMs >= untilMs) kv.delete(key);
    if (kv.get(DENIED) && this.#denied().length === 0) kv.delete(DENIED);
  }

  /** Returns when the next row can be deleted, or undefined if there are none. */
  #nextMs(): number | undefined {
    const denied = this.#denied().map(({ untilMs }) => untilMs);
    const times = [
      ...this.#usedUntil().map(([, untilMs]) => untilMs),
      ...this.#managed().map(([, { expiresAtMs }]) => expiresAtMs + LISTED_MS),
      ...(denied.length > 0 ? [Math.max(...denied)] : []),
    ];
    return times.length > 0 ? Math.min(...times) : undefined;
  }

  /** Sets the alarm for the time after which rows can be deleted, but at most once a day, unless an earlier one is set. */
  async #arm(untilMs: number): Promise<void> {
    const atMs = Math.max(untilMs, Date.now() + DAY_MS);
    const setMs = await this.#storage.getAlarm();
    if (setMs === null || setMs > atMs) await this.#storage.setAlarm(atMs);
  }
}

function byExpiry([, one]: [string, ManagedGrant], [, other]: [string, ManagedGrant]): number {
  return one.expiresAtMs - other.expiresAtMs;
}

/** Whether two grants give the same client the same scopes, for the same organisation. */
function isSameAccess(one: ManagedAccess, other: ManagedAccess): boolean {
  const isSameClient = one.client.id === other.client.id && isSame(one.issuer, other.issuer);
  return isSameClient && one.scopes.toSorted().join(" ") === other.scopes.toSorted().join(" ");
}
