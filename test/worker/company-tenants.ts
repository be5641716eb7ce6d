/**
 * Many companies at one endpoint, with equal subjects, addresses, ids of assertions and clients, while their policies change and objects
 * are evicted. Every result is compared with the company that has signed the assertion.
 */
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Random } from "../chaos/random.ts";
import { Issuer, newKey, type SigningKey, signJwt } from "../harness/issuer.ts";
import type { Members } from "../http/messages.ts";
import { ModernClient, readAnswer } from "./client.ts";
import { basic, exchange } from "./companies.ts";
import { isCut } from "./tenant.ts";

export interface CompaniesOptions {
  readonly companies: number;
  readonly exchanges: number;
  readonly seed: number;
}

export interface CompaniesResult {
  /** Exchanges whose token was used and compared. */
  readonly accepted: number;
  /** Assertions that were refused because the policy of their company says so. */
  readonly refused: number;
  /** Attempts of one company to speak for another, and repeated assertions. */
  readonly attacks: number;
  /** Tokens that were used after their company was removed. */
  readonly ended: number;
  readonly evictions: number;
  /** Requests that were cut. */
  readonly unanswered: number;
  /** Requests for keys. */
  readonly keyRequests: number;
  readonly findings: readonly string[];
}

const SCOPES = ["read", "write", "admin"];
const CLIENTS = ["agent", "assistant"];
const SUBJECTS = ["ada", "grace", "boss"];
/** Exchanges at the same time. */
const CONCURRENT = 12;

interface Identity {
  readonly name: string;
  readonly issuer: string;
  readonly key: SigningKey;
  /** The domains of all companies. */
  readonly all: readonly string[];
}

interface Tenant extends Identity {
  /** What the company may decide, as it is stored. Undefined if it was removed. */
  policy: Policy | undefined;
  /** The latest token, with its scopes. */
  token: string | undefined;
}

interface Policy {
  readonly issuer: string;
  readonly scopes: readonly string[];
  readonly clients: readonly string[];
  readonly domains: readonly string[];
  readonly allow: { readonly domains: readonly string[] };
  readonly jwks?: object;
}

class Run {
  readonly #worker: TestWorker;
  readonly #random: Random;
  readonly #tenants: readonly Tenant[];
  readonly #findings: string[] = [];
  #accepted = 0;
  #refused = 0;
  #attacks = 0;
  #ended = 0;
  #evictions = 0;
  #unanswered = 0;
  #jti = 0;

  constructor(worker: TestWorker, random: Random, tenants: readonly Tenant[]) {
    this.#worker = worker;
    this.#random = random;
    this.#tenants = tenants;
  }

  async all(exchanges: number, keyRequests: () => number): Promise<CompaniesResult> {
    await this.#store(this.#tenants);
    let next = 0;
    const work = async (worker: number) => {
      while (next < exchanges) {
        next += 1;
        // Each worker has its own companies, so that it knows their policies.
        const own = this.#tenants.filter((_, index) => index % CONCURRENT === worker);
        const tenant = this.#pick(own);
        await this.#try(() => (this.#random.chance(0.1) ? this.#change(tenant) : Promise.resolve()));
        await this.#try(() => this.#exchange(tenant));
        await this.#try(() => this.#attack(tenant));
        if (next % 100 === 0) await this.#try(() => this.#evict());
      }
    };
    const workers = Math.min(CONCURRENT, this.#tenants.length);
    await Promise.all(Array.from({ length: workers }, (_, index) => work(index)));
    const unanswered = this.#unanswered;
    const counts = {
      unanswered,
      accepted: this.#accepted,
      refused: this.#refused,
      attacks: this.#attacks,
      ended: this.#ended,
    };
    return { ...counts, evictions: this.#evictions, keyRequests: keyRequests(), findings: this.#findings };
  }

  /** An eviction, or a loaded machine, can cut a request. What it would have answered is not compared. */
  async #try(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (!isCut(error)) throw error;
      this.#unanswered += 1;
    }
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#random.int(0, list.length - 1)] as T;
  }

  #find(finding: string): void {
    if (this.#findings.length < 20) this.#findings.push(finding);
  }

  async #store(tenants: readonly Tenant[]): Promise<void> {
    const body = JSON.stringify(tenants.map(({ issuer, policy }) => [issuer, policy ?? null]));
    const store = () => fetch(this.#worker.url("/directory"), { method: "POST", body });
    await store().catch((error: unknown) => (isCut(error) ? store() : Promise.reject(error)));
  }

  /** Objects that are in use at the moment are not evicted. */
  async #evict(): Promise<void> {
    await this.#worker.evict("McpObject");
    this.#evictions += 1;
  }

  /** Removes a company, adds it again, or gives it another policy. */
  async #change(tenant: Tenant): Promise<void> {
    const { issuer, token } = tenant;
    if (tenant.policy && this.#random.chance(0.5)) tenant.policy = undefined;
    else tenant.policy = createPolicy(tenant, this.#random);
    await this.#store([tenant]);
    tenant.token = undefined;
    if (tenant.policy || token === undefined) return;
    this.#ended += 1;
    if ((await this.#principalOf(token)) !== undefined) this.#find(`a token of ${issuer} works after it was removed`);
  }

  /** The claims of an assertion. The ids are the same numbers for all companies. */
  #claims({ issuer, name }: Tenant, clientId: string, subject: string): Members {
    const { origin } = this.#worker;
    const iat = Math.floor(Date.now() / 1000);
    this.#jti += 1;
    const about = { sub: subject, email: `${subject}@${name}.example`, email_verified: true };
    const place = { aud: origin, resource: `${origin}/mcp`, client_id: clientId };
    return { iss: issuer, ...about, ...place, iat, exp: iat + 300, jti: `assertion ${this.#jti}`, scope: "read write" };
  }

  #sign({ key }: Tenant, claims: Members): Promise<string> {
    return signJwt(key, claims, { typ: "oauth-id-jag+jwt" });
  }

  #send(assertion: string, clientId: string) {
    const twin: Record<string, string> = this.#random.chance(0.5) ? { "X-Twin": "yes" } : {};
    return exchange(this.#worker, assertion, {}, { ...basic(clientId, `a secret of the ${clientId}`), ...twin });
  }

  async #principalOf(token: string): Promise<Members | undefined> {
    const headers = { authorization: `Bearer ${token}` };
    const { status, text } = await readAnswer(new ModernClient(this.#worker.url("/mcp")).call("who", {}, { headers }));
    return status === 200 ? (JSON.parse(text ?? "{}") as Members) : undefined;
  }

  async #exchange(tenant: Tenant): Promise<void> {
    const [client, subject] = [this.#pick(CLIENTS), this.#pick(SUBJECTS)];
    const { policy, issuer } = tenant;
    const assertion = await this.#sign(tenant, this.#claims(tenant, client, subject));
    const { status, body } = await this.#send(assertion, client);
    if (status === 503) {
      this.#unanswered += 1;
      return;
    }
    const scopes = ["read", "write"].filter((scope) => policy?.scopes.includes(scope));
    const isAllowed = policy?.clients.includes(client) && scopes.length > 0;
    if ((status === 200) !== (isAllowed === true)) {
      return this.#find(`${issuer} with ${JSON.stringify(policy)} got ${status} ${JSON.stringify(body)} for ${client}`);
    }
    if (!isAllowed) {
      this.#refused += 1;
      return;
    }
    const token = String(body.access_token);
    const principal = await this.#principalOf(token);
    const { scopes: granted, clientId, claims } = principal ?? {};
    const found = JSON.stringify([granted, clientId, (claims as Members | undefined)?.identity]);
    const expected = JSON.stringify([scopes, client, { issuer, subject }]);
    if (found !== expected) this.#find(`a token of ${issuer} is for ${found}, not ${expected}`);
    this.#accepted += 1;
    tenant.token = token;
    const again = await this.#send(assertion, client);
    this.#attacks += 1;
    if (again.status !== 400 && again.status !== 503) this.#find(`an assertion of ${issuer} was accepted twice`);
  }

  /** The company tries to speak for another one, which is trusted or not. */
  async #attack(tenant: Tenant): Promise<void> {
    const other = this.#pick(this.#tenants.filter((each) => each !== tenant));
    const claims = this.#claims(tenant, "agent", "ada");
    const attacks: Members[] = [
      { ...claims, iss: other.issuer },
      { ...claims, email: `ada@${other.name}.example` },
      { ...claims, scope: "admin everything" },
    ];
    for (const attack of attacks) {
      const { status, body } = await this.#send(await this.#sign(tenant, attack), "agent");
      this.#attacks += 1;
      if (status !== 400 && status !== 503)
        this.#find(`${tenant.issuer} was accepted with ${JSON.stringify([attack, body])}`);
    }
  }
}

function createPolicy({ issuer, name, key, all }: Identity, random: Random): Policy {
  const domains = [`${name}.example`];
  return {
    issuer,
    scopes: SCOPES.filter(() => random.chance(0.7)),
    clients: CLIENTS.filter(() => random.chance(0.8)),
    domains,
    // Some rules admit users of all companies, but a company must not name users of another one.
    allow: { domains: random.chance(0.5) ? all : domains },
    // Some companies have fixed keys, and the others are discovered.
    ...(random.chance(0.3) && { jwks: { keys: [key.jwk] } }),
  };
}

/** Makes the companies, which share a host. */
async function createTenants(host: Issuer, count: number, random: Random): Promise<Tenant[]> {
  const all = Array.from({ length: count }, (_, index) => `company-${index}.example`);
  const reply = (value: object) => ({ status: 200, text: JSON.stringify(value) });
  const create = async (_: unknown, index: number): Promise<Tenant> => {
    const name = `company-${index}`;
    const issuer = `${host.url}/${name}`;
    // All keys have the same id.
    const key = await newKey("ES256", "key");
    const metadata = { issuer, jwks_uri: `${issuer}/jwks` };
    host.faults.set(`/.well-known/oauth-authorization-server/${name}`, reply(metadata));
    host.faults.set(`/${name}/jwks`, reply({ keys: [key.jwk] }));
    const identity = { name, issuer, key, all };
    return { ...identity, policy: createPolicy(identity, random), token: undefined };
  };
  return Promise.all(Array.from({ length: count }, create));
}

/** Runs the exchanges, and returns each assertion that was accepted although it must be refused. */
export async function runCompanies({ companies, exchanges, seed }: CompaniesOptions): Promise<CompaniesResult> {
  const random = new Random(seed);
  const host = await Issuer.start();
  const worker = await startWorker({
    entry: "test/worker/fixtures/companies.ts",
    objects: { MCP: "McpObject", DIRECTORY: "Directory" },
    twin: true,
  });
  try {
    const tenants = await createTenants(host, companies, random);
    return await new Run(worker, random, tenants).all(exchanges, () => host.keyRequests);
  } finally {
    await worker.stop();
    await host.stop();
  }
}
