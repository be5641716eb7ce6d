/** `bearer()` on workerd, against an issuer with real keys on a real server. */
import { describe, expect, test } from "vitest";
import { base64url, newKey, signJwt } from "../harness/issuer.ts";
import { expectLogs } from "../harness/logs.ts";
import { initialize, type Members } from "../http/messages.ts";
import { LegacyClient, ModernClient, Reading, readAnswer } from "./client.ts";
import {
  advance,
  bearer,
  claimsFor,
  invalid,
  issuer,
  key,
  metadataUrl,
  nowS,
  principalOf,
  read,
  refusalOf,
  setUp,
  statusOf,
  tokenFor,
  url,
  who,
  worker,
} from "./protected.ts";

expectLogs(/^mcp-edge: tokens must have the issuer/);

type Headers = Readonly<Record<string, string>>;

setUp();

/** Every kind of request, as a function of the caller's headers. */
function waysIn(session: Headers): readonly (readonly [string, (headers: Headers) => Promise<Response>])[] {
  const stream = { accept: "text/event-stream" };
  const content = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "who" } });
  const post = (headers: Headers, body = message, to = url()) => {
    return fetch(to, { method: "POST", headers: { ...content, ...headers }, body });
  };
  const id = session["mcp-session-id"];
  return [
    ["a modern call", (headers) => new ModernClient(url()).call("who", {}, { headers })],
    ["a modern listen", (headers) => new ModernClient(url()).request("subscriptions/listen", {}, { headers })],
    ["initialize", (headers) => post(headers, JSON.stringify(initialize()))],
    ["a legacy call without a session", (headers) => post(headers)],
    ["a call of a session", (headers) => post({ ...session, ...headers })],
    ["GET of a session", (headers) => fetch(url(), { headers: { ...stream, ...session, ...headers } })],
    ["DELETE of a session", (headers) => fetch(url(), { method: "DELETE", headers: { ...session, ...headers } })],
    ["GET of HTTP+SSE", (headers) => fetch(url(), { headers: { ...stream, ...headers } })],
    ["POST of HTTP+SSE", (headers) => post(headers, message, url(`/mcp?sessionId=${id}`))],
  ];
}

async function openSession(token: string): Promise<Headers> {
  const client = await LegacyClient.open(url(), { token });
  return { "mcp-session-id": client.sessionId ?? "", "mcp-protocol-version": "2025-11-25" };
}

describe("a valid token", () => {
  test("acts for its subject in both eras, in sessions and over HTTP+SSE", async () => {
    const token = await tokenFor();
    const principal = { issuer: issuer.url, subject: "alice", scopes: ["read"], claims: { sub: "alice" } };
    expect(await principalOf(token)).toMatchObject(principal);
    const client = await LegacyClient.open(url(), { token });
    const inSession = await readAnswer(client.call("who"));
    expect(JSON.parse(inSession.text ?? "")).toMatchObject(principal);

    const stop = new AbortController();
    const headers = { accept: "text/event-stream", ...bearer(token) };
    const stream = new Reading(await fetch(url(), { headers, signal: stop.signal }));
    await stream.has("an endpoint", ({ raw }) => /data: (\S+)\n\n/.test(raw));
    const [, endpoint = ""] = /data: (\S+)\n\n/.exec(stream.raw) ?? [];
    const body = JSON.stringify({ jsonrpc: "2.0", id: 9, method: "tools/call", params: { name: "who" } });
    const post = { method: "POST", headers: { "content-type": "application/json", ...bearer(token) }, body };
    expect((await fetch(worker.url(endpoint), post)).status).toBe(202);
    await stream.has("the answer", ({ raw }) => raw.includes("alice"));
    stop.abort();
  });

  test("is accepted with every algorithm that is allowed by default", { tags: "long" }, async () => {
    for (const algorithm of ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"]) {
      const other = await newKey(algorithm, `of ${algorithm}`);
      issuer.published = [key.jwk, other.jwk];
      await advance(31);
      expect([algorithm, await statusOf(await tokenFor("/mcp", {}, other))]).toEqual([algorithm, 200]);
    }
  });

  test("can use any other asymmetric algorithm if the author names it", { timeout: 60_000 }, async () => {
    for (const algorithm of ["ES384", "ES512", "RS384", "RS512", "PS384", "PS512"]) {
      const other = await newKey(algorithm, `of ${algorithm}`);
      issuer.published = [other.jwk];
      await advance(31);
      expect([algorithm, await statusOf(await tokenFor("/pinned", {}, other), "/pinned")]).toEqual([algorithm, 200]);
      expect([algorithm, await statusOf(await tokenFor("/mcp", {}, other))]).toEqual([algorithm, 401]);
    }
  });

  test("acts for its client if it has no subject, and never for a user of the same name", async () => {
    expect(await principalOf(await tokenFor("/mcp", { sub: undefined, client_id: "alice" }))).toMatchObject({
      subject: "client:alice",
    });
    expect(await refusalOf(await tokenFor("/mcp", { sub: undefined }))).toEqual([
      401,
      invalid("The token names no subject."),
    ]);
  });

  test("has a subject that begins with client: only if it has no user, so that a user cannot act as a client", async () => {
    for (const sub of ["client:alice", "client:"]) {
      expect(await refusalOf(await tokenFor("/mcp", { sub, client_id: "app" }))).toEqual([
        401,
        invalid("The subject of the token is reserved for clients."),
      ]);
    }
    expect(await principalOf(await tokenFor("/mcp", { sub: "clients" }))).toMatchObject({ subject: "clients" });
  });

  test("does not act for a client because of its common_name, which users can choose", async () => {
    expect(await refusalOf(await tokenFor("/mcp", { sub: undefined, common_name: "app" }))).toEqual([
      401,
      invalid("The token names no subject."),
    ]);
  });

  test.each([
    ["a string", { scope: "read write" }, ["read", "write"]],
    ["scp as a list", { scope: undefined, scp: ["read", "write"] }, ["read", "write"]],
    ["scp as a text", { scope: undefined, scp: "read write" }, ["read", "write"]],
    ["a list with other values", { scope: ["read", 7, "", null] }, ["read"]],
    ["a number", { scope: 7 }, []],
    ["nothing", { scope: undefined }, []],
  ])("has its scopes from %s", async (_, claims, scopes) => {
    expect(await principalOf(await tokenFor("/mcp", claims))).toMatchObject({ scopes });
  });

  test.each([
    ["client_id", { client_id: "app", azp: "other" }, "app"],
    ["azp", { azp: "app" }, "app"],
    ["neither", {}, undefined],
  ])("gives handlers its client (%s) and its expiry as ctx.auth, in both eras", async (_, claims, clientId) => {
    const exp = nowS() + 200;
    const token = await tokenFor("/mcp", { exp, ...claims });
    const client = await LegacyClient.open(url(), { token });
    const inSession = JSON.parse((await readAnswer(client.call("who"))).text ?? "") as Members;
    for (const auth of [await principalOf(token), inSession]) {
      expect([auth.clientId, auth.expiresAtMs]).toEqual([clientId, exp * 1000]);
      expect(auth.claims).toMatchObject(claims);
    }
  });

  test.each([undefined, "JWT", "jwt", "at+JWT", "application/at+jwt"])("can have the type %s", async (typ) => {
    expect(await statusOf(await tokenFor("/mcp", {}, key, { typ }))).toBe(200);
  });

  test("can omit the id of its key, and be for several audiences", async () => {
    expect(await statusOf(await tokenFor("/mcp", { aud: ["api://x", url()] }, key, { kid: undefined }))).toBe(200);
  });

  test("can have its scheme in any case, followed by several spaces", async () => {
    const token = await tokenFor();
    for (const authorization of [`bearer ${token}`, `BEARER   ${token}`]) {
      const response = await new ModernClient(url()).call("who", {}, { headers: { authorization } });
      expect((await readAnswer(response)).status).toBe(200);
    }
  });
});

describe("refused tokens", () => {
  /** Each fault, with the token that has it and the reason that the client reads. */
  const FAULTS: readonly (readonly [string, () => Promise<string>, string])[] = [
    ["expired", () => tokenFor("/mcp", { exp: nowS() - 31 }), "The token has expired."],
    ["without expiry", () => tokenFor("/mcp", { exp: undefined }), "The token has expired."],
    [
      "with an expiry that is a string",
      () => tokenFor("/mcp", { exp: String(nowS() + 300) }),
      "The token has expired.",
    ],
    ["not valid yet", () => tokenFor("/mcp", { nbf: nowS() + 60 }), "The token is not valid yet."],
    ["with a start that is a string", () => tokenFor("/mcp", { nbf: "0" }), "The token is not valid yet."],
    [
      "for another resource",
      () => tokenFor("/mcp", { aud: "https://other.example.com" }),
      "The token is for another resource.",
    ],
    ["for another path", () => tokenFor("/scoped"), "The token is for another resource."],
    ["for a longer path", () => tokenFor("/mcp/below"), "The token is for another resource."],
    ["for the host alone", () => tokenFor("/mcp", { aud: worker.origin }), "The token is for another resource."],
    ["without audience", () => tokenFor("/mcp", { aud: undefined }), "The token is for another resource."],
    [
      "of another issuer",
      () => tokenFor("/mcp", { iss: "https://other.example.com" }),
      "The token is from another issuer.",
    ],
    [
      "of an issuer with a slash",
      () => tokenFor("/mcp", { iss: `${issuer.url}/` }),
      "The token is from another issuer.",
    ],
    ["without issuer", () => tokenFor("/mcp", { iss: undefined }), "The token is from another issuer."],
    ["bound to a key", () => tokenFor("/mcp", { cnf: { jkt: "thumbprint" } }), "The token is bound to a key."],
    ["of another kind", () => tokenFor("/mcp", {}, key, { typ: "logout+jwt" }), "The token is not a JWT."],
    ["with an extension", () => tokenFor("/mcp", {}, key, { crit: ["exp"] }), "The token is not a JWT."],
    ["with an unfit key id", () => tokenFor("/mcp", {}, key, { kid: 7 }), "The token is not a JWT."],
    [
      "with another signature",
      async () => signJwt({ ...(await newKey("ES256", "one")) }, claimsFor()),
      "The signature is not valid.",
    ],
    [
      "with changed claims",
      async () => withClaims(await tokenFor(), claimsFor("/mcp", { sub: "root" })),
      "The signature is not valid.",
    ],
    [
      "without signature",
      async () => `${(await tokenFor()).split(".").slice(0, 2).join(".")}.`,
      "The signature is not valid.",
    ],
    ["with the algorithm none", () => unsigned("none"), "The algorithm is not accepted."],
    ["with the algorithm None", () => unsigned("None"), "The algorithm is not accepted."],
    ["with no algorithm", () => tokenFor("/mcp", {}, key, { alg: undefined }), "The token is not a JWT."],
    ["with the public key as a secret", () => hmac(), "The algorithm is not accepted."],
    [
      "with an algorithm that is not accepted",
      () => tokenFor("/mcp", {}, key, { alg: "ES384" }),
      "The algorithm is not accepted.",
    ],
    [
      "with the algorithm of another kind of key",
      () => tokenFor("/mcp", {}, key, { alg: "RS256" }),
      "The signature is not valid.",
    ],
    [
      "with its own key in the header",
      async () => {
        const own = await newKey("ES256", undefined);
        return tokenFor("/mcp", {}, own, { jwk: own.jwk, jku: `${issuer.url}/own`, x5u: `${issuer.url}/own` });
      },
      "The signature is not valid.",
    ],
    [
      "with scopes that cannot be converted to a string, before its signature is verified",
      async () => withClaims(await tokenFor(), claimsFor("/mcp", { scope: { toString: 1, valueOf: 1 } })),
      "The signature is not valid.",
    ],
    ["that is opaque", async () => "0123456789abcdef", "The token is not a JWT."],
    ["with four parts", async () => `${await tokenFor()}.e30`, "The token is not a JWT."],
    ["whose claims are a list", async () => `${(await tokenFor()).split(".")[0]}.W10.AA`, "The token is not a JWT."],
  ];

  test.each(FAULTS)("a token %s causes 401 with a challenge, and no handler runs", async (_, make, reason) => {
    const token = await make();
    const before = await read("/runs");
    const response = await who(token);
    const text = await response.text();
    expect([response.status, response.headers.get("WWW-Authenticate")]).toEqual([401, invalid(reason)]);
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: "2.0", error: { message: reason } });
    expect(await read("/runs")).toEqual(before);
    const told = text + JSON.stringify([...response.headers]) + JSON.stringify(await read("/log"));
    for (const part of token.split(".").filter((each) => each.length > 8)) expect(told).not.toContain(part);
  });

  /** A token with the claims of another token. */
  function withClaims(token: string, claims: Members): string {
    const [head, , signature] = token.split(".");
    return [head, base64url(JSON.stringify(claims)), signature].join(".");
  }

  async function unsigned(alg: string): Promise<string> {
    return `${base64url(JSON.stringify({ alg, typ: "at+jwt" }))}.${base64url(JSON.stringify(claimsFor()))}.`;
  }

  /** A token with an HMAC whose secret is the public key as the issuer publishes it. */
  async function hmac(): Promise<string> {
    const text = `${base64url(JSON.stringify({ alg: "HS256", kid: "one" }))}.${base64url(JSON.stringify(claimsFor()))}`;
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const secret = await crypto.subtle.importKey("raw", Buffer.from(JSON.stringify(key.jwk)), algorithm, false, [
      "sign",
    ]);
    return `${text}.${base64url(await crypto.subtle.sign("HMAC", secret, Buffer.from(text)))}`;
  }

  test("a token is refused for every kind of request, and so is a value that is not a token", async () => {
    const session = await openSession(await tokenFor());
    const expired = await tokenFor("/mcp", { exp: nowS() - 31 });
    const before = [await read("/runs"), await worker.objects("McpObject")];
    for (const [way, send] of waysIn(session)) {
      const answers = [await send(bearer(expired)), await send({})];
      for (const each of answers) await each.body?.cancel();
      expect([way, answers.map(({ status }) => status)]).toEqual([way, [401, 401]]);
      for (const each of answers) expect(each.headers.get("WWW-Authenticate")).toContain(metadataUrl("/mcp"));
    }
    expect([await read("/runs"), await worker.objects("McpObject")]).toEqual(before);
  });

  test("a token of another subject does not reach a session", async () => {
    const session = await openSession(await tokenFor());
    const other = bearer(await tokenFor("/mcp", { sub: "mallory" }));
    const statuses: number[] = [];
    for (const [way, send] of waysIn(session)) {
      if (!/of a session|POST of HTTP/.test(way)) continue;
      const response = await send(other);
      await response.body?.cancel();
      statuses.push(response.status);
    }
    expect(statuses).toEqual([404, 404, 404, 404]);
  });

  test("a token that expires within a session is replaced by the next token of the same subject", async () => {
    const client = await LegacyClient.open(url(), { token: await tokenFor("/mcp", { exp: nowS() + 10 }) });
    expect((await readAnswer(client.call("who"))).status).toBe(200);
    await advance(41);
    expect((await readAnswer(client.call("who"))).status).toBe(401);
    expect((await readAnswer(client.as(await tokenFor()).call("who"))).status).toBe(200);
  });

  test("a token within the clock skew, which can be 0, is accepted", async () => {
    expect(await statusOf(await tokenFor("/mcp", { exp: nowS() - 20, nbf: nowS() + 20 }))).toBe(200);
    expect(await statusOf(await tokenFor("/strict", { exp: nowS() - 1 }), "/strict")).toBe(401);
    expect(await statusOf(await tokenFor("/strict", { nbf: nowS() + 20 }), "/strict")).toBe(401);
    expect(await statusOf(await tokenFor("/strict"), "/strict")).toBe(200);
  });
});

describe("the header Authorization", () => {
  test("is the only place for a token: a token in the URL is refused, even if the header has it too", async () => {
    const token = await tokenFor();
    for (const headers of [{}, bearer(token)]) {
      for (const name of ["access_token", "access%5Ftoken", "x=1&access_token"]) {
        const response = await new ModernClient(`${url()}?${name}=${token}`).call("who", {}, { headers });
        const text = await response.text();
        expect([response.status, response.headers.get("WWW-Authenticate")]).toEqual([
          400,
          expect.stringContaining('error="invalid_request"'),
        ]);
        expect(text + JSON.stringify(await read("/log"))).not.toContain(token);
      }
    }
  });

  test("is not replaced by a token in the body", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const body = `access_token=${await tokenFor()}`;
    expect((await fetch(url(), { method: "POST", headers, body })).status).toBe(401);
  });

  test.each([
    ["two tokens", (token: string) => `Bearer ${token}, Bearer ${token}`],
    ["two tokens in one", (token: string) => `Bearer ${token} ${token}`],
    ["no token", () => "Bearer"],
    ["a token in quotes", (token: string) => `Bearer "${token}"`],
    ["a very long token", () => `Bearer ${"a".repeat(16 * 1024 + 1)}`],
  ])("is malformed with %s", async (_, write) => {
    const authorization = write(await tokenFor());
    const response = await new ModernClient(url()).call("who", {}, { headers: { authorization } });
    await response.body?.cancel();
    const challenge = response.headers.get("WWW-Authenticate");
    expect([response.status, challenge]).toEqual([400, expect.stringContaining('error="invalid_request"')]);
  });

  test("gets a challenge without an error code if it is missing or has another scheme", async () => {
    const challenge = `Bearer resource_metadata="${metadataUrl("/mcp")}"`;
    expect(await refusalOf(undefined)).toEqual([401, challenge]);
    for (const authorization of ["Basic YTpi", `DPoP ${await tokenFor()}`, "Bearers x"]) {
      const response = await new ModernClient(url()).call("who", {}, { headers: { authorization } });
      await response.body?.cancel();
      expect([response.status, response.headers.get("WWW-Authenticate")]).toEqual([401, challenge]);
    }
  });

  test("gets a challenge that a page of an allowed origin can read if it is missing", async () => {
    const response = await new ModernClient(url()).call("who", {}, { headers: { origin: "https://app.example.com" } });
    await response.body?.cancel();
    expect(response.headers.get("Access-Control-Expose-Headers")).toContain("WWW-Authenticate");
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("https://app.example.com");
  });
});
