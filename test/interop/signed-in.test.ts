/**
 * The official client and ours with `authorizationServer()` on workerd: sign in, consent, call, expiry, step-up, revocation and
 * signing out, in the modern era, in a legacy session and over HTTP+SSE.
 */
import { randomBytes } from "node:crypto";
import {
  Client,
  type OAuthClientInformationContext,
  type OAuthClientProvider,
  SSEClientTransport,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { afterEach, describe, expect, test } from "vitest";
import { connect, type Client as OurClient } from "../../src/client/index.ts";
import { dpop, memoryStore, oauth } from "../../src/client/oauth/index.ts";
import { allow, Browser, fieldsOf, visit } from "../worker/authorization.ts";
import { setUp, statusOf, url, worker } from "../worker/authorizing.ts";

setUp();

const CALLBACK = "http://127.0.0.1:8976/callback";
const HOUR_MS = 60 * 60_000;
let users = 0;

/** A person with a browser, and a program that keeps its credentials as the official client gives them. */
class Person implements OAuthClientProvider {
  readonly browser = new Browser();
  readonly user: string;
  /** The pages that were opened. */
  readonly opened: URL[] = [];
  readonly redirectUrl = CALLBACK;
  readonly clientMetadata = { client_name: "Official", redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" };
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = "";
  returned: URLSearchParams | undefined;

  constructor() {
    users += 1;
    this.user = `person${users}`;
  }

  state(): string {
    return randomBytes(16).toString("base64url");
  }

  clientInformation(_: OAuthClientInformationContext | undefined = undefined) {
    return this.#client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }

  async redirectToAuthorization(to: URL): Promise<void> {
    this.opened.push(to);
    this.returned = await allow(this.browser, to.href, this.user);
  }

  /** Called when the server has refused the credentials. */
  invalidateCredentials(what: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    if (what === "all" || what === "client") this.#client = undefined;
    if (what === "all" || what === "tokens") this.#tokens = undefined;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}

type Transport = StreamableHTTPClientTransport | SSEClientTransport;
type Mode = "legacy" | { readonly pin: string };

const streamable = (authProvider: OAuthClientProvider): Transport =>
  new StreamableHTTPClientTransport(new URL(url()), { authProvider });
const sse = (authProvider: OAuthClientProvider): Transport => new SSEClientTransport(new URL(url()), { authProvider });

const OFFICIAL: readonly (readonly [string, Mode, (person: Person) => Transport])[] = [
  ["2026-07-28", { pin: "2026-07-28" }, streamable],
  ["a legacy session", "legacy", streamable],
  ["HTTP+SSE", "legacy", sse],
];

const clients: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close().catch(() => undefined);
});

/** Connects as the documentation of the official client says: once more after the user has returned. */
async function enter(person: Person, mode: Mode, transport: (person: Person) => Transport): Promise<Client> {
  const open = async () => {
    const client = new Client({ name: "official", version: "1.0.0" }, { versionNegotiation: { mode } });
    clients.push(client);
    const own = transport(person);
    return { own, connected: client.connect(own).then(() => client) };
  };
  const first = await open();
  try {
    return await first.connected;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  }
  await first.own.finishAuth(person.returned ?? new URLSearchParams());
  return (await open()).connected;
}

async function textOf(client: Client, name: string): Promise<string> {
  const { content } = await client.callTool({ name, arguments: {} });
  return (content as { text?: string }[])[0]?.text ?? "";
}

/** Revokes everything on the page of allowed clients. */
async function revokeOnPage(browser: Browser, user: string): Promise<void> {
  const { page } = await visit(browser, url("/authorize/allowed"), user);
  const [, client = ""] = /name="revoke" value="([^"]*)"/.exec(page) ?? [];
  expect((await browser.post(url("/authorize/allowed"), { ...fieldsOf(page), revoke: client })).status).toBe(303);
}

// The first test, because proofs contain the time, and the others move the clock of the Worker.
test("our client proves its key at the authorization server and at the endpoint", async () => {
  const { opened, join } = ours({ protocolVersions: ["2026-07-28"] }, true);
  const client = await join();
  const { claims } = JSON.parse(await text(client, "who"));
  expect(claims).toMatchObject({ cnf: { jkt: expect.any(String) } });
  expect(opened).toHaveLength(1);
});

describe.each(OFFICIAL)("the official client over %s", (_, mode, transport) => {
  test("signs a user in, calls, and goes on when its token has expired", async () => {
    const person = new Person();
    const client = await enter(person, mode, transport);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({ claims: { name: person.user }, scopes: ["read"] });
    const token = person.tokens()?.access_token;
    await worker.advance(HOUR_MS + 1_000);
    expect(JSON.parse(await textOf(client, "who"))).toMatchObject({ claims: { name: person.user } });
    expect(person.tokens()?.access_token).not.toBe(token);
    expect(person.opened).toHaveLength(1);
  });

  test("asks its user again when the access was revoked, and after signing out", async () => {
    const person = new Person();
    await textOf(await enter(person, mode, transport), "who");
    const { access_token = "" } = person.tokens() ?? {};
    await revokeOnPage(person.browser, person.user);
    expect(await statusOf(access_token)).toBe(401);
    const fields = fieldsOf((await visit(person.browser, url("/authorize/allowed"), person.user)).page);
    await person.browser.post(url("/authorize/allowed"), { ...fields, "sign-out": "1" });
    await textOf(await enter(person, mode, transport), "who");
    expect(person.opened).toHaveLength(2);
  });
});

test.each(OFFICIAL.slice(0, 2))(
  "the official client over %s asks for the scope that a tool needs",
  async (_, mode, transport) => {
    const person = new Person();
    const client = await enter(person, mode, transport);
    await expect(textOf(client, "write")).rejects.toThrow();
    expect(person.opened.at(-1)?.searchParams.get("scope")?.split(" ").toSorted()).toEqual(["read", "write"]);
    const own = transport(person);
    // The transport that was refused has what the exchange needs.
    await (client.transport as Transport).finishAuth(person.returned ?? new URLSearchParams());
    await own.close();
    expect(await textOf(client, "write")).toBe("written");
  },
);

/** Makes the client take HTTP+SSE, as if the server knew nothing newer. Only requests with a token are refused. */
function withoutStreamable(to: string, init: RequestInit): Promise<Response> {
  const isStreamable = init.method === "POST" && to === url() && new Headers(init.headers).has("Authorization");
  return isStreamable ? Promise.resolve(new Response(null, { status: 405 })) : fetch(to, init);
}

const OURS: readonly (readonly [string, object])[] = [
  ["2026-07-28", { protocolVersions: ["2026-07-28"] }],
  ["a legacy session", { protocolVersions: ["2025-11-25"] }],
  ["HTTP+SSE", { protocolVersions: ["2024-11-05"], fetch: withoutStreamable }],
];

/** Our client, with a person at a browser. */
function ours(options: object, bound = false) {
  users += 1;
  const [user, browser, store] = [`person${users}`, new Browser(), memoryStore()];
  const opened: URL[] = [];
  const authorize = async (to: string) => {
    opened.push(new URL(to));
    return `${CALLBACK}?${await allow(browser, to, user)}`;
  };
  const redirect = { url: CALLBACK, open: () => ({ url: CALLBACK, authorize, close: () => undefined }) };
  const join = async (): Promise<OurClient> => {
    const auth = oauth({ redirect, store, ...(bound && { dpop: dpop() }) });
    const client = await connect(url(), { name: "ours", version: "1.0.0", onEvent: () => undefined, ...options, auth });
    clients.push(client);
    return client;
  };
  return { user, browser, opened, join };
}

const text = async (client: OurClient, name: string) => {
  const [block] = (await client.callTool(name)).content;
  return block?.type === "text" ? block.text : "";
};

describe.each(OURS)("our client over %s", (_, options) => {
  test("signs a user in, and ten calls of two processes on an expired token go on", async () => {
    const { user, opened, join } = ours(options);
    const [one, two] = [await join(), await join()];
    expect(JSON.parse(await text(one, "who"))).toMatchObject({ claims: { name: user }, scopes: ["read"] });
    await worker.advance(HOUR_MS + 1_000);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, place) => text(place % 2 ? one : two, "who")));
    expect(answers.map((answer) => JSON.parse(answer).claims.name)).toEqual(Array.from({ length: 10 }, () => user));
    expect(opened).toHaveLength(1);
  });

  test("asks its user for the scope that a tool needs, and again when the access was revoked", async () => {
    const { user, browser, opened, join } = ours(options);
    const client = await join();
    expect(await text(client, "write")).toBe("written");
    expect(opened.at(-1)?.searchParams.get("scope")?.split(" ").toSorted()).toEqual(["read", "write"]);
    await revokeOnPage(browser, user);
    await text(client, "who");
    expect(opened).toHaveLength(3);
  });
});
