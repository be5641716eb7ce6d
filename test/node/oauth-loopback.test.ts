/** The redirect to this machine. */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { memoryStore } from "../../src/client/oauth/index.ts";
import { loopbackRedirect, resolveHost } from "../../src/node/index.ts";
import { visit } from "../client/oauth/authority.ts";
import * as lab from "../client/oauth/lab.ts";

const PAGE = "https://as.example/authorize?state=right";
const silent = { open: () => undefined };

/** Sends a request with its own Host header. */
function get(url: string, host?: string): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers: host === undefined ? {} : { host } }, async (response) => {
      resolve({ status: response.statusCode, text: (await response.toArray()).join("") });
    });
    sent.on("error", reject).end();
  });
}

test("signs in like a real browser, and then stops listening", async () => {
  const authority = await lab.start();
  let page = "";
  const redirect = loopbackRedirect({
    open: async (url) => {
      // The browser goes on by itself.
      void visit(url).then(async (location) => {
        page = await (await fetch(location)).text();
      });
    },
  });
  await lab.join(authority, { redirect });
  expect(authority.granted).toEqual(["authorization_code"]);
  expect(page).toBe("You are signed in. You can close this page.");
  const { redirect_uri: callback = "" } = authority.authorizations[0] ?? {};
  expect(callback).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  await expect(fetch(callback)).rejects.toThrow("fetch failed");
});

test("only the response to this sign-in ends the wait", async () => {
  const open = await loopbackRedirect(silent).open(undefined);
  const answer = open.authorize(PAGE, new AbortController().signal);
  const { host } = new URL(open.url);
  for (const [url, from] of [
    [`${open.url}?code=c&state=wrong`, host],
    [`${open.url}?code=c`, host],
    [`http://${host}/other?code=c&state=right`, host],
    [`http://${host}//`, host],
    [`${open.url}?code=c&state=right`, "rebound.example"],
  ] as const) {
    expect(await get(url, from)).toEqual({
      status: 404,
      text: "This request does not belong to a sign-in in progress.",
    });
  }
  expect(await get(`${open.url}?error=access_denied&state=right`)).toMatchObject({ status: 200, text: /failed/ });
  expect(await answer).toBe(`${open.url}?error=access_denied&state=right`);
  await open.close();
});

test("a registered port is used again, and another port if it is in use", async () => {
  const first = await loopbackRedirect(silent).open(undefined);
  await first.close();
  const again = await loopbackRedirect(silent).open(first.url);
  expect(again.url).toBe(first.url);
  const other = await loopbackRedirect(silent).open(first.url);
  expect(other.url).not.toBe(first.url);
  await again.close();
  await other.close();
});

test("a client that signs in again registers once, because it listens on the same port", async () => {
  const authority = await lab.start();
  const store = memoryStore();
  const open = (url: string) => void visit(url).then(fetch);
  await lab.join(authority, { store, redirect: loopbackRedirect({ open }) });
  authority.revoke();
  await lab.join(authority, { store, redirect: loopbackRedirect({ open }) });
  expect(authority.granted).toEqual(["authorization_code", "authorization_code"]);
  expect(authority.registrations).toHaveLength(1);
});

test("host, path and port are configurable", async () => {
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
  const { port } = free.address() as AddressInfo;
  await new Promise((resolve) => free.close(resolve));
  const handler = loopbackRedirect({ ...silent, host: "localhost", path: "/oauth/done", port });
  expect(handler.url).toBe(`http://localhost:${port}/oauth/done`);
  const open = await handler.open(undefined);
  expect(open.url).toBe(handler.url);
  await open.close();
});

test("an abandoned wait rejects with its reason", async () => {
  const open = await loopbackRedirect(silent).open(undefined);
  const controller = new AbortController();
  const answer = open.authorize(PAGE, controller.signal);
  controller.abort(new Error("given up"));
  await expect(answer).rejects.toThrow("given up");
  await open.close();
});

test("the addresses of this machine can be looked up", async () => {
  expect((await resolveHost("localhost")).some((address) => ["127.0.0.1", "::1"].includes(address))).toBe(true);
  expect(await resolveHost("[::1]")).toEqual(["::1"]);
});
