/** Sign-in with the login page of the author's own app. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { type OwnLoginOptions, ownLogin } from "../../../src/authorization-server/identity/own-login.ts";
import { newKeys } from "../../harness/workerd.ts";
import { begin, callbackOf, failureOf } from "./sign-in.ts";

const KEY = newKeys();
const ADA = { subject: "42", email: "ada@example.com", emailVerified: true, name: "Ada" };

afterEach(() => vi.useRealTimers());

const provider = (more: Partial<OwnLoginOptions> = {}) => ownLogin({ path: "/login", key: KEY, ...more });

/** Begins a sign-in, and returns the request that the login page gets. */
async function visit(using = provider()) {
  const { url, kept } = await begin(using);
  return { using, kept, page: new URL(url), request: new URL(url).searchParams.get("request") ?? "" };
}

/** Logs in, and returns the URL with which the browser returns. */
async function logIn(using = provider()) {
  const visited = await visit(using);
  const response = await using.answer(visited.request, ADA);
  return { ...visited, response, answer: response.headers.get("Location") ?? "" };
}

test("the login page gets a request, and the user whom it has verified is signed in", async () => {
  const { using, kept, page, response, answer } = await logIn();
  expect(page.origin + page.pathname).toBe("https://mcp.example.com/login");
  expect(response.status).toBe(303);
  expect(answer).toContain(callbackOf(using));
  // The address is not written to logs of URLs.
  expect(decodeURIComponent(answer)).not.toContain("ada@example.com");
  expect(await using.finish(answer, kept)).toEqual({ user: { ...ADA, issuer: "urn:mcp-edge:login" } });
});

test("other isolates with the same key can complete the login, and isolates with another key cannot", async () => {
  const { kept, request, answer } = await logIn();
  expect((await provider().finish(answer, kept)).user.subject).toBe("42");
  const other = provider({ key: newKeys() });
  expect(await failureOf(other.finish(answer, kept))).toMatchObject({ reason: "invalid" });
  expect(await failureOf(other.answer(request, ADA))).toMatchObject({ reason: "invalid" });
});

describe("tickets", () => {
  test.each<[string, (url: URL) => unknown]>([
    ["with another state", (url) => url.searchParams.set("state", "another")],
    ["that was changed", (url) => url.searchParams.set("ticket", `${url.searchParams.get("ticket")}A`)],
    ["that is missing", (url) => url.searchParams.delete("ticket")],
    ["at the URL of another provider", (url) => Object.assign(url, { pathname: "/oauth/callback/other" })],
    ["at another host", (url) => Object.assign(url, { host: "evil.example" })],
  ])("a ticket %s is refused", async (_, change) => {
    const { using, kept, answer } = await logIn();
    const url = new URL(answer);
    change(url);
    expect(await failureOf(using.finish(url.href, kept))).toMatchObject({ reason: "invalid" });
  });

  test("a ticket of another sign-in is refused, although its state was replaced", async () => {
    const { using, kept, answer } = await logIn();
    const url = new URL(answer);
    url.searchParams.set("state", "other");
    expect(await failureOf(using.finish(url.href, { ...kept, state: "other" }))).toMatchObject({ reason: "invalid" });
  });

  test("a ticket is refused after a minute", async () => {
    const { using, kept, answer } = await logIn();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    expect(await failureOf(using.finish(answer, kept))).toMatchObject({ reason: "invalid" });
  });

  test("a ticket is refused if it is the request of the login page, or of another provider", async () => {
    const { using, kept, request } = await visit();
    const url = `${callbackOf(using)}?${new URLSearchParams({ state: kept.state ?? "", ticket: request })}`;
    expect(await failureOf(using.finish(url, kept))).toMatchObject({ reason: "invalid" });
    const other = await logIn(provider({ id: "staff" }));
    const ticket = new URL(other.answer).searchParams.get("ticket") ?? "";
    const mixed = `${callbackOf(using)}?${new URLSearchParams({ state: kept.state ?? "", ticket })}`;
    expect(await failureOf(using.finish(mixed, kept))).toMatchObject({ reason: "invalid" });
  });
});

describe("a login", () => {
  test.each(["", "made-up", `${"A".repeat(80)}`])(
    "is not completed with the request %j, so that no user is sent elsewhere",
    async (request) => {
      expect(await failureOf(provider().answer(request, ADA))).toMatchObject({ reason: "invalid" });
    },
  );

  test("is not completed after ten minutes, or for a user without a subject", async () => {
    const { using, request } = await visit();
    expect(await failureOf(using.answer(request, { ...ADA, subject: "" }))).toMatchObject({ reason: "invalid" });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 601_000 });
    expect(await failureOf(using.answer(request, ADA))).toMatchObject({ reason: "invalid" });
  });
});

test.each([
  [{ path: "login" }, /path/],
  [{ path: "//evil.example/login" }, /path/],
  [{ path: "https://evil.example/login" }, /path/],
  [{ path: undefined }, /path/],
  [{ key: "" }, /key is not set/],
  [{ key: undefined }, /key is not set/],
  [{ id: "a/b" }, /id is "a\/b"/],
  [{ url: "/login" }, /has no option "url"/],
])("the options %o are refused", (options, text) => {
  const create = () => ownLogin({ path: "/login", key: KEY, ...options } as unknown as OwnLoginOptions);
  expect(create).toThrow(expect.objectContaining({ code: "options-invalid", message: expect.stringMatching(text) }));
});
