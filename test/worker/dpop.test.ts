/** DPoP on workerd: every check that RFC 9449 asks of a resource server, and SEP-1932. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { base64url, Issuer, newKey, type SigningKey, signJwt } from "../harness/issuer.ts";
import { expectLogs } from "../harness/logs.ts";
import { proofOf, sha256, thumbprint } from "../harness/proofs.ts";
import { initialize, type Members, standardHeaders } from "../http/messages.ts";
import { ModernClient, Reading, readAnswer } from "./client.ts";

expectLogs(/^mcp-edge: tokens must have the issuer/, /^mcp-edge: This server is not configured correctly\./);

const OBJECTS = ["McpObject", "StrictObject", "NamedObject", "OpaqueObject"];

let issuer: Issuer;
let worker: TestWorker;
/** The key of the issuer, and the keys of two clients. */
let key: SigningKey;
let own: SigningKey;
let foreign: SigningKey;
let aheadS = 0;

beforeAll(async () => {
  issuer = await Issuer.start();
  [key, own, foreign] = await Promise.all([newKey("ES256", "one"), client("ES256"), client("ES256")]);
  const entry = "test/worker/fixtures/dpop.ts";
  worker = await startWorker({ entry, objects: OBJECTS, bindings: { ISSUER: issuer.url } });
});
afterAll(async () => {
  await worker?.stop();
  await issuer?.stop();
});
beforeEach(() => {
  issuer.published = [key.jwk];
});

const client = (algorithm: string) => newKey(algorithm, undefined);
const url = (path = "/mcp") => worker.url(path);
const nowS = () => Math.floor(Date.now() / 1000) + aheadS;
async function advance(seconds: number): Promise<void> {
  aheadS += seconds;
  await worker.advance(seconds * 1000);
}
async function tokenFor(path = "/mcp", by: SigningKey | "none" = own, more: Members = {}): Promise<string> {
  const bound = by !== "none" && { cnf: { jkt: await thumbprint(by) } };
  const claims = { iss: issuer.url, aud: url(path), sub: "alice", exp: nowS() + 900, scope: "read", ...bound, ...more };
  return signJwt(key, claims);
}

interface ProofChanges {
  readonly claims?: Members;
  readonly header?: Members;
  readonly by?: SigningKey;
}

let proofs = 0;

/** Makes a proof for a POST. */
async function proofFor(
  token: string,
  path = "/mcp",
  { claims, header, by = own }: ProofChanges = {},
): Promise<string> {
  proofs += 1;
  const all = { jti: `proof ${proofs}`, htm: "POST", htu: url(path), iat: nowS(), ath: await sha256(token), ...claims };
  return signJwt(by, all, { typ: "dpop+jwt", jwk: by.jwk, kid: undefined, ...header });
}

type Headers = Readonly<Record<string, string>>;
const proven = (token: string, proof: string): Headers => ({ authorization: `DPoP ${token}`, dpop: proof });

function who(headers: Headers, path = "/mcp"): Promise<Response> {
  return new ModernClient(url(path)).call("who", {}, { headers });
}

/** The status, the challenge and the nonce of a response. */
async function outcomeOf(headers: Headers, path = "/mcp") {
  const response = await who(headers, path);
  await response.body?.cancel();
  const { status, headers: received } = response;
  return { status, challenge: received.get("WWW-Authenticate") ?? "", nonce: received.get("DPoP-Nonce") };
}

async function statusOf(headers: Headers, path = "/mcp"): Promise<number> {
  return (await outcomeOf(headers, path)).status;
}

const refused = (error: string, reason: string) => ({
  status: 401,
  challenge: expect.stringMatching(new RegExp(`DPoP algs="[^"]+", error="${error}", error_description="${reason}"`)),
  nonce: null,
});

describe("DPoP: bound tokens", () => {
  test("a bound token is accepted with a proof, and reaches handlers with its claims", async () => {
    const token = await tokenFor();
    const answer = await readAnswer(who(proven(token, await proofFor(token))));
    expect(JSON.parse(answer.text ?? "{}")).toMatchObject({
      subject: "alice",
      claims: { cnf: { jkt: await thumbprint(own) } },
    });
  });

  test("a bound token is accepted with a key of each algorithm", { timeout: 60_000 }, async () => {
    for (const algorithm of ["ES256", "EdDSA", "Ed25519", "PS256", "RS256"]) {
      const by = await client(algorithm);
      const token = await tokenFor("/mcp", by);
      expect([algorithm, await statusOf(proven(token, await proofFor(token, "/mcp", { by })))]).toEqual([
        algorithm,
        200,
      ]);
    }
  });

  test("a bound token is never accepted as Bearer, with or without a proof, nor where proofs are not verified", async () => {
    const token = await tokenFor();
    const headers = { authorization: `Bearer ${token}` };
    for (const each of [headers, { ...headers, dpop: await proofFor(token) }]) {
      expect(await outcomeOf(each)).toEqual(refused("invalid_token", "The token is bound to a key."));
    }
    expect(await outcomeOf(headers, "/unproven")).toEqual({
      status: 401,
      challenge: expect.stringMatching(
        /^Bearer error="invalid_token", error_description="The token is bound to a key."/,
      ),
      nonce: null,
    });
  });

  test("a bound token is refused with its own challenge if it has expired", async () => {
    const token = await tokenFor("/mcp", own, { exp: nowS() - 60 });
    expect(await outcomeOf(proven(token, await proofFor(token)))).toEqual(
      refused("invalid_token", "The token has expired."),
    );
  });

  test("a bound token is refused without a proof, even if it was introspected", async () => {
    const cnf = { jkt: await thumbprint(own) };
    issuer.tokens.set("opaque", { active: true, aud: url("/opaque"), sub: "alice", cnf });
    expect(await statusOf({ authorization: "Bearer opaque" }, "/opaque")).toBe(401);
    const proof = await proofFor("opaque", "/opaque");
    expect(await statusOf(proven("opaque", proof), "/opaque")).toBe(200);
    expect(await statusOf(proven("opaque", proof), "/opaque")).toBe(401);
  });

  test.each<[string, Members, string]>([
    ["to no key", { cnf: undefined }, "The token is not bound to a key."],
    ["to a string", { cnf: "key" }, "The token is not bound to a key."],
    ["to a certificate", { cnf: { "x5t#S256": "hash" } }, "The token is bound to a key of another kind."],
    ["to nothing", { cnf: {} }, "The token is not bound to a key."],
  ])("a token that is bound %s is refused with a proof", async (_, claims, reason) => {
    const token = await tokenFor("/mcp", "none", claims);
    expect(await outcomeOf(proven(token, await proofFor(token)))).toEqual(refused("invalid_token", reason));
  });

  test("a token that is bound to a key and to a certificate is refused, because the certificate is not verified", async () => {
    const cnf = { jkt: await thumbprint(own), "x5t#S256": "hash" };
    const token = await tokenFor("/mcp", own, { cnf });
    expect(await statusOf(proven(token, await proofFor(token)))).toBe(401);
  });

  test("a token of another key is refused", async () => {
    const token = await tokenFor("/mcp", foreign);
    expect(await outcomeOf(proven(token, await proofFor(token)))).toEqual(
      refused("invalid_token", "The token is bound to another key."),
    );
  });
});

describe("DPoP: a token that is bound to no key", () => {
  test("is accepted as Bearer", async () => {
    const token = await tokenFor("/mcp", "none");
    expect(await statusOf({ authorization: `Bearer ${token}` })).toBe(200);
  });

  test("is refused if bound tokens are required, with the challenge of DPoP only", async () => {
    const token = await tokenFor("/strict", "none");
    const { status, challenge } = await outcomeOf({ authorization: `Bearer ${token}` }, "/strict");
    expect(status).toBe(401);
    expect(challenge).toMatch(/^DPoP algs="ES256", scope="read", resource_metadata="[^"]+"$/);
  });
});

test("a request without a token gets the challenges of both schemes", async () => {
  const { status, challenge } = await outcomeOf({});
  const metadata = `resource_metadata="${url("/.well-known/oauth-protected-resource/mcp")}"`;
  expect([status, challenge]).toEqual([
    401,
    `Bearer ${metadata}, DPoP algs="ES256 EdDSA Ed25519 PS256 RS256", ${metadata}`,
  ]);
});

test("the metadata contains the algorithms for proofs, and whether proofs are required", async () => {
  const metadata = async (path: string) => (await fetch(url(`/.well-known/oauth-protected-resource${path}`))).json();
  expect(await metadata("/mcp")).toMatchObject({
    dpop_signing_alg_values_supported: ["ES256", "EdDSA", "Ed25519", "PS256", "RS256"],
    dpop_bound_access_tokens_required: false,
  });
  expect(await metadata("/strict")).toMatchObject({
    dpop_signing_alg_values_supported: ["ES256"],
    dpop_bound_access_tokens_required: true,
  });
});

const unsigned = (header: Members, claims: Members) =>
  `${base64url(JSON.stringify(header))}.${base64url(JSON.stringify(claims))}.`;
const form = "The proof is not a single JWT of the type dpop\\+jwt.";
const time = "The proof is too old, or from the future.";
const otherUrl = "The proof is for another URL.";

/** Proofs that are refused: a name, the changes, and the reason. */
const FAULTS: readonly (readonly [string, (token: string) => ProofChanges | Promise<ProofChanges>, string])[] = [
  ["of the type of a token", () => ({ header: { typ: "at+jwt" } }), form],
  ["without a type", () => ({ header: { typ: undefined } }), form],
  ["with an extension that must be understood", () => ({ header: { crit: ["exp"] } }), form],
  ["without a key", () => ({ header: { jwk: undefined } }), "The proof has no public key."],
  ["with a string as key", () => ({ header: { jwk: "key" } }), "The proof has no public key."],
  ["with a list as key", () => ({ header: { jwk: [] } }), "The proof has no public key."],
  ["with an empty key", () => ({ header: { jwk: {} } }), "The key of the proof does not fit its algorithm."],
  [
    "with a private key",
    async () => ({ header: { jwk: { ...(await crypto.subtle.exportKey("jwk", own.pair.privateKey)) } } }),
    "The proof has no public key.",
  ],
  ["with a symmetric key", () => ({ header: { jwk: { kty: "oct", k: "AAAA" } } }), "The proof has no public key."],
  [
    "with a key of another kind than its algorithm",
    async () => ({ header: { jwk: (await client("Ed25519")).jwk } }),
    "The key of the proof does not fit its algorithm.",
  ],
  [
    "with a modulus that cannot be converted to a string",
    () => ({ header: { alg: "RS256", jwk: { kty: "RSA", e: "AQAB", n: { toString: 1, valueOf: 1 } } } }),
    "The key of the proof does not fit its algorithm.",
  ],
  ["with HMAC", () => ({ header: { alg: "HS256" } }), "The algorithm of the proof is not accepted."],
  [
    "with an algorithm that is not allowed",
    () => ({ header: { alg: "ES512" } }),
    "The algorithm of the proof is not accepted.",
  ],
  ["signed by another key", () => ({ header: { jwk: foreign.jwk } }), "The signature of the proof is not valid."],
  ["without an id", () => ({ claims: { jti: undefined } }), "The proof has no id."],
  ["with an empty id", () => ({ claims: { jti: "" } }), "The proof has no id."],
  ["with a number as id", () => ({ claims: { jti: 7 } }), "The proof has no id."],
  ["without a method", () => ({ claims: { htm: undefined } }), "The proof is for another method."],
  ["for GET", () => ({ claims: { htm: "GET" } }), "The proof is for another method."],
  ["for the method in another case", () => ({ claims: { htm: "post" } }), "The proof is for another method."],
  ["without a URL", () => ({ claims: { htu: undefined } }), otherUrl],
  ["for something that is not a URL", () => ({ claims: { htu: "/mcp" } }), otherUrl],
  ["for another path", () => ({ claims: { htu: url("/other") } }), otherUrl],
  ["for the path with a slash", () => ({ claims: { htu: url("/mcp/") } }), otherUrl],
  ["for another host", () => ({ claims: { htu: "https://mcp.example.com/mcp" } }), otherUrl],
  ["for another scheme", () => ({ claims: { htu: url().replace("http:", "https:") } }), otherUrl],
  ["for another port", () => ({ claims: { htu: "http://127.0.0.1:1/mcp" } }), otherUrl],
  ["without a time", () => ({ claims: { iat: undefined } }), time],
  ["with a string as time", () => ({ claims: { iat: String(nowS()) } }), time],
  ["older than 5 minutes", () => ({ claims: { iat: nowS() - 302 } }), time],
  ["more than 5 minutes in the future", () => ({ claims: { iat: nowS() + 303 } }), time],
  ["without the hash of the token", () => ({ claims: { ath: undefined } }), "The proof is for another token."],
  [
    "with the hash of another token",
    async () => ({ claims: { ath: await sha256("another") } }),
    "The proof is for another token.",
  ],
  [
    "with the hash in hexadecimal digits",
    async (token) => ({ claims: { ath: Buffer.from(await sha256(token), "base64url").toString("hex") } }),
    "The proof is for another token.",
  ],
];

describe("DPoP: a refused proof", () => {
  test.each(FAULTS)("%s causes 401 invalid_dpop_proof and the reason", async (_, changesOf, reason) => {
    const token = await tokenFor();
    const proof = await proofFor(token, "/mcp", await changesOf(token));
    expect(await outcomeOf(proven(token, proof))).toEqual(refused("invalid_dpop_proof", reason));
  });

  test("causes 401 if it is missing, sent twice, not a JWT, unsigned, altered or too long", async () => {
    const token = await tokenFor();
    const proof = await proofFor(token);
    const [head, , signature] = proof.split(".");
    const other = base64url(
      JSON.stringify({ jti: "own", htm: "POST", htu: url(), iat: nowS(), ath: await sha256(token) }),
    );
    const { jwk } = own;
    for (const [text, reason] of [
      [undefined, "The proof is missing."],
      [`${proof}, ${await proofFor(token)}`, form],
      ["", form],
      ["proof", form],
      ["a.b.c", form],
      [token, form],
      [unsigned({ alg: "none", typ: "dpop+jwt", jwk }, {}), "The algorithm of the proof is not accepted."],
      [`${head}.${other}.${signature}`, "The signature of the proof is not valid."],
      [await proofFor(token, "/mcp", { claims: { more: "x".repeat(7_000) } }), form],
    ] as const) {
      const headers: Headers = { authorization: `DPoP ${token}`, ...(text === undefined ? {} : { dpop: text }) };
      expect(await outcomeOf(headers)).toEqual(refused("invalid_dpop_proof", reason));
    }
    // None of these has used up the proof.
    expect(await statusOf(proven(token, proof))).toBe(200);
  });
});

describe("DPoP: an accepted proof", () => {
  test.each<[string, () => Members]>([
    ["almost 5 minutes old", () => ({ iat: nowS() - 297 })],
    ["almost 5 minutes in the future", () => ({ iat: nowS() + 297 })],
    ["made for the URL with a query and a fragment", () => ({ htu: `${url()}?a=b#c` })],
    ["made for the URL in another form", () => ({ htu: url("/%6dcp").replace("http:", "HTTP:") })],
    ["made with a nonce that was not requested", () => ({ nonce: "any" })],
  ])("can be %s", async (_, claims) => {
    const token = await tokenFor();
    expect(await statusOf(proven(token, await proofFor(token, "/mcp", { claims: claims() })))).toBe(200);
  });

  test("names the URL of the option resource, even behind a proxy that changes host or path", async () => {
    const token = await tokenFor("/named", own, { aud: "https://mcp.example.com/public" });
    for (const [htu, status] of [
      ["https://mcp.example.com/public", 200],
      ["https://mcp.example.com/named", 200],
      [url("/named"), 401],
    ] as const) {
      const proof = await proofFor(token, "/named", { claims: { htu } });
      expect([htu, await statusOf(proven(token, proof), "/named")]).toEqual([htu, status]);
    }
  });

  test("can be as old as windowMs", async () => {
    const claims = { htu: "https://mcp.example.com/named" };
    const token = await tokenFor("/named", own, { aud: "https://mcp.example.com/public" });
    for (const [iat, status] of [
      [nowS() - 8, 200],
      [nowS() - 12, 401],
    ] as const) {
      const proof = await proofFor(token, "/named", { claims: { ...claims, iat } });
      expect(await statusOf(proven(token, proof), "/named")).toBe(status);
    }
  });
});

describe("DPoP: a proof that was used before", () => {
  const used = refused("invalid_dpop_proof", "The proof was used before.");

  test("is refused, even by concurrent requests and after the object was evicted", { tags: "long" }, async () => {
    const token = await tokenFor();
    const proof = await proofFor(token);
    const statuses = await Promise.all(Array.from({ length: 8 }, () => statusOf(proven(token, proof))));
    expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 401)]);
    await worker.evict("McpObject");
    expect(await outcomeOf(proven(token, proof))).toEqual(used);
    await worker.restart();
    expect(await outcomeOf(proven(token, proof))).toEqual(used);
  });

  test("is refused by its id, even if it is created again with another time", async () => {
    const token = await tokenFor();
    const claims = { jti: "the same" };
    expect(await statusOf(proven(token, await proofFor(token, "/mcp", { claims })))).toBe(200);
    const again = await proofFor(token, "/mcp", { claims: { ...claims, iat: nowS() + 60 } });
    expect(await outcomeOf(proven(token, again))).toEqual(used);
  });

  test("has an id that a client with another key can use", async () => {
    for (const by of [own, foreign]) {
      const token = await tokenFor("/mcp", by);
      expect(await statusOf(proven(token, await proofFor(token, "/mcp", { by, claims: { jti: "of both" } })))).toBe(
        200,
      );
    }
  });

  test("is refused until it is too old, and then deleted from the object", { tags: "long" }, async () => {
    const by = await client("ES256");
    const token = await tokenFor("/mcp", by);
    const proof = await proofFor(token, "/mcp", { by, claims: { iat: nowS() + 290 } });
    expect(await statusOf(proven(token, proof))).toBe(200);
    const id = `proof:${await thumbprint(by)}`;
    await advance(555);
    expect(await outcomeOf(proven(token, proof))).toEqual(used);
    expect(Object.keys((await worker.storage("McpObject", id)).keys)).toEqual([expect.stringMatching(/^proofs\/\d+$/)]);
    await advance(50);
    expect(Object.keys((await worker.storage("McpObject", id)).keys)).toEqual([]);
    expect(await outcomeOf(proven(token, proof))).toEqual(refused("invalid_dpop_proof", time));
  });
});

describe("DPoP: a nonce of the server", () => {
  const demanded = {
    status: 401,
    challenge: expect.stringMatching(/^DPoP algs="ES256", error="use_dpop_nonce", .*scope="read", resource_metadata=/),
    nonce: expect.stringMatching(/^[\w-]+$/),
  };

  async function ask(token: string, nonce: unknown) {
    return outcomeOf(proven(token, await proofFor(token, "/strict", { claims: { nonce } })), "/strict");
  }

  test("is required, and then accepted for several proofs until it expires", async () => {
    const token = await tokenFor("/strict");
    const first = await ask(token, undefined);
    expect(first).toEqual(demanded);
    for (let call = 0; call < 2; call += 1) expect((await ask(token, first.nonce)).status).toBe(200);
    await advance(301);
    expect(await ask(token, first.nonce)).toEqual(demanded);
  });

  test("is refused if it is from another server, altered, or not a string", async () => {
    const token = await tokenFor("/strict");
    const { nonce } = await ask(token, undefined);
    const text = String(nonce);
    const altered = text.slice(0, 10) + (text[10] === "A" ? "B" : "A") + text.slice(11);
    for (const other of ["", "nonce", 7, null, `${text}A`, altered]) {
      expect(await ask(token, other)).toEqual(demanded);
    }
  });

  test("can be read by a page of an allowed origin, with the challenge", async () => {
    const token = await tokenFor("/strict");
    const proof = await proofFor(token, "/strict");
    const response = await who({ ...proven(token, proof), origin: "https://app.example.com" }, "/strict");
    expect(response.headers.get("DPoP-Nonce")).not.toBeNull();
    const exposed = response.headers.get("Access-Control-Expose-Headers")?.split(", ");
    expect(exposed).toEqual(expect.arrayContaining(["DPoP-Nonce", "WWW-Authenticate"]));
    await response.body?.cancel();
    const asked = { "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, dpop" };
    const preflight = await fetch(url("/strict"), {
      method: "OPTIONS",
      headers: { Origin: "https://app.example.com", ...asked },
    });
    expect(preflight.headers.get("Access-Control-Allow-Headers")).toContain("dpop");
  });
});

describe("DPoP for sessions and HTTP+SSE", () => {
  test("a session requires a proof for its own method and URL", async () => {
    const token = await tokenFor();
    const content = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const opening = { ...content, ...proven(token, await proofFor(token)) };
    const opened = await fetch(url(), { method: "POST", headers: opening, body: JSON.stringify(initialize()) });
    await opened.body?.cancel();
    const id = { "mcp-session-id": opened.headers.get("Mcp-Session-Id") ?? "", "mcp-protocol-version": "2025-11-25" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "who" } });
    const requests = [
      { method: "POST", headers: content, body },
      { method: "GET", headers: { accept: "text/event-stream" } },
      { method: "DELETE", headers: {} },
    ] as const;
    for (const { method, headers, ...rest } of requests) {
      const stop = new AbortController();
      const send = async (proof: string | undefined) => {
        const auth = { authorization: `DPoP ${token}`, ...(proof === undefined ? {} : { dpop: proof }) };
        const init = { method, headers: { ...headers, ...id, ...auth }, ...rest, signal: stop.signal };
        return (await fetch(url(), init)).status;
      };
      expect(await send(undefined)).toBe(401);
      const other = method === "POST" ? "GET" : "POST";
      expect(await send(await proofFor(token, "/mcp", { claims: { htm: other } }))).toBe(401);
      expect(await send(await proofFor(token, "/mcp", { claims: { htm: method } }))).toBeLessThan(300);
      stop.abort();
    }
  });

  test("HTTP+SSE requires a proof, whose URL has no query", async () => {
    const token = await tokenFor();
    const stop = new AbortController();
    const opening = proven(token, await proofFor(token, "/mcp", { claims: { htm: "GET" } }));
    const headers = { accept: "text/event-stream", ...opening };
    const stream = new Reading(await fetch(url(), { headers, signal: stop.signal }));
    await stream.has("an endpoint", ({ raw }) => /data: (\S+)\n\n/.test(raw));
    const [, endpoint = ""] = /data: (\S+)\n\n/.exec(stream.raw) ?? [];
    const body = JSON.stringify({ jsonrpc: "2.0", id: 9, method: "tools/call", params: { name: "who" } });
    const post = async (auth: Headers) => {
      const init = { method: "POST", headers: { "content-type": "application/json", ...auth }, body };
      return (await fetch(worker.url(endpoint), init)).status;
    };
    expect(await post({ authorization: `DPoP ${token}` })).toBe(401);
    expect(await post(proven(token, await proofFor(token)))).toBe(202);
    await stream.has("the answer", ({ raw }) => raw.includes("alice"));
    stop.abort();
  });
});

test("a token that lacks a scope gets the challenge of its own scheme", async () => {
  const token = await tokenFor("/strict", own, { scope: "" });
  const first = await outcomeOf(proven(token, await proofFor(token, "/strict")), "/strict");
  const proof = await proofFor(token, "/strict", { claims: { nonce: first.nonce } });
  const { status, challenge } = await outcomeOf(proven(token, proof), "/strict");
  expect(status).toBe(403);
  expect(challenge).toMatch(/^DPoP algs="ES256", error="insufficient_scope", .*scope="read"/);
});

test("an endpoint without a class for objects, or without keys for nonces, is refused with the reason", async () => {
  const response = await fetch(url("/keyless"), {
    method: "POST",
    headers: standardHeaders({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }) as Record<string, string>,
  });
  expect([response.status, await response.text()]).toEqual([
    500,
    expect.stringMatching(/export-missing.*keys-missing/s),
  ]);
});

test("DPoP: a proof that was used at one isolate is refused at another", { tags: "long" }, async () => {
  const entry = "test/worker/fixtures/dpop.ts";
  const bindings = { ISSUER: issuer.url };
  await using both = await startWorker({ entry, objects: { MCP: "McpObject" }, bindings, twin: true });
  const [at, other] = [both.url("/mcp"), { "X-Twin": "yes" }];
  const claims = { iss: issuer.url, aud: at, sub: "alice", scope: "read", cnf: { jkt: await thumbprint(own) } };
  const token = await signJwt(key, { ...claims, exp: Math.floor(Date.now() / 1000) + 900 });
  const send = async (proof: string, headers = {}) => {
    const options = { headers: { authorization: `DPoP ${token}`, dpop: proof, ...headers } };
    const response = await new ModernClient(at).call("who", {}, options);
    await response.body?.cancel();
    return response.status;
  };
  const make = () => proofOf(own, token, at);
  const [one, two, three] = [await make(), await make(), await make()];
  expect([await send(one), await send(one, other)]).toEqual([200, 401]);
  expect([await send(two, other), await send(two)]).toEqual([200, 401]);
  const all = await Promise.all([send(three), send(three, other), send(three), send(three, other)]);
  expect(all.toSorted()).toEqual([200, 401, 401, 401]);
});
