/** Options that change what happens to assertions: public clients, required proofs, and an authorization server without `enterprise()`. */
import { describe, expect, test } from "vitest";
import { newKey } from "../harness/issuer.ts";
import { expectLogs } from "../harness/logs.ts";
import { proofOf } from "../harness/proofs.ts";
import type { Members } from "../http/messages.ts";
import { acme, basic, exchange, setUp, startFor, worker } from "./companies.ts";

expectLogs(/^mcp-edge: the metadata document of a client could not be requested: /);

setUp(() => ({
  companies: [{ issuer: acme.url, domains: ["example.com"] }],
  more: { publicClients: true, dpop: { required: true } },
}));

const proof = async (at = worker.origin) => {
  return { DPoP: await proofOf(await newKey("ES256", undefined), "", `${at}/token`, { ath: undefined }) };
};

describe("with publicClients and required proofs", () => {
  test("a client without a secret may use its assertion, and no other client may", async () => {
    const assertion = await acme.assert(worker, { client_id: "public" });
    const asOther = await exchange(worker, assertion, { client_id: "agent" }, await proof());
    expect(asOther).toMatchObject({ status: 401, body: { error: "invalid_client" } });
    const { status, body } = await exchange(worker, assertion, { client_id: "public" }, await proof());
    expect({ status, type: body.token_type }).toEqual({ status: 200, type: "DPoP" });
  });

  test("a client with a metadata document that cannot be loaded is refused", async () => {
    const client_id = "http://127.0.0.1:1/client.json";
    const { status, body } = await exchange(
      worker,
      await acme.assert(worker, { client_id }),
      { client_id },
      await proof(),
    );
    expect({ status, error: body.error }).toEqual({ status: 401, error: "invalid_client" });
    const records = (await (await fetch(worker.url("/audited"))).json()) as Members[];
    expect(records.at(-1)).toMatchObject({ reason: "invalid_client", status: 401, clientId: client_id });
  });

  test("a request without a proof is refused", async () => {
    const assertion = await acme.assert(worker, { client_id: "public" });
    expect(await exchange(worker, assertion, { client_id: "public" }, {})).toMatchObject({
      status: 400,
      body: { error: "invalid_grant", error_description: "A DPoP proof is required." },
    });
  });
});

const ISSUERS = [{ issuer: "https://acme.example" }];

test.each<[Members, string | null]>([
  [{ issuers: ISSUERS, assertionMs: 10_000, clockSkewMs: 300_000, jwksCacheMs: 1_000 }, null],
  [{ issuers: [] }, "enterprise(): issuers is neither a list with an entry nor a function."],
  [{}, "enterprise(): issuers is neither a list with an entry nor a function."],
  [{ issuers: "https://acme.example" }, "enterprise(): issuers is neither a list with an entry nor a function."],
  [{ issuers: ISSUERS, clockSkewMs: 300_001 }, "enterprise(): clockSkewMs is 300001; use 0 to 300,000 ms"],
  [{ issuers: ISSUERS, clockSkewMs: "30" }, 'enterprise(): clockSkewMs is "30"; use 0 to 300,000 ms'],
  [{ issuers: ISSUERS, assertionMs: 86_400_001 }, "enterprise(): assertionMs is 86400001; use 10,000 to 86,400,000 ms"],
  [
    { issuers: ISSUERS, issuer: "https://acme.example" },
    'enterprise() has no option "issuer". Did you mean "issuers"?',
  ],
])("the options %j have the mistake %s", async (options, mistake) => {
  const body = JSON.stringify(options);
  const found: unknown = await (await fetch(worker.url("/options"), { method: "POST", body })).json();
  expect(found).toEqual(mistake === null ? null : expect.stringContaining(mistake));
});

test("an assertion may be valid for one hour if the author does not decide otherwise", async () => {
  await using other = await startFor({
    companies: [{ issuer: acme.url, allow: { anyone: true } }],
    more: { lasting: true },
  });
  const iat = Math.floor(Date.now() / 1000);
  expect((await exchange(other, await acme.assert(other, { iat, exp: iat + 3_600 }))).status).toBe(200);
  const { body } = await exchange(other, await acme.assert(other, { iat, exp: iat + 3_601 }));
  expect(body.error_description).toBe("The assertion is valid for longer than 3600 s.");
});

test("without enterprise(), the grant is neither announced nor served", async () => {
  await using plain = await startFor({ companies: [], more: { removed: true } });
  const metadata = await (await fetch(`${plain.origin}/.well-known/oauth-authorization-server`)).json();
  expect(metadata).toMatchObject({ grant_types_supported: ["authorization_code", "refresh_token"] });
  expect(metadata).not.toHaveProperty("authorization_grant_profiles_supported");
  expect(await exchange(plain, await acme.assert(plain))).toMatchObject({
    status: 400,
    body: { error: "unsupported_grant_type" },
  });
});

test("a client that has registered itself may use assertions, and is not shown with the name of the author", async () => {
  const companies = [{ issuer: acme.url, allow: { anyone: true } }];
  await using open = await startFor({ companies, more: { registration: true } });
  const body = JSON.stringify({ redirect_uris: ["https://new.example/callback"], client_name: "Agent" });
  const registered = (await (await fetch(open.url("/register"), { method: "POST", body })).json()) as Members;
  const [client_id, secret] = [String(registered.client_id), String(registered.client_secret)];
  const { status } = await exchange(open, await acme.assert(open, { client_id }), {}, basic(client_id, secret));
  expect(status).toBe(200);
  const [user = ""] = await open.objects("McpObject", "user");
  const { keys } = await open.storage("McpObject", user);
  const managed = Object.entries(keys).filter(([key]) => key.startsWith("user/managed/"));
  expect(managed).toEqual([
    [expect.any(String), expect.objectContaining({ client: { id: client_id, name: "Agent", isVerified: false } })],
  ]);
});
