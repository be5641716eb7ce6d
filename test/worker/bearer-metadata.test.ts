/** The metadata of the resource, the scopes that all requests need, and the options of `bearer()`. */
import { describe, expect, test } from "vitest";
import { bearer as makeBearer } from "../../src/worker/access/auth/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { post, requestOf } from "../http/messages.ts";
import { send } from "../http/wire.ts";
import { ModernClient } from "./client.ts";
import {
  bearer,
  issuer,
  metadataUrl,
  principalOf,
  read,
  refusalOf,
  setUp,
  statusOf,
  tokenFor,
  url,
} from "./protected.ts";

expectLogs(/^mcp-edge: tokens must have the issuer/);

setUp();

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

describe("the protected resource metadata", () => {
  const expected = (path: string) => ({
    resource: url(path),
    authorization_servers: [issuer.url],
    bearer_methods_supported: ["header"],
    resource_name: "Bearer",
  });

  test.each([WELL_KNOWN, `${WELL_KNOWN}/mcp`, `/mcp${WELL_KNOWN}`])("is public at %s", async (path) => {
    const response = await fetch(url(path), { headers: { origin: "https://any.example.com" } });
    expect([response.status, await response.json()]).toEqual([200, expected("/mcp")]);
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
    expect(response.headers.get("Content-Type")).toBe("application/json");
    const headers = {
      "Access-Control-Request-Headers": "mcp-protocol-version",
      "Access-Control-Request-Method": "GET",
    };
    const preflight = await fetch(url(path), { method: "OPTIONS", headers });
    expect([preflight.status, preflight.headers.get("Access-Control-Allow-Headers")]).toEqual([204, "*"]);
    expect((await fetch(url(path), { method: "POST" })).status).toBe(405);
    expect((await fetch(url(path), { method: "HEAD" })).status).toBe(200);
  });

  test("is at the URL in the challenge, and names the resource that tokens must be for", async () => {
    for (const path of ["/mcp", "/scoped", "/named", "/audience", "/of/red/mcp", "/below/mcp"]) {
      const [, challenge] = await refusalOf(undefined, path);
      const [, at = ""] = /resource_metadata="([^"]+)"/.exec(challenge ?? "") ?? [];
      const { pathname } = new URL(at);
      const { resource } = (await (await fetch(url(pathname))).json()) as { resource: string };
      const aud = path === "/audience" ? "api://two" : resource;
      expect([path, await statusOf(await tokenFor(path, { aud, scope: "write" }), path)]).toEqual([path, 200]);
    }
  });

  test("names the scopes that every request needs", async () => {
    expect(await (await fetch(metadataUrl("/scoped"))).json()).toMatchObject({ scopes_supported: ["read", "write"] });
  });

  test.each([
    "/%2ewell-known/oauth-protected-resource",
    "/.well-known/oauth%2Dprotected-resource/mcp",
    "/mcp/.well%2dknown/oauth-protected-resource",
  ])("is not served at %s, whose characters are escaped, and no error is logged", async (path) => {
    const response = await fetch(url(path));
    expect([response.status, await response.text()]).toEqual([404, "404 Not Found"]);
  });

  test("is not served at other paths", async () => {
    for (const path of [`${WELL_KNOWN}/other`, `/other${WELL_KNOWN}`, "/.well-known/oauth-protected-resources"])
      expect([path, (await fetch(url(path))).status]).toEqual([path, 404]);
    expect(await read("/none")).toBe(true);
  });
});

test.each([
  ["/pinned", () => url("/pinned")],
  ["/audience", () => "api://one or api://two"],
  ["/named", () => "https://mcp.example.com/real"],
])("the log says once, on this machine, which issuer and audience are required: %s", async (path, audience) => {
  for (let call = 0; call < 2; call += 1) await statusOf(undefined, path);
  const line = `mcp-edge: tokens must have the issuer ${issuer.url} and the audience ${audience()}`;
  expect((await read<string[]>("/log")).filter((each) => each === line)).toEqual([line]);
});

describe("the protected resource", () => {
  test("is the URL of the option resource, whatever the URL of the request", async () => {
    expect(await statusOf(await tokenFor("/named", { aud: "https://mcp.example.com/real" }), "/named")).toBe(200);
    expect(await statusOf(await tokenFor("/named"), "/named")).toBe(401);
  });

  test("can be a whole host with or without a slash", async () => {
    const call = async (headers: Record<string, string>) => {
      const response = await new ModernClient(url("/host")).call(
        "who",
        {},
        { headers: { "x-app": "host", ...headers } },
      );
      await response.body?.cancel();
      return [response.status, response.headers.get("WWW-Authenticate")];
    };
    for (const aud of ["https://mcp.example.com", "https://mcp.example.com/"])
      expect(await call(bearer(await tokenFor("/host", { aud })))).toEqual([200, null]);
    expect(await call(bearer(await tokenFor("/host")))).toEqual([401, expect.stringContaining("another resource")]);
    expect(await call({})).toEqual([401, `Bearer resource_metadata="https://mcp.example.com${WELL_KNOWN}"`]);
    for (const path of [WELL_KNOWN, `${WELL_KNOWN}/host`, `/host${WELL_KNOWN}`]) {
      const response = await fetch(url(path), { headers: { "x-app": "host" } });
      expect(await response.json()).toMatchObject({ resource: "https://mcp.example.com" });
    }
  });

  test("is not accepted as the audience if the option audience names other values", async () => {
    for (const aud of ["api://one", "api://two"])
      expect(await statusOf(await tokenFor("/audience", { aud }), "/audience")).toBe(200);
    expect(await statusOf(await tokenFor("/audience"), "/audience")).toBe(401);
  });

  test.each<[string, string, number]>([
    ["/mcp", "http://other.example.com/mcp", 400],
    ["/function", "good", 400],
    ["/named", "https://mcp.example.com/real", 200],
    ["/audience", "api://one", 200],
  ])(
    "is not what the client writes as Host over plain HTTP: %s with a token for %s returns %i",
    async (path, aud, status) => {
      const token = path === "/function" ? "good" : await tokenFor(path, { aud });
      const before = await read("/runs");
      const message = requestOf("modern", "tools/call", { name: "who", arguments: {} });
      const ask = post("modern", { message, path, headers: { host: "other.example.com", ...bearer(token) } });
      const { status: got, text, headers } = await send(url(""), ask);
      expect([got, await read("/runs")]).toEqual([status, Number(before) + (status === 200 ? 1 : 0)]);
      if (status === 200) return;
      expect(text).toContain("Over plain HTTP anyone can choose the Host.");
      expect(headers["www-authenticate"]).toMatch(/^Bearer error="invalid_request"/);
    },
  );

  test("is the URL of the tenant in the path", async () => {
    expect(await statusOf(await tokenFor("/of/red/mcp"), "/of/red/mcp")).toBe(200);
    expect(await statusOf(await tokenFor("/of/red/mcp"), "/of/blue/mcp")).toBe(401);
  });
});

describe("the scopes that every request needs", () => {
  test("are named in each challenge", async () => {
    const rest = `scope="read write", resource_metadata="${metadataUrl("/scoped")}"`;
    expect(await refusalOf(undefined, "/scoped")).toEqual([401, `Bearer ${rest}`]);
    expect((await refusalOf(await tokenFor("/scoped", { exp: 1 }), "/scoped"))[1]).toContain(rest);
    expect(await refusalOf(await tokenFor("/scoped", { scope: "read" }), "/scoped")).toEqual([
      403,
      `Bearer error="insufficient_scope", error_description="The token lacks the scope write.", ${rest}`,
    ]);
  });

  test.each([
    ["read write", 200],
    ["write", 200],
    ["admin", 200],
    ["write other", 200],
    ["read", 403],
    ["manage", 403],
    ["", 403],
    ["Write", 403],
    ["writer", 403],
  ])("are checked: a token with %j gets %i", async (scope, status) => {
    expect(await statusOf(await tokenFor("/scoped", { scope }), "/scoped")).toBe(status);
  });

  test("reach handlers with all scopes that they include", async () => {
    const { scopes } = await principalOf(await tokenFor("/scoped", { scope: "admin" }), "/scoped");
    expect(scopes).toEqual(["admin", "write", "manage", "read"]);
  });
});

describe("the options of bearer()", () => {
  const base = { issuer: "https://login.example.com" };
  test.each<[string, object, RegExp]>([
    ["no issuer", {}, /issuer is undefined; write a URL/],
    ["an issuer without TLS", { issuer: "http://login.example.com" }, /issuer is "http.*https/],
    ["a relative issuer", { issuer: "/login" }, /issuer is/],
    ["a resource that is not a URL", { ...base, resource: "mcp" }, /resource is "mcp"/],
    ["keys without TLS", { ...base, jwks: "http://login.example.com/jwks" }, /jwks is/],
    ["keys of another form", { ...base, jwks: { key: 1 } }, /jwks is neither/],
    ["the algorithm none", { ...base, algorithms: ["none"] }, /algorithms has "none"/],
    ["an HMAC", { ...base, algorithms: ["ES256", "HS256"] }, /algorithms has "HS256".*asymmetric/],
    ["no algorithms", { ...base, algorithms: [] }, /algorithms is not a list with an entry/],
    ["a scope with a quote", { ...base, scopes: ['a"b'] }, /scopes has/],
    ["a scope with a space", { ...base, scopes: ["a b"] }, /scopes has/],
    ["an included scope with a quote", { ...base, includes: { a: ['"'] } }, /includes has/],
    ["no audience", { ...base, audience: [] }, /audience is not a list with an entry/],
    ["an empty audience", { ...base, audience: "" }, /audience has ""/],
    [
      "two ways to verify",
      { ...base, jwks: { keys: [] }, verify: () => null },
      /one of jwks, introspection and verify/,
    ],
    ["a verify that is not a function", { ...base, verify: true }, /verify of bearer/],
    ["introspection without TLS", { ...base, introspection: { url: "http://a.example" } }, /introspection.url is/],
    ["too large a skew", { ...base, clockSkewMs: 300_001 }, /clockSkewMs is 300001/],
    ["needs with a wrong scope", { ...base, needs: { tools: { a: ["b c"] } } }, /needs.tools has "b c"/],
    ["needs without a list", { ...base, needs: { prompts: { a: "b" } } }, /needs.prompts is not a list/],
    ["needs that are a list", { ...base, needs: { tools: ["a"] } }, /needs.tools is not an object/],
    ["needs of another kind", { ...base, needs: { tool: {} } }, /no option "tool".*tools/],
    ["needs of a broken template", { ...base, needs: { resources: { "a:{": ["b"] } } }, /a:\{/],
    ["an unknown option", { ...base, scope: ["a"] }, /no option "scope".*scopes/],
  ])("%s are refused", (_, options, message) => {
    expect(() => makeBearer(options as never)).toThrow(message);
  });
});
