/**
 * Sends tokens, proofs and headers that are almost valid, and lets the issuer answer with almost valid keys and metadata.
 * No answer may be 200 unless everything is right, none may be 500, and none may contain the token.
 */
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { Random } from "../chaos/random.ts";
import { base64url, Issuer, newKey, type SigningKey, signJwt } from "../harness/issuer.ts";
import { proofOf, thumbprint } from "../harness/proofs.ts";
import { ModernClient } from "../worker/client.ts";

type Members = Readonly<Record<string, unknown>>;

/** Values of every kind, in place of a claim or a member of a header. */
const VALUES: readonly unknown[] = [
  undefined,
  null,
  true,
  0,
  -1,
  1e308,
  Number.MAX_SAFE_INTEGER,
  "",
  "x",
  "none",
  "HS256",
  "\u0000",
  "𐀀",
  "https://[::1",
  [],
  [[]],
  ["x"],
  {},
  { jkt: "x" },
  { toString: 1, constructor: null },
];

/** Members that mean something in a token, a proof or a key. */
const NAMES = "alg typ kid crit jwk iss aud exp nbf sub cnf scope client_id jti htm htu iat ath nonce kty x y n".split(
  " ",
);

interface Attempt {
  readonly headers: Record<string, string>;
  /** What was changed. Undefined if nothing was. */
  readonly change: string | undefined;
}

export interface TokenFuzz {
  readonly count: number;
  readonly statuses: ReadonlyMap<number, number>;
  readonly findings: readonly string[];
}

/** Changes a string in one place. */
function damage(text: string, random: Random): string {
  const at = random.int(0, text.length - 1);
  const other = String.fromCharCode(random.int(33, 126));
  return random.pick<string>([
    [3, text.slice(0, at) + other + text.slice(at + 1)],
    [1, text.slice(0, at)],
    [1, text.slice(at)],
    [1, text + other],
    [1, text.split(".").reverse().join(".")],
    [1, `${text.split(".").slice(0, 2).join(".")}.`],
  ]);
}

class Fuzzer {
  readonly #random: Random;
  readonly #issuer: Issuer;
  readonly #worker: TestWorker;
  readonly #key: SigningKey;
  readonly #own: SigningKey;
  readonly #statuses = new Map<number, number>();
  readonly #findings: string[] = [];

  constructor(random: Random, issuer: Issuer, worker: TestWorker, key: SigningKey, own: SigningKey) {
    this.#random = random;
    this.#issuer = issuer;
    this.#worker = worker;
    this.#key = key;
    this.#own = own;
  }

  async run(count: number): Promise<TokenFuzz> {
    for (let sent = 0; sent < count; sent += 16) {
      await Promise.all(Array.from({ length: 16 }, () => this.#one()));
    }
    for (let sent = 0; sent < count / 20; sent += 1) await this.#withIssuer();
    return { count, statuses: this.#statuses, findings: this.#findings };
  }

  async #one(): Promise<void> {
    const attempt = await this.#attempt();
    const status = await this.#send(attempt);
    const isValid = attempt.change === undefined;
    if (status >= 500) this.#find(`status ${status} for ${attempt.change}`, attempt);
    if (isValid && status !== 200) this.#find(`status ${status} for a valid request`, attempt);
    if (!isValid && status === 200) this.#find(`200 for ${attempt.change}`, attempt);
  }

  /** Lets the issuer answer with something else than keys. Its token is valid, so 401, 503 and 200 are possible. */
  async #withIssuer(): Promise<void> {
    const random = this.#random;
    const key = { ...this.#key.jwk, ...this.#changed() };
    const text = random.pick<string>([
      [2, JSON.stringify({ keys: [key] })],
      [1, JSON.stringify({ keys: random.pick<unknown>(VALUES.map((value) => [1, value] as const)) })],
      [1, damage(JSON.stringify({ issuer: this.#issuer.url, jwks_uri: `${this.#issuer.url}/jwks` }), random)],
    ]);
    const path = random.chance(0.5) ? "/jwks" : "/.well-known/oauth-authorization-server";
    this.#issuer.faults.set(path, { status: 200, text });
    // The old keys are forgotten after ten minutes.
    await this.#worker.advance(601_000);
    const token = await this.#token({ exp: 4e9 });
    const attempt = { headers: { authorization: `Bearer ${token}` }, change: `${path}: ${text}` };
    const status = await this.#send(attempt);
    if (![200, 401, 503].includes(status)) this.#find(`status ${status} for ${attempt.change}`, attempt);
    this.#issuer.faults.clear();
  }

  #token(more: Members, header: Members = {}, by = this.#key): Promise<string> {
    const exp = Math.floor(Date.now() / 1000) + 600;
    const claims = { iss: this.#issuer.url, aud: this.#worker.url("/mcp"), sub: "alice", exp, ...more };
    return signJwt(by, claims, header);
  }

  /** A member with a value that it should not have. */
  #changed(): Members {
    const name = this.#random.pick<string>(NAMES.map((each) => [1, each] as const));
    return { [name]: this.#random.pick<unknown>(VALUES.map((value) => [1, value] as const)) };
  }

  async #attempt(): Promise<Attempt> {
    const random = this.#random;
    const url = this.#worker.url("/mcp");
    const cnf = { jkt: await thumbprint(this.#own) };
    const token = await this.#token({ cnf });
    const proof = await proofOf(this.#own, token, url);
    const write = (authorization: string, dpop: string, change?: string) => ({
      headers: { authorization, dpop },
      change,
    });
    const safe = (text: string) => text.replaceAll(/[^\x20-\x7e]/g, "?");
    switch (random.int(0, 9)) {
      case 0:
        return write(`DPoP ${token}`, proof);
      case 1: {
        const other = damage(token, random);
        return other === token ? write(`DPoP ${token}`, proof) : write(safe(`DPoP ${other}`), proof, "a damaged token");
      }
      case 2: {
        const other = damage(proof, random);
        return other === proof ? write(`DPoP ${token}`, proof) : write(`DPoP ${token}`, safe(other), "a damaged proof");
      }
      case 3: {
        // Signed by the right key, but bound to an unknown key.
        const claims = { cnf: { jkt: "x" }, ...this.#changed() };
        const other = await this.#token({ ...claims, cnf: { jkt: "x" } });
        return write(`DPoP ${other}`, await proofOf(this.#own, other, url), `claims ${JSON.stringify(claims)}`);
      }
      case 4: {
        const claims = { ...this.#changed(), ath: random.chance(0.5) ? "x" : undefined };
        return write(`DPoP ${token}`, await proofOf(this.#own, token, url, claims), `proof ${JSON.stringify(claims)}`);
      }
      case 5: {
        const header = { ...this.#changed(), typ: "jwt" };
        return write(
          `DPoP ${token}`,
          await proofOf(this.#own, token, url, {}, header),
          `header ${JSON.stringify(header)}`,
        );
      }
      case 6: {
        const header = this.#changed();
        const other = await this.#token({ cnf }, header, this.#own);
        return write(
          `DPoP ${other}`,
          await proofOf(this.#own, other, url),
          `token of the client, ${JSON.stringify(header)}`,
        );
      }
      case 7: {
        // Another key in the proof, of any form, and a hash that is never right.
        const jwk = {
          ...this.#own.jwk,
          ...random.pick<Members>([
            [1, { kty: "RSA" }],
            [1, {}],
          ]),
          ...this.#changed(),
        };
        const alg = random.pick<string>(["ES256", "RS256", "PS256", "EdDSA"].map((each) => [1, each] as const));
        const other = await proofOf(this.#own, token, url, { ath: "x" }, { jwk, alg });
        return write(`DPoP ${token}`, other, `proof with ${alg} and the key ${JSON.stringify(jwk)}`);
      }
      case 8: {
        // Claims of any form, which are read before the signature that does not fit them.
        const claims = { iss: this.#issuer.url, aud: url, sub: "alice", exp: 4e9, cnf, ...this.#changed() };
        const [head, , signature] = token.split(".");
        const other = [head, base64url(JSON.stringify(claims)), signature].join(".");
        return write(`DPoP ${other}`, proof, `unsigned claims ${JSON.stringify(claims)}`);
      }
      default: {
        const scheme = random.pick<string>([
          [1, "Bearer"],
          [1, "Basic"],
          [1, "DPoP,"],
          [1, "DPoP DPoP"],
        ]);
        return write(`${scheme} ${token}`, base64url(proof), `the scheme ${scheme}`);
      }
    }
  }

  async #send({ headers }: Attempt): Promise<number> {
    const response = await new ModernClient(this.#worker.url("/mcp")).call("who", {}, { headers });
    const text = await response.text();
    this.#statuses.set(response.status, (this.#statuses.get(response.status) ?? 0) + 1);
    const token = headers.authorization?.split(" ").at(-1) ?? "";
    const sent = [...response.headers].join("\n") + text;
    if (token.length > 40 && sent.includes(token)) this.#find("the answer contains the token", { headers, change: "" });
    return response.status;
  }

  #find(finding: string, { headers }: Attempt): void {
    if (this.#findings.length < 20) this.#findings.push(`${finding}\n${JSON.stringify(headers)}`);
  }
}

/** Sends this many inputs, and some more with faults of the issuer. */
export async function fuzzTokens(seed: number, count: number): Promise<TokenFuzz> {
  const issuer = await Issuer.start();
  const [key, own] = await Promise.all([newKey("ES256", "one"), newKey("ES256", undefined)]);
  issuer.published = [key.jwk];
  const entry = "test/worker/fixtures/dpop.ts";
  const objects = ["McpObject", "StrictObject", "NamedObject", "OpaqueObject"];
  const worker = await startWorker({ entry, objects, bindings: { ISSUER: issuer.url } });
  try {
    return await new Fuzzer(new Random(seed), issuer, worker, key, own).run(count);
  } finally {
    await worker.stop();
    await issuer.stop();
  }
}
