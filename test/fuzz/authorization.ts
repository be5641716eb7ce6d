/**
 * Sends almost valid requests to every route of an authorization server. No answer may be 500 or contain an internal detail or a
 * script, no redirect may lead anywhere but to a registered client, no page may lack its policy, and no token may be issued for
 * a request that is not valid.
 */

import { ROOT } from "../../scripts/tools.ts";
import { newKeys, startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Random } from "../chaos/random.ts";
import {
  allow,
  authorizeUrl,
  Browser,
  challengeOf,
  fieldsOf,
  newVerifier,
  register,
  signIn,
  visit,
} from "../worker/authorization.ts";
import { type Exchange, Exchanger } from "./exchange.ts";
import { findProblem } from "./findings.ts";
import type { Input } from "./grammar.ts";

const KNOWN = { client_id: "known", redirect_uri: "https://known.example/callback" };
const LOCAL = "http://127.0.0.1/callback";
const SITE = "https://site.example/callback";
/** Where a browser may be sent. */
const PLACES = ["https://known.example/callback", "http://127.0.0.1", SITE];

/** Strings that have broken similar servers, in place of any value. */
const TEXTS: readonly string[] = [
  "",
  " ",
  "0",
  "null",
  "undefined",
  "\u0000",
  "\r\nSet-Cookie: a=b",
  "%",
  "%00",
  "%c0%ae",
  "𐀀\ud800",
  "\u202egnp.exe",
  '"><script>alert(1)</script>',
  "'-alert(1)-'",
  "{{7*7}}",
  "javascript:alert(1)",
  "data:text/html,<script>alert(1)</script>",
  "//evil.example",
  "/\\evil.example",
  "https://evil.example/",
  "https://known.example@evil.example/callback",
  "https://known.example\\@evil.example/callback",
  "https://known.example/callback#",
  "https://known.example/callback/..;/evil",
  "https://KNOWN.example/callback",
  "https://knоwn.example/callback",
  "http://127.0.0.1:80@evil.example/callback",
  "http://127.1/callback",
  "http://[::1]:1/callback",
  "https://169.254.169.254/latest",
  "http://localhost:1/client.json",
  "https://client.example/client.json",
  "urn:ietf:params:oauth:token-type:jwt",
  "constructor",
  "__proto__",
  "none login consent",
  "x".repeat(3_000),
  "x".repeat(20_000),
  "[]",
  '{"a":1}',
  "1e309",
];

/** Values that are valid somewhere: tokens, codes, ids, cookies, verifiers. */
interface Valid {
  readonly code: string;
  readonly verifier: string;
  readonly refresh: string;
  readonly access: string;
  readonly local: string;
  readonly site: string;
  readonly question: string;
  readonly formCode: string;
  readonly revokeCode: string;
  readonly state: string;
  readonly cookies: ReadonlyMap<string, string>;
}

type Fields = Readonly<Record<string, string>>;

interface Attempt {
  readonly input: Input;
  /** Names of the parameters that were changed. */
  readonly changed: readonly string[];
}

export interface AuthorizationFuzz {
  readonly count: number;
  /** Number of responses by path and status. */
  readonly statuses: ReadonlyMap<string, number>;
  readonly findings: readonly string[];
}

/** After so many inputs, the user signs in again, and values that were used up are replaced. */
const FRESH = 400;
const CONCURRENT = 16;

class Fuzzer {
  readonly #random: Random;
  readonly #worker: TestWorker;
  readonly #exchanger: Exchanger;
  readonly #statuses = new Map<string, number>();
  readonly #findings: string[] = [];
  #valid: Valid | undefined;

  constructor(random: Random, worker: TestWorker) {
    this.#random = random;
    this.#worker = worker;
    this.#exchanger = new Exchanger(worker.origin, CONCURRENT);
  }

  async run(count: number): Promise<AuthorizationFuzz> {
    for (let sent = 0; sent < count; sent += CONCURRENT) {
      if (sent % FRESH < CONCURRENT) this.#valid = await this.#fresh();
      await Promise.all(Array.from({ length: CONCURRENT }, () => this.#one()));
    }
    this.#exchanger.close();
    return { count, statuses: this.#statuses, findings: this.#findings };
  }

  /** Signs in, and stops at each step for its values. */
  async #fresh(): Promise<Valid> {
    const { origin } = this.#worker;
    const user = `user${this.#random.int(0, 1_000_000)}`;
    const [browser, verifier] = [new Browser(), newVerifier()];
    const [local, site] = await Promise.all([register(origin), register(origin, { redirect_uris: [SITE] })]);
    const { page } = await visit(browser, authorizeUrl(origin, verifier, { ...KNOWN, prompt: "consent" }), user);
    const { request: question = "", code: formCode = "" } = fieldsOf(page);
    const returned = await allow(browser, authorizeUrl(origin, verifier, KNOWN), user);
    const listed = await (await browser.get(`${origin}/authorize/allowed`)).text();
    const tokens = await signIn(origin, KNOWN, { user: "other" });
    const begun = await browser.get(`${authorizeUrl(origin, verifier, KNOWN)}&prompt=login&identity_provider=people`);
    return {
      code: returned.get("code") ?? "",
      verifier,
      refresh: tokens.refresh_token,
      access: tokens.access_token,
      local: String(local.client_id),
      site: String(site.client_id),
      question,
      formCode,
      revokeCode: fieldsOf(listed).code ?? "",
      state: new URL(begun.headers.get("Location") ?? "", origin).searchParams.get("state") ?? "",
      cookies: new Map(browser.cookies),
    };
  }

  get #now(): Valid {
    if (this.#valid) return this.#valid;
    throw new Error("Nobody has signed in.");
  }

  async #one(): Promise<void> {
    const { input, changed } = this.#attempt();
    const exchange = await this.#exchanger.send(input);
    const path = input.path.split("?")[0] ?? "";
    const key = `${path.startsWith("/authorize/callback") ? "/authorize/callback" : path} ${exchange.status}`;
    this.#statuses.set(key, (this.#statuses.get(key) ?? 0) + 1);
    const problem = findProblem(input, exchange) ?? this.#problemOf(path, exchange, changed);
    if (problem === undefined || this.#findings.length >= 20) return;
    this.#findings.push(`${problem}\n${input.method} ${input.path}\n${JSON.stringify(input.headers)}\n${input.body}`);
  }

  #problemOf(path: string, { status, headers, body }: Exchange, changed: readonly string[]): string | undefined {
    const { location } = headers;
    if (location !== undefined && !isAllowed(location)) return `a redirect to ${location}`;
    const type = headers["content-type"] ?? "";
    if (type.startsWith("text/html")) {
      if (/<script|<img|onerror=|="(javascript|vbscript|data):/i.test(body)) return "a page with a script";
      if (!String(headers["content-security-policy"]).includes("frame-ancestors 'none'"))
        return "a page without its policy";
      const [, next] = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(body) ?? [];
      if (next !== undefined && !isAllowed(next)) return `a page that leads to ${next}`;
    }
    const isTokens = path === "/token" && status === 200;
    if (isTokens && changed.some((name) => DECISIVE.has(name))) return `tokens although ${changed.join()} were changed`;
    if (isTokens && headers["cache-control"] !== "no-store") return "tokens that may be stored";
    return undefined;
  }

  /** Replaces, removes or repeats some of the fields. */
  #change(fields: Fields): { readonly fields: [string, string][]; readonly changed: readonly string[] } {
    const random = this.#random;
    const { cookies: _, ...values } = this.#now;
    const others = [...TEXTS, ...Object.values(values)];
    const all = Object.entries(fields);
    for (let times = random.int(0, 2); times > 0; times -= 1) {
      const at = random.int(0, all.length - 1);
      const [name, value] = all[at] ?? ["", ""];
      const other = random.pick(others.map((each) => [1, each] as const));
      const kind = random.int(0, 5);
      if (kind === 0) all.splice(at, 1);
      else if (kind === 1) all.push([name, value]);
      else if (kind === 2) all[at] = [name, damage(value, random)];
      else if (kind === 3) all.push([random.pick(NAMES), other]);
      else all[at] = [name, other];
    }
    const isKept = ([name, value]: [string, string]) => {
      const given = all.filter((each) => each[0] === name);
      return given.length === 1 && given[0]?.[1] === value;
    };
    const changed = Object.entries(fields).flatMap((field) => (isKept(field) ? [] : [field[0]]));
    return { fields: all, changed };
  }

  #attempt(): Attempt {
    const { origin } = this.#worker;
    const { code, verifier, refresh, access, local, site, question, formCode, revokeCode, state } = this.#now;
    const random = this.#random;
    const asked: Fields = {
      response_type: "code",
      state: "state",
      code_challenge: challengeOf(verifier),
      code_challenge_method: "S256",
      ...random.pick<Fields>([
        [2, KNOWN],
        [1, { client_id: local, redirect_uri: LOCAL }],
        [1, { client_id: site, redirect_uri: SITE }],
      ]),
      ...random.pick<Fields>([
        [2, {}],
        [1, { scope: "read write" }],
        [1, { prompt: "none" }],
        [1, { prompt: "login", identity_provider: "people" }],
        [1, { resource: `${origin}/mcp` }],
      ]),
    };
    switch (random.int(0, 8)) {
      case 0:
      case 1:
        return this.#get("/authorize", asked);
      case 2:
        return this.#get(`/authorize/callback/${random.pick(PROVIDERS)}`, { state, user: "ada", iss: origin });
      case 3:
        return this.#post("/authorize", { request: question, code: formCode, decision: "allow" });
      case 4:
        return random.chance(0.5)
          ? this.#get("/authorize/allowed", {})
          : this.#post("/authorize/allowed", { code: revokeCode, revoke: "nobody" });
      case 5:
        return this.#post("/token", {
          grant_type: "authorization_code",
          code,
          ...KNOWN,
          code_verifier: verifier,
        });
      case 6:
        return this.#post("/token", { grant_type: "refresh_token", refresh_token: refresh, client_id: "known" });
      case 7:
        return this.#post("/revoke", { token: random.chance(0.5) ? "token" : `${access}x`, client_id: "known" });
      default:
        return this.#register();
    }
  }

  #headers(): Record<string, string> {
    const random = this.#random;
    const cookies = [...this.#now.cookies].flatMap(([name, value]) => {
      if (random.chance(0.1)) return [];
      return `${name}=${random.chance(0.1) ? damage(value, random) : value}`;
    });
    const all: Record<string, string> = { Cookie: cookies.join("; ") };
    if (random.chance(0.1)) all.Authorization = random.pick(HEADERS);
    if (random.chance(0.05)) all.DPoP = random.pick(HEADERS);
    if (random.chance(0.1))
      all.Origin = random.pick([
        [1, "null"],
        [1, "https://evil.example"],
        [1, this.#worker.origin],
      ]);
    return all;
  }

  #get(path: string, fields: Fields): Attempt {
    const { fields: all, changed } = this.#change({ ...fields, more: "1" });
    const method = this.#random.pick<string>([
      [8, "GET"],
      [1, "HEAD"],
      [1, "OPTIONS"],
    ]);
    const path_ = `${path}?${new URLSearchParams(all)}`.slice(0, 14_000);
    return { input: { method, path: path_, headers: this.#headers(), body: undefined, rpc: undefined }, changed };
  }

  #post(path: string, fields: Fields): Attempt {
    const { fields: all, changed } = this.#change(fields);
    const type = this.#random.pick<string>([
      [9, "application/x-www-form-urlencoded"],
      [1, "text/plain"],
    ]);
    const headers = { ...this.#headers(), "Content-Type": type };
    const body = Buffer.from(String(new URLSearchParams(all)));
    return { input: { method: "POST", path, headers, body, rpc: undefined }, changed };
  }

  #register(): Attempt {
    const random = this.#random;
    const texts = TEXTS.map((text) => [1, text] as const);
    const metadata: Record<string, unknown> = {
      redirect_uris: [LOCAL],
      client_name: random.pick(texts),
      token_endpoint_auth_method: "none",
    };
    const name = random.pick<string>([...NAMES, [3, "redirect_uris"], [3, "token_endpoint_auth_method"]]);
    metadata[name] = random.pick<unknown>([
      [1, null],
      [1, 7],
      [1, {}],
      [1, [random.pick(texts)]],
      [1, [[]]],
      [1, random.pick(texts)],
      [1, Array.from({ length: 50 }, () => LOCAL)],
    ]);
    const text = random.chance(0.1) ? damage(JSON.stringify(metadata), random) : JSON.stringify(metadata);
    const headers = { ...this.#headers(), "Content-Type": "application/json" };
    return {
      input: { method: "POST", path: "/register", headers, body: Buffer.from(text), rpc: undefined },
      changed: [name],
    };
  }
}

/** The parameters without which no tokens are issued. */
const DECISIVE = new Set(["grant_type", "code", "code_verifier", "redirect_uri", "client_id", "refresh_token"]);

const NAMES = (
  "client_id client_secret redirect_uri scope state resource prompt request request_uri response_mode response_type code " +
  "code_challenge code_challenge_method dpop_jkt identity_provider iss error user choose ticket token grant_type decision"
)
  .split(" ")
  .map((name) => [1, name] as const);

const PROVIDERS: readonly (readonly [number, string])[] = [
  [6, "people"],
  [1, "constructor"],
  [1, "%2e%2e"],
  [1, "people/"],
  [1, "unknown"],
];

const HEADERS: readonly (readonly [number, string])[] = [
  [1, "Basic"],
  [1, "Basic %%"],
  [1, `Basic ${btoa("known:")}`],
  [1, `Basic ${btoa("secretive:wrong")}`],
  [1, `Basic ${btoa("%:%")}`],
  [1, "Bearer token"],
  [1, "e30.e30."],
];

function isAllowed(location: string): boolean {
  return (
    /^\/(?![/\\])/.test(location) ||
    PLACES.some((place) => new RegExp(`^${place}([:/?&]|$)`).test(location)) ||
    isOwn(location)
  );
}

/** The identity provider of the test is the callback itself. */
function isOwn(location: string): boolean {
  return /^http:\/\/127\.0\.0\.1:\d+\/authorize\/callback\/(people|accounts)\?state=[\w-]+$/.test(location);
}

/** Changes a string in one place. */
function damage(text: string, random: Random): string {
  const at = random.int(0, Math.max(0, text.length - 1));
  const other = String.fromCharCode(random.int(33, 126));
  return random.pick<string>([
    [3, text.slice(0, at) + other + text.slice(at + 1)],
    [1, text.slice(0, at)],
    [1, text + other],
    [1, text + text],
  ]);
}

/** Sends this many inputs. */
export async function fuzzAuthorization(seed: number, count: number): Promise<AuthorizationFuzz> {
  const worker = await startWorker({
    entry: "test/worker/fixtures/authorization-server.ts",
    root: ROOT,
    objects: { MCP: "McpObject" },
    bindings: { UPSTREAM: "http://127.0.0.1:1", MCP_KEYS: newKeys() },
    outbound: () => new Response("{}", { status: 404 }),
  });
  try {
    return await new Fuzzer(new Random(seed), worker).run(count);
  } finally {
    await worker.stop();
  }
}
