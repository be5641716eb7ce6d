/** What every store does: the same tests for memory, web pages and the storage of an object. */
import { describe, expect, test } from "vitest";
import {
  hostedRedirect,
  memoryStore,
  OAuthError,
  oauth,
  storageStore,
  webStore,
} from "../../../src/client/oauth/index.ts";
import { visit } from "./authority.ts";
import { join, start } from "./lab.ts";

/** The storage of a page. */
function pageStorage() {
  const values = new Map<string, string>();
  return {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  };
}

/** The storage of an object. */
function objectStorage() {
  const values = new Map<string, string>();
  return {
    get: async (key: string) => values.get(key),
    put: async (key: string, value: string) => void values.set(key, value),
    delete: async (key: string) => values.delete(key),
  };
}

describe.each([
  ["memoryStore", () => memoryStore()],
  ["webStore", () => webStore(pageStorage())],
  ["storageStore", () => storageStore(objectStorage())],
])("a token store: %s", (_name, create) => {
  test("keeps values, and removes them", async () => {
    const store = create();
    expect(await store.get("key")).toBeUndefined();
    await store.set("key", "value");
    expect(await store.get("key")).toBe("value");
    await store.set("key", undefined);
    expect(await store.get("key")).toBeUndefined();
  });

  test("runs work for one key one after the other, even after work that failed, and for several keys at once", async () => {
    const store = create();
    const done: string[] = [];
    let release = () => {};
    const first = store.exclusive("a", async () => {
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      done.push("first");
      throw new Error("failed");
    });
    const second = store.exclusive("a", async () => done.push("second"));
    await store.exclusive("b", async () => done.push("other"));
    release();
    await expect(first).rejects.toThrow("failed");
    await second;
    expect(done).toEqual(["other", "first", "second"]);
  });
});

test("two tabs of a page share one refresh, and a sign-in survives the navigation", async () => {
  const authority = await start();
  const storage = pageStorage();
  // Each page that is loaded has its own objects.
  const options = () => ({ redirect: hostedRedirect("https://app.example/callback"), store: webStore(storage) });
  const refused = (await join(authority, options()).catch((error: unknown) => error)) as OAuthError;
  expect(refused).toBeInstanceOf(OAuthError);
  await oauth(options()).finish(await visit(refused.url ?? ""));
  const tabs = [await join(authority, options()), await join(authority, options())];
  authority.expire();
  await Promise.all(tabs.map((tab) => tab.callTool("add")));
  expect(authority.attempts).toEqual(["authorization_code", "refresh_token"]);
});
