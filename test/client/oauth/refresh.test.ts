/** One refresh for any number of calls. Refresh tokens rotate without a grace period. */
import { expect, test } from "vitest";
import type { Client } from "../../../src/client/index.ts";
import { memoryStore } from "../../../src/client/oauth/index.ts";
import type { Authority } from "./authority.ts";
import { join, start } from "./lab.ts";

const ten = <T>(run: (index: number) => T): T[] => Array.from({ length: 10 }, (_, index) => run(index));

/** Calls a tool ten times at once, and returns how many calls succeeded. */
async function callTen(...using: readonly Client[]): Promise<number> {
  const calls = ten((index) => (using[index % using.length] as Client).callTool("add", { a: index }));
  return (await Promise.allSettled(calls)).filter(({ status }) => status === "fulfilled").length;
}

test("ten parallel calls on a refused token succeed with one refresh", async () => {
  const authority = await start();
  const client = await join(authority);
  authority.expire();
  expect(await callTen(client)).toBe(10);
  expect(authority.attempts).toEqual(["authorization_code", "refresh_token"]);
  expect(authority.authorizations).toHaveLength(1);
});

test("ten parallel calls on a token that has expired succeed with one refresh, and no call is sent with the old token", async () => {
  const authority = await start();
  authority.expiresIn = 0;
  const client = await join(authority);
  authority.expiresIn = 3_600;
  authority.expire();
  const before = authority.calls.length;
  expect(await callTen(client)).toBe(10);
  expect(authority.calls).toHaveLength(before + 10);
  expect(authority.attempts).toEqual(["authorization_code", "refresh_token"]);
});

test("ten clients that share a store succeed with one refresh", async () => {
  const authority = await start();
  const store = memoryStore();
  const all = [await join(authority, { store })];
  while (all.length < 10) all.push(await join(authority, { store }));
  authority.expire();
  expect(await callTen(...all)).toBe(10);
  expect(authority.attempts).toEqual(["authorization_code", "refresh_token"]);
});

test("ten parallel calls without a token sign in once", async () => {
  const authority = await start();
  const client = await join(authority);
  authority.revoke();
  expect(await callTen(client)).toBe(10);
  expect(authority.granted).toEqual(["authorization_code", "authorization_code"]);
});

test("a refresh that the server refuses because another client was faster does not remove the token of that client", async () => {
  const authority = await start();
  const store = memoryStore();
  // A lock that does not work, so that two clients refresh at the same time.
  const unlocked = { ...store, exclusive: <T>(_key: string, work: () => Promise<T>) => work() };
  const [first, second] = [await join(authority, { store: unlocked }), await join(authority, { store: unlocked })];
  authority.expire();
  let arrived = 0;
  const both = new Promise<void>((resolve) => {
    authority.onToken = async () => {
      arrived += 1;
      if (arrived === 2) resolve();
      await both;
      return undefined;
    };
  });
  const outcomes = await Promise.allSettled([first.callTool("add"), second.callTool("add")]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  expect(authority.count("refresh_token")).toBe(1);
  expect(authority.count("authorization_code")).toBe(1);
});

test("a refresh continues when the call that needed it is cancelled, and its tokens are stored", async () => {
  const authority = await start();
  const client = await join(authority);
  authority.expire();
  const controller = new AbortController();
  authority.onToken = () => {
    controller.abort(new Error("cancelled"));
    return undefined;
  };
  await expect(client.callTool("add", {}, { signal: controller.signal })).rejects.toThrow("cancelled");
  authority.onToken = () => undefined;
  await client.callTool("add");
  expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);
});

test("a failure of the authorization server during a refresh rejects the calls, and the tokens stay stored", async () => {
  const authority = await start();
  const client = await join(authority);
  authority.expire();
  authority.replies.set("/token", { status: 503 });
  await expect(client.callTool("add")).rejects.toMatchObject({ code: "sign-in-failed", reason: "token-invalid" });
  authority.replies.clear();
  await client.callTool("add");
  expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);
});

test.each([
  ["fails", (authority: Authority) => authority.replies.set("/token", { status: 503 })],
  [
    "fails and says so in JSON",
    (authority: Authority) => authority.replies.set("/token", { status: 500, body: { error: "server_error" } }),
  ],
  [
    "has no metadata for now",
    (authority: Authority) => {
      const documents = ["oauth-authorization-server", "openid-configuration"];
      for (const each of documents) authority.replies.set(`/.well-known/${each}`, { status: 502 });
    },
  ],
])("a token that is due is used until it expires while the authorization server %s", async (_what, fail) => {
  const authority = await start();
  const store = memoryStore();
  await join(authority, { store });
  const key = JSON.stringify(["tokens", "", authority.url]);
  const change = async (members: object) => {
    const record = JSON.parse((await store.get(key)) ?? "{}") as object;
    await store.set(key, JSON.stringify({ ...record, ...members }));
  };
  await change({ renewAtMs: 0 });
  fail(authority);
  const client = await join(authority, { store });
  await client.callTool("add");
  expect(authority.granted).toEqual(["authorization_code"]);
  await change({ expiresAtMs: Date.now() - 1 });
  await expect(join(authority, { store })).rejects.toMatchObject({ code: "sign-in-failed" });
  authority.replies.clear();
  await client.callTool("add");
  expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);
});

test("a server that refuses every token gets one refresh and one sign-in for a call, and the call rejects with 401", async () => {
  const authority = await start();
  const client = await join(authority);
  authority.challenge = () => authority.unauthorized();
  await expect(client.callTool("add")).rejects.toMatchObject({ code: "http-status", response: { status: 401 } });
  expect(authority.granted).toEqual(["authorization_code", "refresh_token", "authorization_code"]);
});

test("a server that does not rotate its refresh token accepts the same refresh token again", async () => {
  const authority = await start();
  const client = await join(authority);
  let sent: string | undefined;
  authority.onToken = ({ parameters }) => {
    sent ??= parameters.refresh_token;
    expect(parameters.refresh_token).toBe(sent);
    const { body } = authority.issue("refresh_token", "");
    return { body: { ...(body as object), refresh_token: undefined } };
  };
  for (let round = 0; round < 2; round += 1) {
    authority.expire();
    await client.callTool("add");
  }
  expect(authority.count("refresh_token")).toBe(2);
});

test("ten parallel calls of one client wait for the lock of the store once", async () => {
  const authority = await start();
  const store = memoryStore();
  let locked = 0;
  const counted = {
    ...store,
    exclusive: <T>(key: string, work: () => Promise<T>) => {
      locked += 1;
      return store.exclusive(key, work);
    },
  };
  const client = await join(authority, { store: counted });
  authority.expire();
  expect(await callTen(client)).toBe(10);
  // Once for the sign-in, and once for the refresh.
  expect(locked).toBe(2);
});

test.each([
  ["access_token", "access\nX-Injected: 1"],
  ["access_token", "töken-s3cret"],
  ["refresh_token", "refresh s3cret"],
])("a %s with characters that a header cannot have is refused and not stored (%#)", async (name, value) => {
  const authority = await start();
  const store = memoryStore();
  authority.onToken = () => {
    const { body } = authority.issue("authorization_code", "");
    return { body: { ...(body as object), [name]: value } };
  };
  const failure = await join(authority, { store }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "sign-in-failed", reason: "token-invalid" });
  expect(String(failure)).not.toMatch(/X-Injected|s3cret/);
  authority.onToken = () => undefined;
  const client = await join(authority, { store });
  expect(await client.callTool("add", { a: 1 })).toBeDefined();
});

test.each([1e308, Number.MAX_SAFE_INTEGER])(
  "a token that lives for %s s is used and not refreshed for each request",
  async (seconds) => {
    const authority = await start((each) => {
      each.expiresIn = seconds;
    });
    const store = memoryStore();
    await join(authority, { store });
    const client = await join(authority, { store });
    expect(await callTen(client)).toBe(10);
    expect(authority.attempts).toEqual(["authorization_code"]);
  },
);
