/** The identity providers of companies, the clients that use their assertions, and the Worker that trusts them. */
import { afterAll, beforeAll } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Issuer, newKey, type SigningKey, signJwt } from "../harness/issuer.ts";
import type { Members } from "../http/messages.ts";
import { postForm } from "./authorization.ts";

export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** A company whose identity provider issues assertions. */
export class Company implements AsyncDisposable {
  readonly issuer: Issuer;
  key: SigningKey;
  #issued = 0;

  private constructor(issuer: Issuer, key: SigningKey) {
    this.issuer = issuer;
    this.key = key;
  }

  static async start(): Promise<Company> {
    const company = new Company(await Issuer.start(), await newKey("ES256", "first"));
    company.issuer.published = [company.key.jwk];
    return company;
  }

  get url(): string {
    return this.issuer.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.issuer.stop();
  }

  /** Returns the claims of an assertion. An undefined member is left out. */
  claims(place: Place, more: Members = {}): Members {
    const nowS = Math.floor(Date.now() / 1000);
    this.#issued += 1;
    const all = {
      iss: this.url,
      sub: "ada",
      aud: place.origin,
      resource: `${place.origin}/mcp`,
      client_id: "agent",
      jti: `assertion ${this.#issued} ${crypto.randomUUID()}`,
      iat: nowS,
      exp: nowS + 300,
      scope: "read write",
      email: `${String(more.sub ?? "ada")}@example.com`,
      name: "Ada Lovelace",
      ...more,
    };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  }

  /** Issues an assertion. */
  assert(place: Place, more: Members = {}, header: Members = {}): Promise<string> {
    return signJwt(this.key, this.claims(place, more), { typ: "oauth-id-jag+jwt", ...header });
  }
}

/** Where a server is. */
interface Place {
  readonly origin: string;
}

export interface Answer {
  readonly status: number;
  readonly body: Members;
  readonly headers: Headers;
}

export const basic = (id: string, secret: string) => ({ Authorization: `Basic ${btoa(`${id}:${secret}`)}` });
export const AGENT = basic("agent", "a secret of the agent");
export const OTHER = basic("other", "a secret of the other");

/** Exchanges an assertion. */
export function exchange(
  { origin }: Place,
  assertion: string | undefined,
  more: Readonly<Record<string, string | undefined>> = {},
  headers: Record<string, string> = AGENT,
): Promise<Answer> {
  return postForm(`${origin}/token`, { grant_type: JWT_BEARER, assertion, ...more }, headers);
}

export let worker: TestWorker;
export let acme: Company;
export let globex: Company;

interface Policies {
  readonly companies: readonly Members[];
  /** Further options. */
  readonly more?: Members;
}

/** Starts a Worker that trusts these companies. */
export function startFor({ companies, more = {} }: Policies): Promise<TestWorker> {
  return startWorker({
    entry: "test/worker/fixtures/enterprise.ts",
    objects: { MCP: "McpObject" },
    bindings: { COMPANIES: JSON.stringify(companies), MORE: JSON.stringify(more) },
    twin: true,
  });
}

/** Starts two companies and the Worker for the tests of a file. @param policies Returns the trusted issuers and further options. */
export function setUp(policies: () => Policies): void {
  beforeAll(async () => {
    [acme, globex] = [await Company.start(), await Company.start()];
    worker = await startFor(policies());
  });
  afterAll(async () => {
    await worker?.stop();
    await acme?.issuer.stop();
    await globex?.issuer.stop();
  });
}
