// @module-tag long
/** Clients with a metadata document, and clients that register themselves, on workerd. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import type { Members } from "../http/messages.ts";
import { authorizeUrl, Browser, newVerifier, register, signIn, visit } from "./authorization.ts";
import { setUp, worker } from "./authorizing.ts";
import { type Held, Outside } from "./outside.ts";

expectLogs(/^mcp-edge: the metadata document of a client could not be requested: /);

const outside = new Outside();
const { requests: requested } = outside;
setUp(undefined, outside.answer);

let number = 0;

/** Publishes a document under a new URL, and returns this URL. */
function publish(document: Members | string, init: ResponseInit = {}, host = "client.example"): string {
  number += 1;
  const id = `https://${host}/${number}.json`;
  const body = typeof document === "string" ? document : JSON.stringify({ client_id: id, ...document });
  outside.publish(id, () => new Response(body, init));
  return id;
}

const REDIRECT = "https://client.example/callback";
const GOOD = { client_name: "Example", redirect_uris: [REDIRECT, "http://127.0.0.1/callback"] };

async function ask(client_id: string, redirect_uri = REDIRECT) {
  const to = authorizeUrl(worker.origin, newVerifier(), { client_id, redirect_uri });
  return visit(new Browser(), to, "ada");
}

describe("a client with a metadata document", () => {
  test("signs a user in without registration", async () => {
    const client_id = publish(GOOD);
    const tokens = await signIn(worker.origin, { client_id, redirect_uri: REDIRECT });
    expect(tokens.scope).toBe("read");
    const { page } = await ask(client_id, "http://127.0.0.1:5555/callback");
    expect(page).toContain("Example");
    expect(page).toContain("127.0.0.1:5555");
  });

  test("is served without authentication, even if it can authenticate with a key", async () => {
    const methods = { token_endpoint_auth_method: "private_key_jwt", token_endpoint_auth_methods_supported: ["none"] };
    expect((await ask(publish({ ...GOOD, ...methods }))).status).toBe(200);
  });

  test("has its document requested once for many requests", async () => {
    const client_id = publish(GOOD);
    await Promise.all(Array.from({ length: 5 }, () => ask(client_id)));
    await ask(client_id);
    // The other isolate may have asked too.
    expect(requested.filter((request) => request.url === client_id).length).toBeLessThanOrEqual(2);
  });

  test.each<[string, () => string]>([
    ["another client_id", () => publish({ ...GOOD, client_id: "https://other.example/1.json" })],
    ["no redirect URIs", () => publish({ client_name: "Example" })],
    ["too many redirect URIs", () => publish({ ...GOOD, redirect_uris: Array.from({ length: 21 }, () => REDIRECT) })],
    ["redirect URIs that are not allowed only", () => publish({ ...GOOD, redirect_uris: ["javascript:alert(1)"] })],
    ["a secret", () => publish({ ...GOOD, client_secret: "secret" })],
    [
      "a way to authenticate that needs a secret",
      () => publish({ ...GOOD, token_endpoint_auth_method: "client_secret_post" }),
    ],
    ["a list in place of an object", () => publish("[]")],
    ["no JSON", () => publish("<html>")],
    ["more than 16 KiB", () => publish({ ...GOOD, filler: "x".repeat(17_000) })],
    ["an error", () => publish(GOOD, { status: 500 })],
    ["a redirect", () => publish(GOOD, { status: 302, headers: { Location: "https://client.example/other.json" } })],
  ])("is refused if its document has %s", async (_, make) => {
    const { status, url } = await ask(make());
    expect([status, url.startsWith(worker.origin)]).toEqual([400, true]);
  });

  test("can have redirect URIs for other servers, which are ignored here", async () => {
    const client_id = publish({ ...GOOD, redirect_uris: ["other://callback", REDIRECT] });
    expect((await ask(client_id)).status).toBe(200);
    expect((await ask(client_id, "other://callback")).status).toBe(400);
  });

  test.each([
    ["http:", "http://client.example/1.json"],
    ["no path", "https://client.example"],
    ["the path /", "https://client.example/"],
    ["a fragment", "https://client.example/1.json#a"],
    ["a user name", "https://user@client.example/1.json"],
    ["another notation", "https://CLIENT.example/1.json"],
    ["a path with .. segments", "https://client.example/a/../1.json"],
    ["a private address", "https://10.0.0.1/1.json"],
    ["the address of cloud metadata", "https://169.254.169.254/1.json"],
    ["a private name", "https://metadata.internal/1.json"],
    ["a port", "https://client.example:8443/1.json"],
    ["more than 500 characters", `https://client.example/${"x".repeat(500)}`],
  ])("is refused and not requested if its id has %s (SSRF)", async (_, id) => {
    const before = requested.length;
    expect((await ask(id)).status).toBe(400);
    expect(requested.slice(before).map((request) => request.url)).toEqual([]);
  });

  test("has its document requested without cookies and credentials", async () => {
    const client_id = publish(GOOD);
    await ask(client_id);
    const request = requested.find((each) => each.url === client_id);
    expect(request?.headers.get("Cookie") ?? request?.headers.get("Authorization") ?? null).toBeNull();
  });
});

/** Publishes a document that is served when the test releases it. */
function publishHeld(host = "client.example"): Held & { readonly id: string } {
  number += 1;
  const id = `https://${host}/${number}.json`;
  return { id, ...outside.hold(id, () => Response.json({ client_id: id, ...GOOD })) };
}

/** Asks for a client from an address, and returns the status and the page. */
async function askFrom(address: string, client_id: string, headers: Record<string, string> = {}) {
  const to = authorizeUrl(worker.origin, newVerifier(), { client_id, redirect_uri: REDIRECT });
  const all = { "CF-Connecting-IP": address, ...headers };
  const response = await fetch(to, { redirect: "manual", headers: all });
  return { status: response.status, page: await response.text() };
}

const TWIN = { "X-Twin": "yes" };

/** Begins to load a document at the other isolate, and cancels the request before the document arrives. */
async function abandon(): Promise<Held & { readonly id: string }> {
  const held = publishHeld();
  const { page } = await askFrom("192.0.2.1", held.id, { ...TWIN, "X-Abandon-When": held.isAsked });
  expect(page).toBe("abandoned");
  return held;
}

describe("a request that is cancelled while its document loads", () => {
  test("does not stop later requests of the same client", async () => {
    const { id, release } = await abandon();
    const later = askFrom("192.0.2.1", id, TWIN);
    release();
    expect((await later).status).toBe(200);
  });

  test("does not block later requests, however many there are", async () => {
    for (let time = 0; time < 25; time += 1) {
      const { id, release } = await abandon();
      release();
      expect((await askFrom("192.0.2.1", id, TWIN)).status).toBe(200);
    }
  });
});

describe("documents that load slowly", () => {
  test("are requested five at a time for one network, and documents of other networks meanwhile", async () => {
    const slow = Array.from({ length: 5 }, () => publishHeld());
    const asking = slow.map(({ id }) => askFrom("192.0.2.1", id));
    await Promise.all(slow.map(({ asked }) => asked));
    const [sixth, another] = [publish(GOOD), publish(GOOD)];
    expect(await askFrom("192.0.2.1", sixth)).toMatchObject({ status: 400, page: expect.stringContaining("Too many") });
    expect((await askFrom("192.0.2.2", another)).status).toBe(200);
    for (const { release } of slow) release();
    expect((await Promise.all(asking)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await askFrom("192.0.2.1", sixth)).status).toBe(200);
  });

  test("are requested 20 at a time from one host, and documents of other hosts meanwhile", async () => {
    const slow = Array.from({ length: 20 }, () => publishHeld("slow.example"));
    const asking = slow.map(({ id }, at) => askFrom(`192.0.2.${10 + (at % 4)}`, id));
    await Promise.all(slow.map(({ asked }) => asked));
    const next = publish(GOOD, {}, "slow.example");
    expect(await askFrom("192.0.2.20", next)).toMatchObject({ status: 400, page: expect.stringContaining("Too many") });
    expect((await askFrom("192.0.2.20", publish(GOOD))).status).toBe(200);
    for (const { release } of slow) release();
    expect(new Set((await Promise.all(asking)).map(({ status }) => status))).toEqual(new Set([200]));
    expect((await askFrom("192.0.2.20", next)).status).toBe(200);
  });
});

test.each([
  ["URLs without a document", () => `https://${crypto.randomUUID()}.example/1.json`],
  ["documents of one host", () => publish(GOOD, {}, "many.example")],
])("a document stays cached, however many %s are requested", async (_, next) => {
  const kept = publish(GOOD);
  expect((await askFrom("192.0.2.1", kept)).status).toBe(200);
  for (let time = 0; time < 50; time += 1) {
    await Promise.all(Array.from({ length: 5 }, () => askFrom("192.0.2.2", next())));
  }
  expect((await askFrom("192.0.2.1", kept)).status).toBe(200);
  expect(requested.filter(({ url }) => url === kept)).toHaveLength(1);
});

describe("registration", () => {
  const metadata = (changes: Members = {}) => register(worker.origin, changes);

  test("returns an id that works, and does not store anything", async () => {
    const before = (await worker.objects("MCP")).length;
    const registered = await metadata();
    expect(registered).toEqual({
      client_id: expect.any(String),
      client_id_issued_at: expect.any(Number),
      client_name: "Test",
      redirect_uris: ["http://127.0.0.1/callback"],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    });
    expect((await worker.objects("MCP")).length).toBe(before);
    const asked = { client_id: String(registered.client_id), redirect_uri: "http://127.0.0.1:9/callback" };
    expect((await signIn(worker.origin, asked)).token_type).toBe("Bearer");
  });

  test("returns a secret by default, as RFC 7591 requires", async () => {
    const registered = await metadata({ token_endpoint_auth_method: undefined });
    expect(registered).toMatchObject({ token_endpoint_auth_method: "client_secret_basic" });
    expect(String(registered.client_secret).length).toBeGreaterThan(40);
    expect(String(registered.client_id)).not.toContain(String(registered.client_secret));
  });

  test.each<[string, Members, string]>([
    ["no redirect URI", { redirect_uris: [] }, "invalid_redirect_uri"],
    ["six redirect URIs", { redirect_uris: Array.from({ length: 6 }, () => REDIRECT) }, "invalid_redirect_uri"],
    ["a redirect URI that is not a string", { redirect_uris: [7] }, "invalid_redirect_uri"],
    ["http: for a host", { redirect_uris: ["http://client.example/callback"] }, "invalid_redirect_uri"],
    ["a script", { redirect_uris: ["javascript:alert(1)"] }, "invalid_redirect_uri"],
    ["an unknown scheme", { redirect_uris: ["other:/callback"] }, "invalid_redirect_uri"],
    ["a fragment", { redirect_uris: [`${REDIRECT}#a`] }, "invalid_redirect_uri"],
    ["a user name", { redirect_uris: ["https://user@client.example/"] }, "invalid_redirect_uri"],
    ["a method that is not supported", { token_endpoint_auth_method: "private_key_jwt" }, "invalid_client_metadata"],
    ["a grant type that is not supported", { grant_types: ["implicit"] }, "invalid_client_metadata"],
    ["a response type that is not supported", { response_types: ["token"] }, "invalid_client_metadata"],
  ])("is refused with %s", async (_, changes, error) => {
    expect(await metadata(changes)).toEqual({ error, error_description: expect.any(String) });
  });

  test("can use a scheme that the author allows", async () => {
    const registered = await metadata({ redirect_uris: ["notes://callback"] });
    const { status, page } = await ask(String(registered.client_id), "notes://callback");
    expect(status).toBe(200);
    expect(page).toContain("notes:");
  });

  test("cannot be altered, and expires after a year", async () => {
    const id = String((await metadata()).client_id);
    expect((await ask(`${id.slice(0, -1)}${id.endsWith("A") ? "B" : "A"}`, "http://127.0.0.1/callback")).status).toBe(
      400,
    );
    expect((await ask(id, "http://127.0.0.1/callback")).status).toBe(200);
    await worker.advance(366 * 24 * 60 * 60_000);
    expect((await ask(id, "http://127.0.0.1/callback")).status).toBe(400);
  });

  test("removes hidden characters from the client's name", async () => {
    const name = `Claude\u202egnp.exe\u0000${"x".repeat(200)}`;
    expect((await metadata({ client_name: name })).client_name).toBe(`Claudegnp.exe${"x".repeat(67)}…`);
  });
});

describe("a public issuer without the option registration", () => {
  let closed: TestWorker;
  beforeAll(async () => {
    closed = await startWorker({
      entry: "test/worker/fixtures/authorization-server.ts",
      objects: { MCP: "McpObject" },
      bindings: { UPSTREAM: "http://127.0.0.1:1", CLOSED: "yes", ISSUER: "https://mcp.example.com" },
      outbound: outside.answer,
    });
  });
  afterAll(() => closed?.stop());

  test("has no registration, and its metadata names none", async () => {
    const answered = await fetch(closed.url("/register"), { method: "POST", body: "{}" });
    expect(answered.status).toBe(404);
    const answer = await fetch(closed.url("/.well-known/oauth-authorization-server"));
    expect(await answer.json()).not.toHaveProperty("registration_endpoint");
  });

  test.each([
    ["https://127.0.0.1/1.json", "could not be requested"],
    ["https://[::1]/1.json", "could not be requested"],
    ["http://127.0.0.1/1.json", "scheme is not https"],
    ["https://localhost/1.json", "could not be requested"],
  ])("a document on the machine of the server is refused, and not requested: %s", async (client_id, why) => {
    const before = requested.length;
    const to = authorizeUrl(closed.origin, newVerifier(), { client_id, redirect_uri: REDIRECT });
    const { status, page } = await visit(new Browser(), to, "ada");
    expect([status, page.includes(why), requested.length - before]).toEqual([400, true, 0]);
  });
});
