/** The cookie of a browser and the forms that are bound to it. */
import { describe, expect, test } from "vitest";
import {
  canSignIn,
  readBrowser,
  readCookie,
  readPageForm,
  setCookie,
} from "../../../src/authorization-server/pages/cookies.ts";

const ORIGIN = "https://mcp.example.com";
const LOCAL = "http://127.0.0.1:8787";

const get = (headers: Record<string, string> = {}, origin = ORIGIN) => new Request(`${origin}/authorize`, { headers });

/** Returns the cookie of a new browser as it sends it back, and the code of a form. */
async function visit(purpose: string, origin = ORIGIN) {
  const browser = await readBrowser(get({}, origin));
  const cookie = browser.cookie?.split(";")[0] ?? "";
  return { id: browser.id, cookie, code: await browser.codeFor(purpose) };
}

interface Sent {
  readonly origin?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly fields?: Record<string, string>;
  readonly body?: string;
}

/** A form as the page's browser sends it, with the code for the request "r1". */
function post({ origin = ORIGIN, method = "POST", headers = {}, fields = {}, body }: Sent): Request {
  return new Request(`${origin}/consent`, {
    method,
    headers: { "Content-Type": "application/x-www-form-urlencoded", Origin: origin, ...headers },
    ...(method === "GET" ? {} : { body: body ?? new URLSearchParams({ request: "r1", ...fields }).toString() }),
  });
}

const read = (request: Request) => readPageForm(request, (fields) => `consent:${fields.get("request")}`);

describe("the cookie of a browser", () => {
  test("has the prefix __Host- over HTTPS, and cannot be read by scripts or sent by forms of other sites", async () => {
    const { cookie } = await readBrowser(get());
    expect(cookie).toMatch(/^__Host-mcp-edge-browser=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  });

  test("has no prefix over HTTP on this machine, where browsers refuse it", async () => {
    const { cookie } = await readBrowser(get({}, LOCAL));
    expect(cookie).toMatch(/^mcp-edge-browser=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  test("is ignored without the prefix over HTTPS", async () => {
    const { cookie } = await visit("x", LOCAL);
    expect((await readBrowser(get({ Cookie: cookie }))).cookie).toBeDefined();
  });

  test("is kept while the browser sends it, even with other cookies", async () => {
    const { id, cookie } = await visit("x");
    const again = await readBrowser(get({ Cookie: `a=1; ${cookie}; b=2` }));
    expect(again).toMatchObject({ id, cookie: undefined });
  });

  test.each(["", "short", "!".repeat(43), `${"A".repeat(44)}`])("is replaced if its value is %j", async (value) => {
    const browser = await readBrowser(get({ Cookie: `__Host-mcp-edge-browser=${value}` }));
    expect(browser.cookie).toBeDefined();
  });

  test("is replaced if there are two, one of which may be an attacker's", async () => {
    const [one, two] = [await visit("x"), await visit("x")];
    expect((await readBrowser(get({ Cookie: `${one.cookie}; ${two.cookie}` }))).cookie).toBeDefined();
  });

  test("is new after a sign-in", async () => {
    const { id, cookie } = await visit("x");
    const renewed = await readBrowser(get({ Cookie: cookie }), true);
    expect(renewed.cookie).toBeDefined();
    expect(renewed.id).not.toBe(id);
  });

  test("is different for each browser, and neither its id nor a code contains the secret", async () => {
    const [one, two] = [await visit("x"), await visit("x")];
    expect(one.cookie).not.toBe(two.cookie);
    expect(one.id).not.toBe(two.id);
    const secret = one.cookie.split("=")[1] ?? "";
    for (const text of [one.id, one.code]) expect(text).not.toContain(secret);
  });

  test("other cookies are set and read in the same way, with a lifetime", () => {
    expect(setCookie(ORIGIN, "s", "v", 60)).toBe("__Host-s=v; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure");
    expect(setCookie(LOCAL, "s", "", 0)).toBe("s=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
    expect(readCookie(get({ Cookie: "__Host-s=v.w" }), "s")).toBe("v.w");
    expect(readCookie(get({ Cookie: "x__Host-s=v" }), "s")).toBeUndefined();
  });
});

test.each([
  ["https://mcp.example.com/", true],
  ["http://localhost:8787/", true],
  ["http://127.0.0.1/", true],
  ["http://[::1]:8787/", true],
  ["http://mcp.example.com/", false],
  ["http://localhost.example.com/", false],
  ["http://192.168.0.1/", false],
])("cookies are possible at %s: %s", (url, expected) => {
  expect(canSignIn({ url })).toBe(expected);
});

describe("forms", () => {
  test.each([ORIGIN, LOCAL])("a form of the page's own browser is accepted (%s)", async (origin) => {
    const { cookie, code } = await visit("consent:r1", origin);
    const fields = await read(post({ origin, headers: { Cookie: cookie }, fields: { code, decision: "allow" } }));
    expect(Object.fromEntries(fields ?? [])).toEqual({ request: "r1", code, decision: "allow" });
  });

  test("a form is accepted from browsers that send neither Origin nor Sec-Fetch-Site", async () => {
    const { cookie, code } = await visit("consent:r1");
    const request = post({ headers: { Cookie: cookie }, fields: { code } });
    request.headers.delete("Origin");
    expect(await read(request)).toBeDefined();
  });

  test.each<[string, Sent]>([
    ["with a code of another request", { fields: { request: "r2" } }],
    ["without a code", { fields: { code: "" } }],
    ["with a changed code", { fields: { code: "A".repeat(43) } }],
    ["without the cookie", { headers: { Cookie: "" } }],
    ["from a page of another site", { headers: { Origin: "https://evil.example" } }],
    ["from a page without an origin", { headers: { Origin: "null" } }],
    ["from another port", { headers: { Origin: `${ORIGIN}:8443` } }],
    ["from a site of the same domain", { headers: { "Sec-Fetch-Site": "same-site" } }],
    ["from a cross-site page that hides its origin", { headers: { "Sec-Fetch-Site": "cross-site" } }],
    ["as text", { headers: { "Content-Type": "text/plain" } }],
    ["as JSON", { headers: { "Content-Type": "application/json" } }],
    ["with a PUT", { method: "PUT" }],
    ["over plain HTTP", { origin: "http://mcp.example.com" }],
  ])("a form %s is refused", async (_, { fields, headers, ...sent }) => {
    const { cookie, code } = await visit("consent:r1", sent.origin);
    const good = { ...sent, headers: { Cookie: cookie, ...headers }, fields: { code, ...fields } };
    expect(await read(post(good))).toBeUndefined();
  });

  test("a form of another browser is refused, although that browser's page has a code for the same request", async () => {
    const [victim, attacker] = [await visit("consent:r1"), await visit("consent:r1")];
    expect(await read(post({ headers: { Cookie: victim.cookie }, fields: { code: attacker.code } }))).toBeUndefined();
    expect(await read(post({ headers: { Cookie: attacker.cookie }, fields: { code: victim.code } }))).toBeUndefined();
  });

  test("a form of another purpose is refused", async () => {
    const { cookie, code } = await visit("revoke:r1");
    expect(await read(post({ headers: { Cookie: cookie }, fields: { code } }))).toBeUndefined();
  });

  test("a form that is too large is refused", async () => {
    const { cookie, code } = await visit("consent:r1");
    const large = { headers: { Cookie: cookie }, fields: { code, filler: "x".repeat(16_384) } };
    expect(await read(post(large))).toBeUndefined();
    const small = { headers: { Cookie: cookie }, fields: { code, filler: "x".repeat(16_000) } };
    expect(await read(post(small))).toBeDefined();
  });
});
