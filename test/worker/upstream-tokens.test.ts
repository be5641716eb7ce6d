// @module-tag long
/** The tokens of the identity provider, on workerd, with a real provider on a socket. */
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { expectLogs } from "../harness/logs.ts";
import { signIn, type Tokens } from "./authorization.ts";
import { bearer, KNOWN, principalOf, refresh, setUp, statusOf, url, worker } from "./authorizing.ts";
import { LegacyClient, ModernClient, readAnswer } from "./client.ts";
import { type Asked, HttpService, type Reply } from "./oauth/http-service.ts";
import { TaskClient } from "./task-client.ts";

expectLogs(/^mcp-edge: the tokens of an identity provider could not be refreshed /);

/** A provider whose refresh tokens work once: a second use revokes everything, as many providers do it. */
class Accounts extends HttpService {
  #current = new Set<string>();
  #number = 0;
  lifetimeMs: number | undefined = 600_000;
  /** Whether sign-ins bring a refresh token. */
  isRefreshable = true;

  static async start(): Promise<Accounts> {
    const accounts: Accounts = new Accounts((asked) => accounts.#answer(asked));
    return accounts.listen();
  }

  revokeAll(): void {
    this.#current.clear();
  }

  #answer({ url, fields }: Asked): Reply {
    const token = fields.get("token") ?? "";
    if (url.pathname === "/check") return this.#current.size > 0 ? { body: { accessToken: token } } : { status: 400 };
    if (url.pathname === "/refresh" && !this.#current.delete(token)) {
      this.revokeAll();
      return { status: 400 };
    }
    this.#number += 1;
    const refreshToken = `refresh ${this.#number}`;
    this.#current.add(refreshToken);
    const isFirst = url.pathname === "/issue" && !this.isRefreshable;
    const body = { accessToken: `access ${this.#number}`, expiresInMs: this.lifetimeMs };
    return { body: isFirst ? body : { ...body, refreshToken } };
  }
}

const accounts = await Accounts.start();
afterAll(() => accounts[Symbol.asyncDispose]());
setUp(() => accounts.origin);
beforeEach(() => {
  accounts.faults.clear();
  accounts.lifetimeMs = 600_000;
  accounts.isRefreshable = true;
});

const enter = (user: string) => signIn(worker.origin, KNOWN, { user, provider: "accounts" });
const MINUTE_MS = 60_000;

async function upstreamOf({ access_token }: Pick<Tokens, "access_token">): Promise<string | undefined> {
  return (await readAnswer(new ModernClient(url()).call("upstream", {}, { headers: bearer(access_token) }))).text;
}

describe("ctx.auth.upstream()", () => {
  test("returns the token of the provider in both eras, and in tasks", async () => {
    const tokens = await enter("ada");
    const token = await upstreamOf(tokens);
    expect(token).toMatch(/^access \d+$/);
    const session = await LegacyClient.open(url(), { token: tokens.access_token });
    expect((await readAnswer(session.call("upstream"))).text).toBe(token);
    const client = new TaskClient(url(), { token: tokens.access_token });
    expect(await client.finish(await client.start("later"))).toBe(token);
  });

  test("refreshes a token that expires within a minute, once for ten calls at the same time, also in two isolates", async () => {
    const tokens = await enter("bea");
    const first = await upstreamOf(tokens);
    const before = accounts.timesAsked("/refresh");
    await worker.advance(9 * MINUTE_MS + 1_000);
    const headers = (place: number) => ({ ...bearer(tokens.access_token), "X-Twin": place % 2 === 0 ? "yes" : "no" });
    const ten = await Promise.all(
      Array.from({ length: 10 }, (_, place) =>
        readAnswer(new ModernClient(url()).call("upstream", {}, { headers: headers(place) })),
      ),
    );
    expect(new Set(ten.map(({ text }) => text)).size).toBe(1);
    expect(ten[0]?.text).not.toBe(first);
    expect(accounts.timesAsked("/refresh") - before).toBe(1);
    await worker.evict("MCP");
    expect(await upstreamOf(tokens)).toBe(ten[0]?.text);
  });

  test("keeps the refresh token of the first sign-in if later sign-ins bring none", async () => {
    await enter("cleo");
    accounts.isRefreshable = false;
    const tokens = await enter("cleo");
    await worker.advance(10 * MINUTE_MS);
    expect(await upstreamOf(tokens)).toMatch(/^access/);
  });

  test("reports that the token has expired if it cannot be refreshed", async () => {
    accounts.isRefreshable = false;
    const tokens = await enter("dora");
    await worker.advance(10 * MINUTE_MS);
    expect(await upstreamOf(tokens)).toBe("expired");
    expect(await statusOf(tokens.access_token)).toBe(200);
  });

  test("reports that the provider does not respond, and the access continues", async () => {
    const tokens = await enter("emmy");
    await worker.advance(10 * MINUTE_MS);
    accounts.faults.set("/refresh", { status: 503 });
    expect(await upstreamOf(tokens)).toBe("unavailable");
    const next = await refresh(tokens.refresh_token);
    expect(next.status).toBe(200);
    accounts.faults.clear();
    expect(await upstreamOf(next.body as unknown as Tokens)).toMatch(/^access/);
  });

  test("reports that there is no token if the provider issues none", async () => {
    expect(await upstreamOf(await signIn(worker.origin, KNOWN, { user: "fay" }))).toBe("none");
  });

  test("ends with the grant, even for an open session", async () => {
    const tokens = await enter("gail");
    const client = new TaskClient(url(), { token: tokens.access_token });
    expect(await upstreamOf(tokens)).toMatch(/^access/);
    const { status } = await fetch(url("/revoke"), {
      method: "POST",
      body: new URLSearchParams({ token: tokens.refresh_token, client_id: "known" }),
    });
    expect(status).toBe(200);
    expect((await client.request("tools/call", { name: "upstream", arguments: {} })).status).toBe(401);
  });
});

describe("a user whose access the provider has revoked", () => {
  test("loses the access here when a handler needs a token", async () => {
    const tokens = await enter("hana");
    await worker.advance(10 * MINUTE_MS);
    accounts.revokeAll();
    expect(await upstreamOf(tokens)).toBe("revoked");
    expect(await statusOf(tokens.access_token)).toBe(401);
    expect((await refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
  });

  test("loses the access here when a client refreshes, and no data is left", async () => {
    const tokens = await enter("ines");
    const { subject } = await principalOf(tokens.access_token);
    await worker.advance(10 * MINUTE_MS);
    accounts.revokeAll();
    expect((await refresh(tokens.refresh_token)).body.error).toBe("invalid_grant");
    expect(await statusOf(tokens.access_token)).toBe(401);
    expect(Object.keys((await worker.storage("MCP", `user:${subject}`)).keys)).toEqual([]);
  });

  test("loses the access here within an hour if the tokens of the provider do not expire", async () => {
    accounts.lifetimeMs = undefined;
    const tokens = await enter("jo");
    const checks = accounts.timesAsked("/check");
    const second = (await refresh(tokens.refresh_token)).body as unknown as Tokens;
    expect(accounts.timesAsked("/check")).toBe(checks);
    await worker.advance(61 * MINUTE_MS);
    const third = (await refresh(second.refresh_token)).body as unknown as Tokens;
    expect(accounts.timesAsked("/check")).toBe(checks + 1);
    expect((await principalOf(third.access_token)).claims).toMatchObject({ name: "jo, checked" });
    accounts.revokeAll();
    await worker.advance(61 * MINUTE_MS);
    expect((await refresh(third.refresh_token)).body.error).toBe("invalid_grant");
  });
});

test("the storage does not contain the tokens of the provider", async () => {
  const tokens = await enter("kim");
  const { subject } = await principalOf(tokens.access_token);
  const stored = JSON.stringify(await worker.storage("MCP", `user:${subject}`));
  expect(stored).toContain("kim@example.com");
  expect(stored).not.toMatch(/access \d|refresh \d/);
});
