/** Tokens in a Durable Object, for clients in Workers: a hosted redirect, and one refresh for parallel requests. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { objectStore } from "../../src/client/oauth/index.ts";
import { type Authority, visit } from "../client/oauth/authority.ts";
import * as lab from "../client/oauth/lab.ts";
import { Workerd } from "../harness/workerd.ts";

let worker: Workerd;
let authority: Authority;
beforeAll(async () => {
  worker = await Workerd.start({ entry: "test/worker/fixtures/oauth-worker.ts", objects: { TOKENS: "TokenObject" } });
});
afterAll(() => worker.stop());

const call = (path = "/") => fetch(`${worker.origin}${path}?server=${encodeURIComponent(authority.url)}`);

/** Signs in as a user does: the Worker names a page, which sends the browser back to the Worker. */
beforeEach(async () => {
  authority = await lab.start();
  const refused = await call();
  expect(refused.status).toBe(401);
  const { search } = new URL(await visit(await refused.text()));
  expect(await (await fetch(`${worker.origin}/callback${search}`)).text()).toBe("signed in");
});

/** Sends ten requests at once, and returns the responses. */
async function callTen(path?: string): Promise<string[]> {
  const answers = await Promise.all(Array.from({ length: 10 }, () => call(path)));
  return Promise.all(answers.map((answer) => answer.text()));
}

describe.each([
  ["/", "ten clients in Workers"],
  ["/inside", "ten clients in the object"],
])("the token store behind %s, used by %s", (path) => {
  test("refreshes an expired token once for all of them", async () => {
    expect(await (await call(path)).text()).toBe("called");
    authority.expire();
    expect(await callTen(path)).toEqual(Array.from({ length: 10 }, () => "called"));
    expect(authority.attempts).toEqual(["authorization_code", "refresh_token"]);
  });
});

test("tokens survive a crash of workerd, and so does the lock if it crashes during a refresh", {
  tags: "long",
}, async () => {
  authority.expire();
  const arrived = new Promise<void>((resolve) => {
    authority.onToken = async () => {
      authority.onToken = () => undefined;
      resolve();
      return { status: 503 };
    };
  });
  const lost = callTen().catch(() => undefined);
  await arrived;
  await worker.worker.kill();
  await lost;
  await worker.worker.restart();
  expect(await callTen()).toEqual(Array.from({ length: 10 }, () => "called"));
  expect(authority.granted).toEqual(["authorization_code", "refresh_token"]);
});

test("new tokens are stored although the object is reset once when they arrive", async () => {
  const stored = new Map<string, string>([["key", "old"]]);
  let resets = 1;
  const reset = () => {
    resets -= 1;
    if (resets >= 0) throw new Error("Durable Object reset because its code was updated.");
  };
  const store = objectStore({
    get: async (key) => stored.get(key),
    set: async (key, value) => {
      reset();
      stored.set(key, value ?? "");
    },
    exclusive: (_, work) => work(),
  });
  await store.set("key", "new");
  expect(await store.get("key")).toBe("new");
});

test("a response that belongs to no open sign-in is refused", async () => {
  expect((await fetch(`${worker.origin}/callback?code=c&state=s`)).status).toBe(500);
});
