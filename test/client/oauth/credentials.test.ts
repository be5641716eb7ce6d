/** Who gets which credentials: addresses, errors, client ids and scopes. */
import { describe, expect, test } from "vitest";
import { connect } from "../../../src/client/index.ts";
import {
  clientCredentials,
  hostedRedirect,
  memoryStore,
  OAuthError,
  type OAuthOptions,
  oauth,
  privateKeyJwt,
} from "../../../src/client/oauth/index.ts";
import { ME } from "../places.ts";
import type { Reply } from "./authority.ts";
import { join, reasonOf, start } from "./lab.ts";

describe("credentials", () => {
  test("are refused over plain HTTP except on this machine, before anything is sent", async () => {
    const asked: string[] = [];
    const auth = oauth({ redirect: hostedRedirect("https://app.example/callback") });
    const spy = async (url: string) => {
      asked.push(url);
      return new Response();
    };
    const joining = connect("http://mcp.example/mcp", { ...ME, auth, fetch: spy });
    await expect(joining).rejects.toMatchObject({ code: "sign-in-failed", reason: "insecure" });
    expect(asked).toEqual([]);
  });

  test.each([
    ["http://10.0.0.7/token", "a private address"],
    ["https://10.0.0.7/token", "a private address over TLS"],
    ["https://192.168.1.1/token", "a home network"],
    ["https://169.254.169.254/token", "the metadata service of a cloud"],
    ["https://100.64.0.1/token", "a shared address"],
    ["https://[fd00::1]/token", "a private IPv6 address"],
    ["https://[::ffff:10.0.0.7]/token", "a private address within IPv6"],
    ["https://0x7f.1/token", "this machine, written in another way"],
    ["http://localhost/token", "this machine"],
    ["https://router.local/token", "a local name"],
    ["https://kubernetes.default.svc/token", "a service of Kubernetes"],
    ["https://x.consul/token", "a service of Consul"],
    ["https://db.corp/token", "a name of a company's network"],
    ["https://intranet/token", "a name without a domain"],
    ["https://localhost./token", "this machine with a dot"],
    ["https://user:secret@as.example/token", "an address with credentials"],
  ])("are not sent to %s (%s) because a public server names it", async (address) => {
    const asked: string[] = [];
    const net = async (url: string): Promise<Response> => {
      asked.push(new URL(url).host);
      if (url.startsWith("https://mcp.example/.well-known/oauth-protected-resource")) {
        return Response.json({ resource: "https://mcp.example/mcp", authorization_servers: ["https://as.example"] });
      }
      if (url.startsWith("https://as.example/.well-known/")) {
        return Response.json({
          issuer: "https://as.example",
          authorization_endpoint: "https://as.example/authorize",
          token_endpoint: address,
          code_challenge_methods_supported: ["S256"],
        });
      }
      return new Response("", { status: 401 });
    };
    const authorize = async (page: string) => {
      return `https://app.example/callback?code=c&state=${new URL(page).searchParams.get("state")}`;
    };
    const url = "https://app.example/callback";
    const redirect = { url, open: () => ({ url, authorize, close: () => undefined }) };
    const client = { id: "me", secret: "s3cret-of-mine", issuer: "https://as.example" };
    const auth = oauth({ redirect, client });
    const joining = connect("https://mcp.example/mcp", { ...ME, auth, fetch: net });
    await expect(joining).rejects.toMatchObject({ reason: "address-refused" });
    expect(new Set(asked)).toEqual(new Set(["mcp.example", "as.example"]));
  });

  test("are sent to authorization servers through a separate function, if there is one", async () => {
    const authority = await start();
    const asked: string[] = [];
    const spy = (url: string, init: RequestInit) => {
      asked.push(new URL(url).pathname);
      return fetch(url, init);
    };
    await join(authority, { fetch: spy });
    expect(asked).toEqual([
      "/.well-known/oauth-protected-resource/mcp",
      "/.well-known/oauth-authorization-server",
      "/register",
      "/token",
    ]);
  });

  test("are not sent to a public name that resolves to a private address, if names can be resolved", async () => {
    const asked: string[] = [];
    const net = async (url: string): Promise<Response> => {
      asked.push(new URL(url).host);
      return new Response("", {
        status: 401,
        headers: { "www-authenticate": 'Bearer resource_metadata="https://in.example/"' },
      });
    };
    const resolve = async (host: string) => [host === "mcp.example" ? "203.0.113.9" : "10.1.2.3"];
    const auth = oauth({ redirect: hostedRedirect("https://app.example/callback"), resolve });
    await expect(connect("https://mcp.example/mcp", { ...ME, auth, fetch: net })).rejects.toBeInstanceOf(OAuthError);
    expect(new Set(asked)).toEqual(new Set(["mcp.example"]));
  });
});

describe("errors of a sign-in", () => {
  test("do not contain the credentials that a token endpoint quotes", async () => {
    const authority = await start();
    authority.onToken = ({ parameters }) => {
      return {
        status: 400,
        body: { error: "invalid_grant", error_description: `${parameters.code} ${parameters.code_verifier}` },
      };
    };
    const error = (await join(authority).catch((failure: unknown) => failure)) as OAuthError;
    expect(error).toMatchObject({ reason: "token-refused", error: "invalid_grant", status: 400 });
    const { code, code_verifier: verifier } = authority.tokenRequests[0]?.parameters ?? {};
    for (const secret of [code, verifier]) expect(shown(error)).not.toContain(secret);
  });

  test("do not contain the tokens of a response that cannot be used", async () => {
    const authority = await start();
    authority.onToken = () => ({
      body: { access_token: "s3cret-token", token_type: "mac", refresh_token: "s3cret-refresh" },
    });
    const error = (await join(authority).catch((failure: unknown) => failure)) as OAuthError;
    expect(error.reason).toBe("token-invalid");
    expect(shown(error)).not.toContain("s3cret");
  });
});

/** Everything that a log could show of an error. */
function shown(error: unknown): string {
  const { stack, cause, ...members } = error as Error;
  return `${stack} ${JSON.stringify(members)} ${cause === undefined ? "" : shown(cause)}`;
}

describe("scopes of a token", () => {
  const forbidden = (scope: string): Reply => {
    return { status: 403, headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` } };
  };

  test("missing for a call are requested together with the granted scopes, and the call is sent again", async () => {
    const authority = await start();
    authority.challenge = (scope, { method }) => {
      if (scope === undefined) return authority.unauthorized(', scope="read"');
      return method === "tools/call" && !scope.includes("write") ? forbidden("write") : undefined;
    };
    const client = await join(authority);
    await client.callTool("add");
    expect(authority.authorizations.map(({ scope }) => scope)).toEqual(["read", "read write"]);
  });

  test("are requested at most twice for one call, even if the server always requires others", async () => {
    const authority = await start();
    let asked = 0;
    authority.challenge = (scope, { method }) => {
      if (scope === undefined) return authority.unauthorized();
      if (method !== "tools/call") return undefined;
      asked += 1;
      return forbidden(`scope${asked}`);
    };
    const client = await join(authority);
    await expect(client.callTool("add")).rejects.toMatchObject({ response: { status: 403 } });
    expect(authority.authorizations).toHaveLength(3);
  });

  test("are not requested again if they were granted and the call is refused again", async () => {
    const authority = await start();
    authority.challenge = (scope, { method }) => {
      if (scope === undefined) return authority.unauthorized();
      return method === "tools/call" ? forbidden("write") : undefined;
    };
    const client = await join(authority);
    for (let call = 0; call < 3; call += 1) await expect(client.callTool("add")).rejects.toThrow("403");
    expect(authority.authorizations).toHaveLength(2);
  });

  test("are taken from the metadata if the challenge names none, and scopes of the options take precedence", async () => {
    const authority = await start((each) => {
      each.resourceMetadata = { scopes_supported: ["a", "b"] };
    });
    await join(authority);
    await join(authority, { scope: "c" });
    expect(authority.authorizations.map(({ scope }) => scope)).toEqual(["a b", "c"]);
  });

  test("include offline access, with consent, if the authorization server offers it", async () => {
    const authority = await start((each) => {
      each.resourceMetadata = { scopes_supported: ["a"] };
      each.metadata = { scopes_supported: ["a", "offline_access"] };
    });
    await join(authority);
    expect(authority.authorizations[0]).toMatchObject({ scope: "a offline_access", prompt: "consent" });
  });
});

describe("client ids", () => {
  test("the URL of the metadata document is used before any other id, if the authorization server supports it", async () => {
    const authority = await start((each) => {
      each.metadata = { client_id_metadata_document_supported: true };
    });
    const clientMetadataUrl = "https://app.example/client.json";
    await join(authority, { clientMetadataUrl, client: { id: "by-hand" } });
    expect(authority.authorizations[0]).toMatchObject({ client_id: clientMetadataUrl });
    expect(authority.registrations).toEqual([]);
  });

  test("an id that was registered with this issuer is used before the metadata document", async () => {
    const authority = await start((each) => {
      each.metadata = { client_id_metadata_document_supported: true };
    });
    const client = { id: "by-hand", issuer: authority.issuer };
    await join(authority, { clientMetadataUrl: "https://app.example/client.json", client });
    expect(authority.authorizations[0]).toMatchObject({ client_id: "by-hand" });
  });

  test("an id that was registered by hand is never sent to another issuer", async () => {
    const [first, second] = [await start(), await start()];
    const store = memoryStore();
    const client = { id: "by-hand" };
    await join(first, { store, client });
    first.revoke();
    first.resourceMetadata = { authorization_servers: [second.issuer] };
    expect(await reasonOf(first, { store, client })).toBe("issuer-mismatch");
    expect(second.authorizations).toEqual([]);
    const bound = { ...client, secret: "s3cret-of-mine", issuer: first.issuer };
    second.metadata = { registration_endpoint: undefined };
    expect(await reasonOf(first, { client: bound })).toBe("client-missing");
  });

  test("an id that was registered by hand without an issuer belongs to one issuer for all servers", async () => {
    const [first, second] = [await start(), await start()];
    const options = { client: { id: "by-hand" }, grant: clientCredentials() };
    const auth = oauth(options);
    const outcomes = await Promise.allSettled([first, second].map(({ url }) => connect(url, { ...ME, auth })));
    const clients = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    for (const client of clients) await client.close();
    expect(clients).toHaveLength(1);
    expect(outcomes.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { reason: "issuer-mismatch" },
    });
    expect(first.tokenRequests.length + second.tokenRequests.length).toBe(1);
  });

  test.each([
    ["a secret", { secret: "s3cret-of-mine" }],
    ["authentication", { authentication: privateKeyJwt({ key: "" }) }],
    ["a secret", { secret: "s3cret-of-mine", issuer: "" }],
  ])("an id with %s requires the issuer that it belongs to (%j)", (what, credentials) => {
    const options = { grant: clientCredentials(), client: { id: "by-hand", ...credentials } };
    expect(() => oauth(options as OAuthOptions)).toThrow(
      expect.objectContaining({
        code: "options-invalid",
        message:
          `oauth(): client has ${what} but no issuer. Write issuer: "https://...", the issuer of the authorization server ` +
          'where "by-hand" is registered; otherwise any MCP server could request its credentials.',
      }),
    );
  });

  test("an id with a secret is not used with an authorization server that another MCP server names", async () => {
    const [honest, hostile] = [await start(), await start()];
    for (const each of [honest, hostile]) each.metadata = { registration_endpoint: undefined };
    const client = { id: "by-hand", secret: "s3cret-of-mine", issuer: honest.issuer };
    const options = { store: memoryStore(), client, grant: clientCredentials() };
    // The hostile server is the first that is used.
    expect(await reasonOf(hostile, options)).toBe("client-missing");
    await join(honest, options);
    expect(hostile.tokenRequests).toEqual([]);
    expect(honest.tokenRequests[0]?.authorization).toBe(`Basic ${btoa("by-hand:s3cret-of-mine")}`);
  });

  test("an id that an issuer chooses, equal to the id in the options, does not get the secret of the options", async () => {
    const authority = await start((each) => {
      each.metadata = { token_endpoint_auth_methods_supported: ["client_secret_post"] };
      each.replies.set("/register", { status: 201, body: { client_id: "by-hand" } });
    });
    await join(authority, { client: { id: "by-hand", secret: "s3cret-of-mine", issuer: "https://honest.example" } });
    expect(JSON.stringify(authority.tokenRequests)).not.toContain("s3cret");
  });

  test("an id of a registration is used again, and a new registration is made for another redirect address", async () => {
    const authority = await start();
    const store = memoryStore();
    await join(authority, { store });
    authority.revoke();
    await join(authority, { store });
    expect(authority.registrations).toHaveLength(1);
    authority.revoke();
    await join(authority, { store, redirect: authority.browser("http://127.0.0.1:9999/callback") });
    expect(authority.registrations).toHaveLength(2);
  });

  test.each([
    [{ client_id: "c", client_secret: "s-1" }, "without the expiry of its secret"],
    [
      {
        client_id: "c",
        client_secret: "s-1",
        client_secret_expires_at: 0,
        token_endpoint_auth_method: "client_secret_basic",
      },
      "in full",
    ],
  ])(
    "the response %j (%s) to a registration is accepted, and its secret is sent without percent-encoded hyphens",
    async (body, _what) => {
      const authority = await start((each) => {
        each.metadata = { token_endpoint_auth_methods_supported: ["client_secret_basic"] };
        each.replies.set("/register", { status: 200, body });
      });
      await join(authority);
      expect(authority.tokenRequests[0]?.authorization).toBe(`Basic ${btoa("c:s-1")}`);
    },
  );

  test("a registration that is refused rejects with the message of the server", async () => {
    const authority = await start((each) => {
      each.replies.set("/register", { status: 400, body: { error: "invalid_redirect_uri" } });
    });
    await expect(join(authority)).rejects.toMatchObject({
      reason: "registration-failed",
      message: `${authority.issuer} did not register the client: 400, invalid_redirect_uri.`,
    });
  });
});
