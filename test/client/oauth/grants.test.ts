/** Tokens without a redirect, and tokens that are bound to a key. */
import { describe, expect, test } from "vitest";
import { readTimes } from "../../../src/client/oauth/device-code.ts";
import {
  clientCredentials,
  type DevicePrompt,
  deviceCode,
  dpopKeys,
  enterpriseManaged,
  jwtBearer,
  memoryStore,
  privateKeyJwt,
} from "../../../src/client/oauth/index.ts";
import type { Authority, Reply } from "./authority.ts";
import { join, reasonOf, start } from "./lab.ts";

/** A program that is registered at an authorization server. */
const programAt = ({ issuer }: Authority) => ({ id: "a-program", secret: "s3cret", issuer });

describe("client credentials", () => {
  test("are sent once for ten parallel calls on an expired token", async () => {
    const authority = await start();
    authority.onToken = ({ parameters }) => {
      const { body } = authority.issue(parameters.grant_type ?? "", parameters.scope ?? "");
      return { body: { ...(body as object), refresh_token: undefined } };
    };
    const client = await join(authority, { grant: clientCredentials(), client: programAt(authority), scope: "read" });
    authority.expire();
    await Promise.all(Array.from({ length: 10 }, () => client.callTool("add")));
    expect(authority.granted).toEqual(["client_credentials", "client_credentials"]);
    expect(authority.tokenRequests[0]?.parameters).toMatchObject({ scope: "read", resource: authority.url });
    expect(authority.registrations).toEqual([]);
  });

  test("renew a token that is due before it is used", async () => {
    const authority = await start();
    authority.expiresIn = 0;
    authority.onToken = () => {
      const { body } = authority.issue("client_credentials", "");
      return { body: { ...(body as object), refresh_token: undefined } };
    };
    const client = await join(authority, { grant: clientCredentials(), client: programAt(authority) });
    const before = authority.calls.length;
    await client.callTool("add");
    expect(authority.calls).toHaveLength(before + 1);
    expect(authority.granted.length).toBeGreaterThan(1);
  });

  test("require a client id", async () => {
    expect(await reasonOf(await start(), { grant: clientCredentials() })).toBe("client-missing");
  });

  test("are refused with a key of an unknown algorithm", async () => {
    const authentication = privateKeyJwt({ key: "", algorithm: "HS256" });
    const authority = await start();
    const client = { id: "a", issuer: authority.issuer, authentication };
    expect(await reasonOf(authority, { grant: clientCredentials(), client })).toBe("client-missing");
  });
});

describe("an assertion of a client", () => {
  test("is made for the issuer and the resource, and sent without a client secret", async () => {
    const authority = await start();
    const purposes: unknown[] = [];
    const grant = jwtBearer((purpose) => {
      purposes.push(purpose);
      return "a.b.c";
    });
    await join(authority, { grant, client: { id: "workload" } });
    expect(purposes).toEqual([{ issuer: authority.issuer, resource: authority.url, scope: undefined }]);
    expect(authority.tokenRequests[0]).toMatchObject({
      parameters: {
        grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
        assertion: "a.b.c",
        client_id: "workload",
        resource: authority.url,
      },
      authorization: undefined,
    });
  });

  test("is not sent again if it is refused", async () => {
    const authority = await start();
    authority.onToken = () => ({ status: 400, body: { error: "invalid_grant" } });
    expect(await reasonOf(authority, { grant: jwtBearer(() => "a.b.c"), client: { id: "workload" } })).toBe(
      "token-refused",
    );
    expect(authority.tokenRequests).toHaveLength(1);
  });
});

describe("an enterprise's identity", () => {
  const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";

  async function enterprise(answer: (parameters: Readonly<Record<string, string>>) => Reply) {
    const [authority, provider] = [await start(), await start()];
    provider.onToken = ({ parameters }) => answer(parameters);
    const client = { id: "at-the-provider", secret: "s3cret-there" };
    const grant = enterpriseManaged({ issuer: provider.issuer, client, identity: () => "id.to.ken" });
    return { authority, provider, options: { grant, client: programAt(authority) } };
  }

  test("is exchanged for an assertion, and the assertion for a token", async () => {
    const { authority, provider, options } = await enterprise(() => {
      return { body: { access_token: "as.ser.tion", token_type: "N_A", issued_token_type: ID_JAG } };
    });
    await join(authority, options);
    expect(provider.tokenRequests[0]?.parameters).toMatchObject({
      requested_token_type: ID_JAG,
      audience: authority.issuer,
      resource: authority.url,
      subject_token: "id.to.ken",
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
    });
    expect(authority.tokenRequests[0]?.parameters).toMatchObject({ assertion: "as.ser.tion" });
    expect(JSON.stringify(authority.tokenRequests)).not.toContain("s3cret-there");
  });

  test("is refused if the exchange returns another type, and no token is requested", async () => {
    const { authority, options } = await enterprise(() => ({ body: { access_token: "x", token_type: "Bearer" } }));
    expect(await reasonOf(authority, options)).toBe("token-invalid");
    expect(authority.tokenRequests).toEqual([]);
  });
});

describe("a device code", () => {
  const prompts: DevicePrompt[] = [];
  const grant = deviceCode((prompt) => void prompts.push(prompt));
  const started = (more: object = {}) => {
    return start((each) => {
      each.metadata = { device_authorization_endpoint: `${each.issuer}/device` };
      const codes = { device_code: "dc", user_code: "ABCD", verification_uri: `${each.issuer}/activate` };
      each.replies.set("/device", { body: { ...codes, expires_in: 60, interval: 0.01, ...more } });
    });
  };

  test("is shown to the user, and polled until the user has signed in", { tags: "long" }, async () => {
    const authority = await started({ verification_uri_complete: "https://as.example/activate?code=ABCD" });
    let asked = 0;
    authority.onToken = () => {
      asked += 1;
      return asked < 3 ? { status: 400, body: { error: "authorization_pending" } } : undefined;
    };
    await join(authority, { grant });
    const completeUrl = "https://as.example/activate?code=ABCD";
    expect(prompts.at(-1)).toEqual({
      url: `${authority.issuer}/activate`,
      code: "ABCD",
      completeUrl,
      expiresInMs: 60_000,
    });
    expect(authority.tokenRequests[2]?.parameters).toMatchObject({ device_code: "dc", resource: authority.url });
    expect(authority.registrations[0]).toMatchObject({ response_types: [], application_type: "native" });
  });

  test.each([
    ["access_denied", { error: "access_denied" }, "token-refused"],
    ["expired_token", { error: "expired_token" }, "token-refused"],
  ])("rejects if it ends with %s", async (_what, body, reason) => {
    const authority = await started();
    authority.onToken = () => ({ status: 400, body });
    expect(await reasonOf(authority, { grant })).toBe(reason);
  });

  test.each(["file:///etc/passwd", "javascript:alert(1)", "http://as.example/activate", "activate"])(
    "is not shown if its page is %s",
    async (page) => {
      prompts.length = 0;
      expect(await reasonOf(await started({ verification_uri: page }), { grant })).toBe("address-refused");
      expect(await reasonOf(await started({ verification_uri_complete: page }), { grant })).toBe("address-refused");
      expect(prompts).toEqual([]);
    },
  );

  test("is shown without invisible characters, and truncated", { tags: "long" }, async () => {
    await join(await started({ user_code: "\x1b[2JWD\u202eJB\u200b-MJHT\n" }), { grant });
    expect(prompts.at(-1)?.code).toBe("[2JWDJB-MJHT");
    await join(await started({ user_code: "A".repeat(10_000) }), { grant });
    expect(prompts.at(-1)?.code).toBe("A".repeat(64));
  });

  test("is polled every second if the server requests no pause", async () => {
    const authority = await started({ interval: 0, expires_in: 0.5 });
    authority.onToken = () => ({ status: 400, body: { error: "authorization_pending" } });
    expect(await reasonOf(authority, { grant })).toBe("expired");
    expect(authority.tokenRequests).toHaveLength(1);
  });

  test("is polled every 1 to 60 seconds, and for 30 minutes at most", () => {
    expect(readTimes({})).toEqual({ expiresInMs: 600_000, intervalMs: 5_000 });
    expect(readTimes({ interval: -1, expires_in: 60 })).toEqual({ expiresInMs: 60_000, intervalMs: 1_000 });
    expect(readTimes({ interval: 1e9, expires_in: 1e9 })).toEqual({ expiresInMs: 1_800_000, intervalMs: 60_000 });
  });

  test("rejects if it is not entered in time", async () => {
    const authority = await started({ expires_in: 0.05 });
    authority.onToken = () => ({ status: 400, body: { error: "authorization_pending" } });
    expect(await reasonOf(authority, { grant })).toBe("expired");
  });

  test("rejects if the server does not issue it", async () => {
    const authority = await started();
    authority.replies.set("/device", { status: 400, body: { error: "unauthorized_client" } });
    expect(await reasonOf(authority, { grant })).toBe("token-refused");
  });
});

describe("DPoP in the client", () => {
  const proofOf = (text: unknown) => {
    const [header = "", payload = ""] = String(text).split(".");
    const parse = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
    return { ...parse(header), ...parse(payload) };
  };
  const bound = () => {
    return start((each) => {
      each.metadata = { dpop_signing_alg_values_supported: ["ES256"] };
      each.onToken = ({ parameters }) => {
        return each.issue(parameters.grant_type ?? "", "", "DPoP");
      };
    });
  };

  test("sends a new proof with every request, for its method, address and token", async () => {
    const authority = await bound();
    const client = await join(authority, { dpop: dpopKeys() });
    await client.callTool("add");
    const proofs = authority.calls.slice(1).map(({ dpop: proof }) => proofOf(proof));
    for (const proof of proofs)
      expect(proof).toMatchObject({ typ: "dpop+jwt", alg: "ES256", htm: "POST", htu: authority.url });
    expect(new Set(proofs.map(({ jti }) => jti)).size).toBe(proofs.length);
    expect(authority.calls.at(-1)?.authorization).toMatch(/^DPoP access-/);
    expect(authority.authorizations[0]?.dpop_jkt).toMatch(/^[\w-]{43}$/);
    expect(JSON.stringify(proofs)).not.toContain('"d"');
  });

  test("repeats a request with the nonce that the server requires, once", async () => {
    const authority = await bound();
    const headers = { "dpop-nonce": "n-1", "www-authenticate": 'DPoP error="use_dpop_nonce"' };
    const usual = authority.challenge;
    authority.challenge = (scope, message) => {
      const { nonce } = scope === undefined ? { nonce: undefined } : proofOf(authority.calls.at(-1)?.dpop);
      return usual(scope, message) ?? (nonce === "n-1" ? undefined : { status: 401, headers });
    };
    const client = await join(authority, { dpop: dpopKeys() });
    const before = authority.calls.length;
    await client.callTool("add");
    expect(authority.calls).toHaveLength(before + 1);
    expect(authority.granted).toEqual(["authorization_code"]);
  });

  test("uses plain tokens if the authorization server does not support DPoP", async () => {
    const authority = await start();
    const client = await join(authority, { dpop: dpopKeys() });
    await client.callTool("add");
    expect(authority.calls.at(-1)?.authorization).toMatch(/^Bearer /);
    expect(authority.tokenRequests[0]?.dpop).toBeUndefined();
  });

  test("does not put a key pair of the author into the store", async () => {
    const authority = await bound();
    const store = memoryStore();
    const values: unknown[] = [];
    const watched = {
      ...store,
      set: (key: string, value: string | undefined) => {
        values.push(value);
        return store.set(key, value);
      },
    };
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
    await join(authority, { store: watched, dpop: dpopKeys({ keyPair: pair as CryptoKeyPair }) });
    authority.expire();
    const client = await join(authority, { store: watched, dpop: dpopKeys({ keyPair: pair as CryptoKeyPair }) });
    await client.callTool("add");
    expect(values.join()).not.toContain("P-256");
    expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);
  });

  test("rejects if the stored token is bound to a key and there is no key", async () => {
    const authority = await bound();
    const store = memoryStore();
    await join(authority, { store, dpop: dpopKeys() });
    expect(await reasonOf(authority, { store })).toBe("token-invalid");
  });
});
