/** The rates of an authorization server on workerd. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type AuthorizationServerOptions, checkServerOptions } from "../../src/authorization-server/options.ts";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { authorizeUrl, newVerifier } from "./authorization.ts";

expectLogs(/^mcp-edge: a request to \/(token|authorize) failed Error: The storage is broken\./);

const HOUR_MS = 60 * 60_000;
const RATE = { max: 2, perMs: HOUR_MS };

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({
    entry: "test/worker/fixtures/authorization-server.ts",
    objects: { MCP: "McpObject" },
    bindings: {
      UPSTREAM: "http://127.0.0.1:1",
      RATES: JSON.stringify({ authorize: RATE, token: RATE, register: RATE }),
    },
  });
});
afterAll(() => worker?.stop());

/** Sends a request from an address. */
function send(path: string, address: string, method = "POST"): Promise<Response> {
  const headers = { "CF-Connecting-IP": address, "Content-Type": "application/x-www-form-urlencoded" };
  return fetch(worker.url(path), { method, headers, redirect: "manual", ...(method === "POST" && { body: "a=b" }) });
}

const KNOWN = { client_id: "known", redirect_uri: "https://known.example/callback" };
const authorize = () => authorizeUrl("", newVerifier(), KNOWN);

describe("a rate of the authorization server", () => {
  test.each([
    ["/token", "/revoke", "POST", "192.0.2.1"],
    ["/register", "/register", "POST", "192.0.2.2"],
    ["/authorize", "/authorize/allowed", "GET", "192.0.2.3"],
  ])("refuses a network with 429 and Retry-After, but no other, at %s", async (path, second, method, address) => {
    const to = path === "/authorize" ? authorize() : path;
    expect([(await send(to, address, method)).status, (await send(second, address, method)).status]).not.toContain(429);
    const refused = await send(to, address, method);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(1_700);
    expect(Number(refused.headers.get("Retry-After"))).toBeLessThanOrEqual(1_801);
    const text = await refused.text();
    if (method === "GET") {
      expect(text).toContain("too many attempts");
      expect(refused.headers.get("Content-Security-Policy")).toContain("frame-ancestors 'none'");
    } else {
      expect(JSON.parse(text)).toEqual({ error: "temporarily_unavailable", error_description: expect.any(String) });
      expect(refused.headers.get("Access-Control-Allow-Origin")).toBe("*");
    }
    expect((await send(to, "192.0.2.9", method)).status).not.toBe(429);
  });

  test("counts addresses of one IPv6 network together, and each kind of request separately", async () => {
    for (const host of [1, 2]) expect((await send("/token", `2001:db8::${host}`)).status).not.toBe(429);
    expect((await send("/token", "2001:db8::3")).status).toBe(429);
    expect((await send("/register", "2001:db8::3")).status).not.toBe(429);
  });

  test("does not count preflights and the metadata", async () => {
    for (let times = 0; times < 4; times += 1) {
      expect((await send("/token", "192.0.2.4", "OPTIONS")).status).toBe(204);
      expect((await send("/.well-known/oauth-authorization-server", "192.0.2.4", "GET")).status).toBe(200);
    }
    expect((await send("/token", "192.0.2.4")).status).not.toBe(429);
  });
});

test("a request that cannot be counted gets 503 with Retry-After, and a browser gets a page with the reason", async () => {
  await fetch(worker.url("/broken/yes"));
  const token = await send("/token", "192.0.2.5");
  expect([token.status, token.headers.get("Retry-After")]).toEqual([503, "2"]);
  expect(await token.json()).toMatchObject({ error: "temporarily_unavailable" });
  const page = await send(authorize(), "192.0.2.5", "GET");
  expect([page.status, await page.text()]).toEqual([503, expect.stringContaining("does not respond")]);
  await fetch(worker.url("/broken/no"));
  expect((await send("/token", "192.0.2.5")).status).not.toBe(503);
});

test.each<[string, unknown, RegExp]>([
  ["an unknown name", { tokens: RATE }, /rates\.tokens|"tokens"/],
  ["no period", { token: { max: 1 } }, /rates\.token needs max and perMs, or a binding/],
  ["an invalid number", { token: { max: 0, perMs: 1_000 } }, /rates\.token\.max/],
])("the option rates is refused with %s", (_, rates, text) => {
  const identity = { id: "none", label: "None", begin: async () => ({}), finish: async () => ({}) };
  const options = { name: "Notes", identity, allow: { anyone: true }, rates };
  expect(() => checkServerOptions(options as unknown as AuthorizationServerOptions)).toThrow(text);
});
