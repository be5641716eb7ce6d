/** Discovery, the authorization request and its response, and redirects. */
import { describe, expect, test } from "vitest";
import {
  hostedRedirect,
  memoryStore,
  type OAuthError,
  type OAuthOptions,
  oauth,
} from "../../../src/client/oauth/index.ts";
import { until } from "../../http/wire.ts";
import { type Authority, type Reply, visit } from "./authority.ts";
import { join, reasonOf, start } from "./lab.ts";

test("the authorization request has PKCE, state and resource, and the token request has the same resource", async () => {
  const authority = await start();
  await join(authority);
  const [request] = authority.authorizations;
  expect(request).toMatchObject({ response_type: "code", code_challenge_method: "S256", resource: authority.url });
  expect(request?.state).toMatch(/^[\w-]{43}$/);
  expect(authority.tokenRequests[0]?.parameters).toMatchObject({ resource: authority.url });
});

test("the client registers itself under its title, as a native application, and can refresh", async () => {
  const authority = await start();
  await join(authority);
  expect(authority.registrations).toEqual([
    {
      client_name: "Tester",
      redirect_uris: ["http://127.0.0.1:8976/callback"],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native",
    },
  ]);
});

describe("the authorization server's metadata", () => {
  const WELL_KNOWN = "/.well-known/oauth-authorization-server";
  interface Change {
    readonly metadata?: Record<string, unknown>;
    readonly resource?: string;
    readonly reply?: Reply;
  }

  test.each<[string, string, (authority: Authority) => Change]>([
    ["describes another server", "resource-mismatch", () => ({ resource: "https://evil.example/mcp" })],
    ["describes a path beside that of the server", "resource-mismatch", ({ url }) => ({ resource: `${url}2` })],
    ["names another issuer", "issuer-mismatch", () => ({ metadata: { issuer: "https://evil.example" } })],
    ["names the issuer with a slash more", "issuer-mismatch", (a) => ({ metadata: { issuer: `${a.issuer}/` } })],
    ["has no PKCE", "pkce-missing", () => ({ metadata: { code_challenge_methods_supported: undefined } })],
    ["has plain PKCE only", "pkce-missing", () => ({ metadata: { code_challenge_methods_supported: ["plain"] } })],
    [
      "has a script as a page",
      "address-refused",
      () => ({ metadata: { authorization_endpoint: "javascript:alert(1)" } }),
    ],
    [
      "has a page without TLS",
      "address-refused",
      () => ({ metadata: { authorization_endpoint: "http://as.example/a" } }),
    ],
    ["has no way to register", "client-missing", () => ({ metadata: { registration_endpoint: undefined } })],
    ["does not exist", "discovery-failed", () => ({ reply: { status: 404 } })],
    ["cannot be read at the moment", "unreachable", () => ({ reply: { status: 503 } })],
    ["is larger than any real one", "unreachable", () => ({ reply: { body: { x: "x".repeat(300_000) } } })],
  ])("is refused if it %s: %s", async (_what, reason, changeOf) => {
    const authority = await start((each) => {
      const { metadata, resource, reply } = changeOf(each);
      if (metadata) each.metadata = metadata;
      if (resource !== undefined) each.resourceMetadata = { resource };
      if (reply) each.replies.set(WELL_KNOWN, reply);
    });
    expect(await reasonOf(authority)).toBe(reason);
    expect(authority.tokenRequests).toEqual([]);
  });

  test("is not followed to another address", async () => {
    const authority = await start();
    const path = "/.well-known/oauth-authorization-server";
    authority.replies.set(path, { status: 302, headers: { location: `${authority.issuer}/elsewhere` } });
    expect(await reasonOf(authority)).toBe("discovery-failed");
    expect(authority.requests).not.toContain("GET /elsewhere");
  });

  test("is looked for at the next place if one place has a web page", async () => {
    const authority = await start();
    authority.metadata = {};
    authority.replies.set("/.well-known/oauth-protected-resource/mcp", { body: "<html>" });
    authority.replies.set("/.well-known/oauth-protected-resource", {
      body: { resource: authority.origin, authorization_servers: [authority.issuer] },
    });
    await join(authority);
    expect(authority.authorizations[0]).toMatchObject({ resource: authority.origin });
  });

  test("is not read at an address that the challenge must not name", async () => {
    const authority = await start();
    authority.challenge = (scope) => {
      const header = 'Bearer resource_metadata="http://10.0.0.1/metadata"';
      return scope === undefined ? { status: 401, headers: { "www-authenticate": header } } : undefined;
    };
    const asked: string[] = [];
    const spy = (url: string, init: RequestInit) => {
      asked.push(url);
      return fetch(url, init);
    };
    await join(authority, {}, { fetch: spy });
    expect(asked.filter((url) => url.includes("10.0.0.1"))).toEqual([]);
  });
});

describe("the response to the authorization request", () => {
  test.each<[string, string, (location: URL, authority: Authority) => void, object]>([
    ["with another state", "answer-invalid", (url) => url.searchParams.set("state", "other"), {}],
    ["without a state", "answer-invalid", (url) => url.searchParams.delete("state"), {}],
    ["of another issuer", "answer-invalid", (url) => url.searchParams.set("iss", "https://evil.example"), {}],
    ["of its issuer with a slash more", "answer-invalid", (url, a) => url.searchParams.set("iss", `${a.issuer}/`), {}],
    [
      "without the issuer that was announced",
      "answer-invalid",
      () => undefined,
      { authorization_response_iss_parameter_supported: true },
    ],
    ["without a code", "answer-invalid", (url) => url.searchParams.delete("code"), {}],
  ])("%s is refused before a token is requested", async (_what, reason, change, metadata) => {
    const authority = await start((each) => {
      each.metadata = metadata as Record<string, unknown>;
    });
    const redirect = authority.browser(undefined, (location) => {
      const url = new URL(location);
      change(url, authority);
      return url.href;
    });
    expect(await reasonOf(authority, { redirect })).toBe(reason);
    expect(authority.tokenRequests).toEqual([]);
  });

  test("is not shown if it is an error of another issuer", async () => {
    const authority = await start();
    authority.answer = { error: "access_denied", error_description: "Call 555-1234 now", iss: "https://evil.example" };
    const error = await join(authority).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ reason: "answer-invalid", error: undefined });
    expect(String(error)).not.toContain("555-1234");
  });

  test("rejects with its code if it is an error of the issuer", async () => {
    const authority = await start();
    authority.answer = { error: "access_denied", error_description: "The user said no", iss: authority.issuer };
    await expect(join(authority)).rejects.toMatchObject({
      reason: "access-denied",
      error: "access_denied",
      message: `${authority.issuer} refused the sign-in with access_denied (The user said no).`,
    });
  });
});

test("an authorization server that reports a failure with status 200 is handled", async () => {
  const authority = await start();
  authority.onToken = () => ({ body: { error: "bad_verification_code" } });
  await expect(join(authority)).rejects.toMatchObject({ reason: "token-refused", error: "bad_verification_code" });
});

test("after a change of the authorization server the client signs in there, and does not send it old tokens", async () => {
  const [first, second] = [await start(), await start()];
  const client = await join(first);
  first.expire();
  first.resourceMetadata = { authorization_servers: [second.issuer] };
  // The MCP server accepts the tokens of the new authorization server.
  second.onToken = () => {
    const reply = second.issue("authorization_code", "");
    for (const [token, scope] of second.access) first.access.set(token, scope);
    return reply;
  };
  await client.callTool("add");
  expect(second.tokenRequests.map(({ parameters }) => parameters.grant_type)).toEqual(["authorization_code"]);
});

describe("a hosted redirect", () => {
  const url = "https://app.example/callback";

  test("ends the connection with the page to open, and a later connection succeeds after finish()", async () => {
    const authority = await start();
    const store = memoryStore();
    const options = { redirect: hostedRedirect(url), store, account: "ada" };
    const error = (await join(authority, options).catch((failure: unknown) => failure)) as OAuthError;
    expect(error.reason).toBe("redirect-needed");
    const answer = await visit(error.url ?? "");
    // The request can reach another process.
    expect(await oauth(options).finish(answer)).toEqual({ server: authority.url });
    await join(authority, options);
    expect(authority.registrations[0]).toMatchObject({ application_type: "web", redirect_uris: [url] });
  });

  test("is finished only once, by its own user, and in time", async () => {
    const authority = await start();
    const store = memoryStore();
    const options = { redirect: hostedRedirect(url), store, account: "ada" };
    const page = async () => {
      return ((await join(authority, options).catch((failure: unknown) => failure)) as OAuthError).url ?? "";
    };
    const answer = await visit(await page());
    await expect(oauth({ ...options, account: "eve" }).finish(answer)).rejects.toMatchObject({
      reason: "answer-invalid",
    });
    await oauth(options).finish(answer);
    await expect(oauth(options).finish(answer)).rejects.toMatchObject({ reason: "answer-invalid" });
    await oauth(options).signOut(authority.url);
    const late = await visit(await page());
    await new Promise((resolve) => setTimeout(resolve, 5));
    await expect(oauth({ ...options, signInTimeoutMs: 1 }).finish(late)).rejects.toMatchObject({ reason: "expired" });
  });

  test("keeps the users of one store apart", async () => {
    const authority = await start();
    const store = memoryStore();
    await join(authority, { store, account: "ada" });
    expect(await reasonOf(authority, { store, account: "eve", redirect: hostedRedirect(url) })).toBe("redirect-needed");
  });
});

test("the time limits of calls are paused while the user signs in", async () => {
  const authority = await start();
  const redirect = authority.browser();
  const slow = {
    ...redirect,
    open: async () => {
      const opened = await redirect.open(undefined);
      const authorize = async (page: string, signal: AbortSignal) => {
        await new Promise((resolve) => setTimeout(resolve, 1_200));
        return opened.authorize(page, signal);
      };
      return { ...opened, authorize };
    },
  };
  await join(authority, { redirect: slow }, { timeoutMs: 1_000, probeTimeoutMs: 1_000 });
  expect(authority.granted).toEqual(["authorization_code"]);
});

test("a user who does not sign in ends the sign-in after signInTimeoutMs", async () => {
  const authority = await start();
  const url = "http://127.0.0.1:8976/callback";
  const redirect = {
    url,
    open: () => ({ url, authorize: () => new Promise<string>(() => undefined), close: () => undefined }),
  };
  expect(await reasonOf(authority, { redirect, signInTimeoutMs: 20 })).toBe("expired");
});

test("a sign-in whose callers have all stopped waiting is abandoned, and its redirect is closed", async () => {
  const authority = await start();
  const browser = authority.browser();
  const controller = new AbortController();
  let sees: (url: string) => Promise<string> = (url) => visit(url);
  let closed = 0;
  const close = () => {
    closed += 1;
  };
  const redirect = {
    url: browser.url,
    open: () => ({ url: browser.url, authorize: (url: string) => sees(url), close }),
  };
  const client = await join(authority, { redirect });
  authority.revoke();
  sees = () => {
    controller.abort(new Error("cancelled"));
    return new Promise(() => undefined);
  };
  await expect(client.callTool("add", {}, { signal: controller.signal })).rejects.toThrow("cancelled");
  await until("the redirect is closed", () => closed === 2);
  // The next call can sign in again.
  sees = (url) => visit(url);
  await client.callTool("add");
});

test.each([
  [{}, "either redirect"],
  [{ redirect: hostedRedirect("https://a.example/"), clientMetadataUrl: "http://a.example/c" }, "clientMetadataUrl"],
  [{ redirect: hostedRedirect("https://a.example/"), clientMetadataUrl: "https://a.example" }, "clientMetadataUrl"],
  [{ redirect: hostedRedirect("https://a.example/"), timeoutMs: -1 }, "timeoutMs"],
  [{ redirect: hostedRedirect("https://a.example/"), stoer: 1 }, 'Did you mean "store"'],
])("the options %j are refused", (options, text) => {
  expect(() => oauth(options as OAuthOptions)).toThrow(text);
});
