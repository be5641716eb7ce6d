/** Requests to untrusted URLs, with the global fetch of Node and with pinned addresses. */
import * as fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createPinnedFetch } from "../../src/node/index.ts";
import { boundResponse } from "../../src/safe/bounded-response.ts";
import { createSafeFetch, isPublicAddress, RefusedError, type SafeFetchOptions } from "../../src/safe/index.ts";
import { HOSTILE_URLS } from "./hostile-urls.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

let upstream: Upstream;
let other: Upstream;
beforeAll(async () => {
  [upstream, other] = await Promise.all([startUpstream(), startUpstream()]);
});
beforeEach(() => {
  upstream.arrived.length = 0;
  other.arrived.length = 0;
});
afterAll(async () => {
  await Promise.all([upstream[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
});

const refusedFor = (reason: string) => expect.objectContaining({ name: "ToolError", reason });

const KINDS = [
  ["createSafeFetch", createSafeFetch],
  ["createPinnedFetch", createPinnedFetch],
] as const;

describe.each(KINDS)("%s", (_name, create) => {
  /** A fetch that may use both servers. */
  const fetchWith = (options: SafeFetchOptions = {}) =>
    create({ privateHosts: [upstream.host, other.host], ...options });

  test.each(HOSTILE_URLS)("refuses %j and sends no request", async (url) => {
    await expect(create()(url)).rejects.toEqual(refusedFor("address"));
  });

  // A string without a scheme is a path of the same server, and other characters than ASCII do not fit into a header.
  const targets = HOSTILE_URLS.filter((url) => /^[a-z]+:[ -~]*$|^\/\//.test(url));
  test.each(targets)("does not follow a redirect to %j", async (url) => {
    const request = fetchWith()(`${upstream.origin}/redirect/302?to=${encodeURIComponent(url)}`);
    await expect(request).rejects.toEqual(refusedFor("redirect"));
    expect(upstream.arrived).toHaveLength(1);
  });

  test("does not show the target of a refused redirect", async () => {
    const url = `${upstream.origin}/redirect/302?to=https://10.1.2.3/admin`;
    await expect(fetchWith()(url)).rejects.not.toThrow("10.1.2.3");
  });

  test("requests only hosts of the list, on their ports", async () => {
    const safe = create({ hosts: ["api.example.com", "*.example.org", "example.net:8443"], redirectsMax: 0 });
    for (const url of [
      "https://example.com/",
      "https://www.api.example.com/",
      "https://api.example.com.evil.example/",
      "https://evilapi.example.com/",
      "https://example.org/",
      "https://evilexample.org/",
      "https://example.net/",
      "https://example.net:8444/",
      "https://api.example.com:8443/",
      "http://api.example.com/",
    ]) {
      await expect(safe(url)).rejects.toEqual(refusedFor("address"));
    }
  });

  test("allows subdomains of a wildcard in the list", async () => {
    const safe = create({ hosts: ["*.example.org"] });
    // The request is allowed, and then not sent.
    const signal = AbortSignal.abort(new Error("not sent"));
    await expect(safe("https://a.example.org/", { signal })).rejects.toThrow("not sent");
  });

  test("refuses a password without a user name", async () => {
    const url = upstream.origin.replace("//", "//:secret@");
    await expect(fetchWith()(url)).rejects.toThrow("it has a user name or a password");
  });

  test.each([["https://a.example"], ["a/b"], ["*"], [""], ["a.*"], ["user@a.example"], ["a example"], ["a?b"]])(
    "refuses %j as a host in the option hosts",
    (entry) => {
      expect(() => create({ hosts: [entry] })).toThrow(/hosts has the entry/);
    },
  );

  test("throws for a misspelt option", () => {
    expect(() => create({ host: ["a.example"] } as SafeFetchOptions)).toThrow('Did you mean "hosts"?');
  });

  test("returns status, headers, URL and body of the response", async () => {
    const response = await fetchWith()(`${upstream.origin}/hello?a=1`, { headers: { "X-Own": "1" } });
    expect(response.status).toBe(200);
    expect(response.url).toBe(`${upstream.origin}/hello?a=1`);
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(await response.json()).toMatchObject({ method: "GET", url: "/hello?a=1", headers: { "x-own": "1" } });
  });

  test("accepts a Request with a body", async () => {
    const request = new Request(`${upstream.origin}/`, { method: "POST", body: new URLSearchParams({ a: "1" }) });
    const answer = await (await fetchWith()(request)).json();
    expect(answer).toMatchObject({
      method: "POST",
      body: "a=1",
      headers: { "content-type": "application/x-www-form-urlencoded;charset=UTF-8", "content-length": "3" },
    });
  });

  test("does not let the caller choose another host of the server", async () => {
    await fetchWith()(`${upstream.origin}/`, { headers: { Host: "internal.example" } });
    expect(upstream.arrived[0]?.headers.host).toBe(upstream.host);
  });

  test.each([204, 304])("returns no body for a response with status %i", async (status) => {
    const response = await fetchWith()(`${upstream.origin}/status/${status}`);
    expect([response.status, response.body]).toEqual([status, null]);
  });

  test("keeps headers and body in redirects within an origin", async () => {
    const headers = { Authorization: "Bearer token", "X-Api-Key": "key" };
    await fetchWith()(`${upstream.origin}/redirect/307?to=/next`, { method: "POST", body: "text", headers });
    expect(upstream.arrived[1]).toMatchObject({
      method: "POST",
      url: "/next",
      body: "text",
      headers: { authorization: "Bearer token", "x-api-key": "key" },
    });
  });

  test("does not send credentials to another origin", async () => {
    const secret = { Authorization: "Bearer token", Cookie: "a=1", "Proxy-Authorization": "x", "X-Api-Key": "key" };
    const to = encodeURIComponent(`${other.origin}/next`);
    await fetchWith()(`${upstream.origin}/redirect/302?to=${to}`, { headers: { ...secret, Accept: "text/plain" } });
    expect(other.arrived).toHaveLength(1);
    expect(JSON.stringify(other.arrived)).not.toMatch(/token|a=1|key|proxy/);
    expect(other.arrived[0]?.headers.accept).toBe("text/plain");
  });

  test("does not send dropped credentials again after a redirect back", async () => {
    const back = encodeURIComponent(`${upstream.origin}/end`);
    const to = encodeURIComponent(`${other.origin}/redirect/302?to=${back}`);
    await fetchWith()(`${upstream.origin}/redirect/302?to=${to}`, { headers: { Authorization: "Bearer token" } });
    expect(upstream.arrived[1]).toMatchObject({ url: "/end" });
    expect(upstream.arrived[1]?.headers.authorization).toBeUndefined();
  });

  test("does not send a body to another origin", async () => {
    const to = encodeURIComponent(`${other.origin}/next`);
    const request = fetchWith()(`${upstream.origin}/redirect/307?to=${to}`, { method: "POST", body: "secret" });
    await expect(request).rejects.toEqual(refusedFor("redirect"));
    expect(other.arrived).toEqual([]);
  });

  test.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [307, "PUT", "PUT"],
    [308, "POST", "POST"],
    [302, "PUT", "PUT"],
    [303, "HEAD", "HEAD"],
  ])("changes after status %i a %s into a %s", async (status, method, then) => {
    const body = method === "HEAD" ? {} : { body: "text" };
    await fetchWith()(`${upstream.origin}/redirect/${status}?to=/next`, { method, ...body });
    expect(upstream.arrived[1]).toMatchObject({
      method: then,
      body: then === method && method !== "HEAD" ? "text" : "",
    });
    expect(upstream.arrived[1]?.headers["content-type"] === undefined).toBe(then === "GET" || method === "HEAD");
  });

  test("follows at most redirectsMax redirects", async () => {
    const chain = (length: number): string =>
      length === 0 ? "/end" : `/redirect/302?to=${encodeURIComponent(chain(length - 1))}`;
    const safe = fetchWith({ redirectsMax: 2 });
    expect((await safe(`${upstream.origin}${chain(2)}`)).url).toBe(`${upstream.origin}/end`);
    await expect(safe(`${upstream.origin}${chain(3)}`)).rejects.toEqual(refusedFor("redirect"));
  });

  test('returns the redirect with redirect: "manual"', async () => {
    const response = await fetchWith()(`${upstream.origin}/redirect/302?to=/next`, { redirect: "manual" });
    expect([response.status, response.headers.get("Location")]).toEqual([302, "/next"]);
  });

  test.each(["bytes", "length"])("limits the size of a response (/%s)", async (path) => {
    const safe = fetchWith({ responseBytesMax: 1_000 });
    expect(await (await safe(`${upstream.origin}/${path}/1000`)).bytes()).toHaveLength(1_000);
    const tooLarge = async () => (await safe(`${upstream.origin}/${path}/1001`)).bytes();
    await expect(tooLarge()).rejects.toEqual(refusedFor("too-large"));
  });

  test("returns the length of a file that is too large with HEAD", async () => {
    const safe = fetchWith({ responseBytesMax: 1_000 });
    const response = await safe(`${upstream.origin}/length/5000`, { method: "HEAD" });
    expect([response.headers.get("Content-Length"), await response.text()]).toEqual(["5000", ""]);
  });

  test.each(["gzip", "deflate", "br"])("measures a response after decompression (%s)", async (encoding) => {
    const safe = fetchWith({ responseBytesMax: 100_000 });
    const fits = await safe(`${upstream.origin}/encoded/${encoding}/100000`);
    expect(fits.headers.get("Content-Encoding")).toBeNull();
    expect(await fits.text()).toBe("a".repeat(100_000));
    const bomb = async () => (await safe(`${upstream.origin}/encoded/${encoding}/10000000`)).text();
    await expect(bomb()).rejects.toEqual(refusedFor("too-large"));
  });

  test.each(["never", "stalls"])("limits the time of a response (/%s)", async (path) => {
    const late = async () => (await fetchWith({ timeoutMs: 100 })(`${upstream.origin}/${path}`)).text();
    await expect(late()).rejects.toEqual(refusedFor("timeout"));
  });

  test.each(["never", "stalls"])("ends the request on a signal (/%s)", async (path) => {
    const controller = new AbortController();
    const reason = new Error("no longer needed");
    const aborted = fetchWith()(`${upstream.origin}/${path}`, { signal: controller.signal }).then((response) => {
      controller.abort(reason);
      return response.text();
    });
    if (path === "never") setTimeout(() => controller.abort(reason), 50);
    await expect(aborted).rejects.toBe(reason);
  });

  test("sends no request to an address that is not public, for any host", async () => {
    const safe = create({ privateHosts: [], redirectsMax: 0, hosts: ["*.never.example"], allowHttp: true });
    const pieces = fc.constantFrom(
      "127",
      "0x7f",
      "0177",
      "1",
      "0",
      ".",
      "..",
      "[",
      "]",
      ":",
      "::",
      "ffff",
      "@",
      "#",
      "?",
      "/",
      "\\",
      "localhost",
      "%2e",
      "。",
      "①",
      "169.254.169.254",
      "\t",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { minLength: 1, maxLength: 8 }), async (parts) => {
        await expect(safe(`https://${parts.join("")}`)).rejects.toBeInstanceOf(RefusedError);
      }),
      { numRuns: 500 },
    );
  });
});

describe("createPinnedFetch", () => {
  const at = (...addresses: string[]) => {
    const asked: string[] = [];
    const resolve = async (hostname: string) => {
      asked.push(hostname);
      return addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    };
    return { asked, resolve };
  };

  test.each([
    ["127.0.0.1"],
    ["10.0.0.1"],
    ["169.254.169.254"],
    ["::1"],
    ["::ffff:127.0.0.1"],
    ["1.1.1.1", "127.0.0.1"],
    ["127.0.0.1", "1.1.1.1"],
    [],
  ])("refuses a public name whose addresses are %s, %s", async (...addresses) => {
    const { asked, resolve } = at(...addresses.filter((address) => typeof address === "string"));
    const request = createPinnedFetch({ resolve })("https://rebinding.example/");
    await expect(request).rejects.toEqual(refusedFor("address"));
    expect(asked).toEqual(["rebinding.example"]);
  });

  test("refuses a redirect to a name with a private address", async () => {
    const { resolve } = at("127.0.0.1");
    const safe = createPinnedFetch({ resolve, privateHosts: [upstream.host], allowHttp: true });
    const request = safe(`${upstream.origin}/redirect/302?to=http://rebinding.example/`);
    await expect(request).rejects.toEqual(refusedFor("address"));
  });

  test("connects to the address that was resolved, once for each connection", async () => {
    const { asked, resolve } = at("127.0.0.1");
    const [, port] = upstream.host.split(":");
    const safe = createPinnedFetch({ resolve, privateHosts: [`service.example:${port}`] });
    await (await safe(`http://service.example:${port}/hello`)).text();
    expect(asked).toEqual(["service.example"]);
    expect(upstream.arrived[0]?.headers.host).toBe(`service.example:${port}`);
  });

  test("refuses an unknown compression", async () => {
    const request = createPinnedFetch({ privateHosts: [upstream.host] })(`${upstream.origin}/encoded/zip/1`);
    await expect(request).rejects.toEqual(refusedFor("response"));
  });
});

test("the list of hostile URLs contains an address of each kind", () => {
  const hosts = HOSTILE_URLS.flatMap((url) => (URL.canParse(url) ? [new URL(url).hostname] : []));
  expect(hosts.filter((host) => /^[\d.]+$|^\[/.test(host) && !isPublicAddress(host)).length).toBeGreaterThan(30);
});

test("the timer of a request is stopped when its endless body is discarded, even if nothing is being read", async () => {
  const source = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(1)) });
  const { signal } = new AbortController();
  let ends = 0;
  const end = () => {
    ends += 1;
  };
  const limits = { bytesMax: 10, signal, timeout: signal, timeoutMs: 1_000, end };
  const { body } = await boundResponse(new Response(source), limits);
  // The first bytes are in the queue now, and nothing more is read.
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(ends).toBe(0);
  await body?.cancel();
  expect(ends).toBe(1);
});
