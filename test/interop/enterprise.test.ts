// @module-tag long
/**
 * A company's sign-in from end to end: a user signs in at oidc-provider, our client and the official one exchange the ID token for an
 * assertion and the assertion for a token, and call the server on workerd.
 */
import {
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  Client as OfficialClient,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Client, connect } from "../../src/client/index.ts";
import { dpopKeys, enterpriseManaged, type OAuthOptions, oauth } from "../../src/client/oauth/index.ts";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { ignoreLogs } from "../harness/logs.ts";
import type { Members } from "../http/messages.ts";
import { Browser, fieldsOf, signIn, visit } from "../worker/authorization.ts";
import { AGENT_AT_COMPANY, CompanyProvider } from "./enterprise-provider.ts";

ignoreLogs(/^\[mcp-sdk\] /);

let company: CompanyProvider;
let worker: TestWorker;

beforeAll(async () => {
  company = await CompanyProvider.start();
  worker = await startWorker({
    entry: "test/worker/fixtures/enterprise.ts",
    objects: { MCP: "McpObject" },
    bindings: {
      COMPANIES: JSON.stringify([{ issuer: company.issuer, domains: ["example.com"] }]),
      MORE: JSON.stringify({ people: company.issuer }),
    },
  });
});
afterAll(async () => {
  await worker?.stop();
  await company?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  company.issued.length = 0;
  const place = { audience: worker.origin, resource: worker.url("/mcp") };
  company.policy = { ...place, clientId: "agent", scopes: ["read", "write"] };
});

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

const SECRET = "a secret of the agent";
const textOf = (result: unknown) => (result as { content: { text?: string }[] }).content[0]?.text ?? "";

async function joinOwn(version: string, more: Partial<OAuthOptions> = {}): Promise<Client> {
  const idToken = await company.signIn();
  const grant = enterpriseManaged({ issuer: company.issuer, client: AGENT_AT_COMPANY, identity: () => idToken });
  const auth = oauth({ grant, client: { id: "agent", secret: SECRET, issuer: worker.origin }, ...more });
  const options = { name: "own", version: "1.0.0", protocolVersions: [version], auth, onEvent: () => undefined };
  const client = await connect(worker.url("/mcp"), options);
  open.push(client);
  return client;
}

async function joinOfficial(mode: "legacy" | { readonly pin: string }): Promise<OfficialClient> {
  const idToken = await company.signIn();
  const authProvider = new CrossAppAccessProvider({
    assertion: async ({ authorizationServerUrl, resourceUrl, scope }) => {
      const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({
        idpUrl: company.issuer,
        audience: authorizationServerUrl,
        resource: resourceUrl,
        idToken,
        clientId: AGENT_AT_COMPANY.id,
        clientSecret: AGENT_AT_COMPANY.secret,
        ...(scope && { scope }),
      });
      return jwtAuthGrant;
    },
    clientId: "agent",
    clientSecret: SECRET,
    expectedIssuer: worker.origin,
  });
  const client = new OfficialClient({ name: "official", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(worker.url("/mcp")), { authProvider }));
  open.push(client);
  return client;
}

async function allowAgain(): Promise<void> {
  const asked = { client_id: "agent", redirect_uri: "https://agent.example/callback" };
  const credentials = { Authorization: `Basic ${btoa(`agent:${SECRET}`)}` };
  await signIn(worker.origin, asked, { user: "ada", headers: credentials });
}

const ADA = { clientId: "agent", claims: { name: "Ada Lovelace", email: "ada@example.com" } };

describe.each(["2026-07-28", "2025-11-25"])("our client in %s", (version) => {
  test("calls for a user who has signed in at the company, and gets the scope that a tool needs with another assertion", async () => {
    const client = await joinOwn(version);
    const first = JSON.parse(textOf(await client.callTool("who"))) as Members;
    expect(first).toMatchObject({ ...ADA, scopes: ["read"] });
    expect(first.claims).toMatchObject({ identity: { issuer: company.issuer, subject: "ada" } });
    expect(company.issued).toHaveLength(1);
    expect(textOf(await client.callTool("write"))).toBe("written");
    // The second token has both scopes, with a second assertion.
    expect(company.issued).toHaveLength(2);
  });

  test("binds its token to a key", async () => {
    const client = await joinOwn(version, { dpop: dpopKeys() });
    const { claims } = JSON.parse(textOf(await client.callTool("who"))) as { claims: Members };
    expect(claims).toMatchObject({ cnf: { jkt: expect.any(String) } });
  });

  test("is refused if the company does not allow it, and nothing reaches the server", async () => {
    company.policy = undefined;
    await expect(joinOwn(version)).rejects.toMatchObject({ reason: "token-refused" });
  });
});

describe.each<[string, "legacy" | { readonly pin: string }]>([
  ["2026-07-28", { pin: "2026-07-28" }],
  ["a legacy session", "legacy"],
])("the official client in %s", (_, mode) => {
  test("calls for a user who has signed in at the company", async () => {
    const client = await joinOfficial(mode);
    expect(JSON.parse(textOf(await client.callTool({ name: "who", arguments: {} })))).toMatchObject(ADA);
    expect(company.issued).toHaveLength(1);
  });
});

test("the user sees both clients as one, revokes it, and neither gets access again until the user allows it", async () => {
  const [own, official] = [await joinOwn("2026-07-28"), await joinOfficial({ pin: "2026-07-28" })];
  const browser = new Browser();
  const { page } = await visit(browser, worker.url("/authorize/allowed"), "ada");
  expect(page.match(/value="agent"/g)).toHaveLength(1);
  expect(page).toContain(new URL(company.issuer).host);
  await browser.post(worker.url("/authorize/allowed"), { ...fieldsOf(page), revoke: "agent" });
  await expect(own.callTool("who")).rejects.toMatchObject({ reason: "token-refused" });
  await expect(official.callTool({ name: "who", arguments: {} })).rejects.toThrow(/revoked the access of this client/);
  await expect(joinOwn("2026-07-28")).rejects.toThrow(/revoked the access of this client/);
});

// This moves the clock of the Worker and of the company.
test("both clients get a new token with another assertion when their token has expired", async () => {
  // The user of the test before has revoked the client, and allows it again.
  await allowAgain();
  const [own, official] = [await joinOwn("2026-07-28"), await joinOfficial({ pin: "2026-07-28" })];
  const call = async () => [
    JSON.parse(textOf(await own.callTool("who"))),
    JSON.parse(textOf(await official.callTool({ name: "who", arguments: {} }))),
  ];
  expect(await call()).toMatchObject([ADA, ADA]);
  const before = company.issued.length;
  company.aheadMs = 3_601_000;
  await worker.advance(company.aheadMs);
  expect(await call()).toMatchObject([ADA, ADA]);
  expect(company.issued).toHaveLength(before + 2);
});
