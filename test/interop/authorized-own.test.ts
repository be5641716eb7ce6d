// @module-tag long
/** Our client signs in at a real authorization server, `oidc-provider`, and uses endpoints with `bearer()` on workerd. */
import { afterEach, describe, expect, test } from "vitest";
import { type Client, connect } from "../../src/client/index.ts";
import { clientCredentials, dpopKeys, oauth } from "../../src/client/oauth/index.ts";
import { ignoreLogs } from "../harness/logs.ts";
import { until } from "../http/wire.ts";
import { issuer, setUp, statusOf, worker } from "./authorized.ts";

ignoreLogs(/^mcp-edge: tokens must have the issuer/);

setUp();

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

interface Way {
  readonly name: string;
  readonly versions: readonly string[];
  readonly transport: "streamable-http" | "http-sse";
}

const WAYS: readonly Way[] = [
  { name: "2026-07-28", versions: ["2026-07-28"], transport: "streamable-http" },
  { name: "a legacy session", versions: ["2025-11-25"], transport: "streamable-http" },
  { name: "HTTP+SSE", versions: ["2024-11-05"], transport: "http-sse" },
];

/** A client with its own credentials, and the tokens that it has sent to the Worker, each once. */
async function signIn({ versions, transport }: Way, id = "machine", path = "/mcp") {
  const tokens: string[] = [];
  const auth = oauth({
    grant: clientCredentials(),
    client: { id, secret: "secret", issuer: issuer.url },
    ...(id === "bound" ? { dpop: dpopKeys() } : {}),
  });
  const client = await connect(worker.url(path), {
    name: "own",
    version: "1.0.0",
    protocolVersions: versions,
    auth,
    fetch: async (url, init) => {
      // As a proxy that admits no POST to the URL itself, after which the client falls back to HTTP+SSE.
      const isPost = init.method === "POST" && url === worker.url(path);
      if (transport === "http-sse" && isPost) return new Response(null, { status: 405 });
      const token = new Headers(init.headers).get("Authorization")?.split(" ")[1];
      if (url.startsWith(worker.origin) && token !== undefined && tokens.at(-1) !== token) tokens.push(token);
      return fetch(url, init);
    },
  });
  clients.push(client);
  expect([client.server.transport, client.server.protocolVersion]).toEqual([transport, versions[0]]);
  return { client, tokens };
}

async function textOf(client: Client, name: string): Promise<string> {
  const [block] = (await client.callTool(name)).content;
  return block?.type === "text" ? block.text : "";
}

describe.each(WAYS)("our client over $name", (way) => {
  test("finds the authorization server by the challenge, signs in and calls", async () => {
    const { client } = await signIn(way);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({
      issuer: issuer.url,
      clientId: "machine",
      scopes: ["read"],
    });
  });

  test("gets a new token when its token has expired", async () => {
    const { client, tokens } = await signIn(way, "machine", "/short");
    await textOf(client, "who");
    const expired = tokens.at(-1) ?? "";
    await until("the token has expired", async () => (await statusOf(expired, "/short")) === 401);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({ clientId: "machine" });
    expect(tokens.at(-1)).not.toBe(expired);
  });

  test("requests the scope that a tool needs, once, and keeps its other scope", async () => {
    const { client } = await signIn(way);
    await textOf(client, "who");
    const before = issuer.tokenRequests;
    expect(await textOf(client, "write")).toBe("written by machine");
    expect(issuer.tokenRequests - before).toBe(1);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({ scopes: ["read", "write"] });
  });

  test("proves possession of the token's key, with the nonce of the server", async () => {
    const { client, tokens } = await signIn(way, "bound");
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({ claims: { cnf: { jkt: expect.any(String) } } });
    expect(await statusOf(tokens.at(-1) ?? "")).toBe(401);
  });
});

// These move the clock of the Worker, so that proofs of the client would be too old.
describe.each(WAYS)("a signing key of the authorization server, over $name", (way) => {
  test("works as soon as tokens are signed with it, together with the old key", async () => {
    const before = await signIn(way);
    await textOf(before.client, "who");
    await worker.advance(31_000);
    await issuer.rotate(`new for ${way.name}`);
    const after = await signIn(way);
    for (const { client } of [after, before]) expect(await textOf(client, "who")).toContain("machine");
    expect(after.tokens.at(-1)).not.toBe(before.tokens.at(-1));
  });

  test("is refused at most ten minutes after it was revoked, and the client then signs in again", async () => {
    const { client, tokens } = await signIn(way);
    await textOf(client, "who");
    const revoked = tokens.at(-1) ?? "";
    await issuer.rotate(`after the revocation for ${way.name}`, true);
    await worker.advance(601_000);
    expect(await statusOf(revoked)).toBe(401);
    expect(await textOf(client, "who")).toContain("machine");
    expect(tokens.at(-1)).not.toBe(revoked);
  });
});
