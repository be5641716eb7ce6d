// @module-tag long
/** The official client signs in at a real authorization server, `oidc-provider`, and uses endpoints with `bearer()` on workerd. */
import {
  Client,
  ClientCredentialsProvider,
  DpopSession,
  type OAuthClientProvider,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { ignoreLogs } from "../harness/logs.ts";
import { until } from "../http/wire.ts";
import { issuer, setUp, statusOf, worker } from "./authorized.ts";

ignoreLogs(/^mcp-edge: tokens must have the issuer/);
ignoreLogs(/^\[mcp-sdk\] /);

setUp();

/** Signs in with client credentials, and keeps its tokens. */
class Machine extends ClientCredentialsProvider {
  constructor(clientId: string) {
    super({ clientId, clientSecret: "secret", expectedIssuer: issuer.url });
  }

  get token(): string {
    return this.tokens()?.access_token ?? "";
  }
}

/** Has a key, to which its tokens are bound. */
class BoundMachine extends Machine {
  readonly #session = DpopSession.create();

  dpop(): Promise<DpopSession> {
    return this.#session;
  }
}

type Connect = (auth: OAuthClientProvider, path?: string) => Promise<Client>;

const streamable =
  (mode: "legacy" | { readonly pin: string }): Connect =>
  async (authProvider, path = "/mcp") => {
    const client = new Client({ name: "authorized", version: "1.0.0" }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(worker.url(path)), { authProvider }));
    return client;
  };

const httpSse: Connect = async (authProvider, path = "/mcp") => {
  const client = new Client({ name: "authorized", version: "1.0.0" }, { versionNegotiation: { mode: "legacy" } });
  await client.connect(new SSEClientTransport(new URL(worker.url(path)), { authProvider }));
  return client;
};

const WAYS: readonly (readonly [string, Connect])[] = [
  ["2026-07-28", streamable({ pin: "2026-07-28" })],
  ["a legacy session", streamable("legacy")],
  ["HTTP+SSE", httpSse],
];

async function textOf(client: Client, name: string): Promise<string> {
  const { content } = await client.callTool({ name, arguments: {} });
  return (content as { text?: string }[])[0]?.text ?? "";
}

describe.each(WAYS)("the official client over %s", (_, connect) => {
  test("finds the authorization server by the challenge, signs in and calls", async () => {
    const machine = new Machine("machine");
    const client = await connect(machine);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({
      issuer: issuer.url,
      clientId: "machine",
      scopes: ["read"],
    });
    await client.close();
  });

  test("gets a new token when its token has expired", async () => {
    const machine = new Machine("machine");
    const client = await connect(machine, "/short");
    const { token } = machine;
    await until("the token has expired", async () => (await statusOf(token, "/short")) === 401);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({ clientId: "machine" });
    expect(machine.token).not.toBe(token);
    await client.close();
  });

  test("proves possession of the token's key, with the nonce of the server", async () => {
    const machine = new BoundMachine("bound");
    const client = await connect(machine);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({ claims: { cnf: { jkt: expect.any(String) } } });
    expect(machine.tokens()?.token_type).toBe("DPoP");
    expect(await statusOf(machine.token)).toBe(401);
    await client.close();
  });
});

test.each(WAYS.slice(0, 2))("the official client over %s requests the scope that a tool needs", async (_, connect) => {
  const client = await connect(new Machine("machine"));
  await textOf(client, "who");
  const before = issuer.tokenRequests;
  expect(await textOf(client, "write")).toBe("written by machine");
  expect(issuer.tokenRequests - before).toBe(1);
  expect(JSON.parse(await textOf(client, "who"))).toMatchObject({ scopes: ["read", "write"] });
  await client.close();
});

test("the official client over HTTP+SSE, which never requests scopes, gets the challenge at its POST", async () => {
  const client = await httpSse(new Machine("machine"));
  await expect(textOf(client, "write")).rejects.toThrow(/403.*insufficient_scope/);
  expect(await textOf(client, "who")).toContain("machine");
  await client.close();
});

// These move the clock of the Worker, so that proofs of the client would be too old.
describe.each(WAYS)("a signing key of the authorization server, over %s", (name, connect) => {
  test("works as soon as tokens are signed with it, together with the old key", async () => {
    const old = new Machine("machine");
    const before = await connect(old);
    await textOf(before, "who");
    await worker.advance(31_000);
    await issuer.rotate(`new for ${name}`);
    const machine = new Machine("machine");
    const after = await connect(machine);
    for (const client of [after, before]) expect(await textOf(client, "who")).toContain("machine");
    await Promise.all([before.close(), after.close()]);
  });

  test("is refused at most ten minutes after it was revoked, and the client then signs in again", async () => {
    const machine = new Machine("machine");
    const client = await connect(machine);
    await textOf(client, "who");
    const { token } = machine;
    await issuer.rotate(`after the revocation for ${name}`, true);
    await worker.advance(601_000);
    expect(await statusOf(token)).toBe(401);
    expect(await textOf(client, "who")).toContain("machine");
    expect(machine.token).not.toBe(token);
    await client.close();
  });
});
