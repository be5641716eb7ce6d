import type { Client } from "mcp-edge/client";
import type { TestWorker } from "mcp-edge/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { call, connectTo, startProject } from "../harness.ts";

let worker: TestWorker;
let client: Client;
/** The URLs that the Worker has requested. */
const requested: string[] = [];
beforeAll(async () => {
  worker = await startProject({ outbound: answer });
  client = await connectTo(worker);
});
afterAll(async () => {
  await client?.close();
  await worker?.stop();
});
beforeEach(() => {
  requested.length = 0;
});

const SECRET = "stack trace of our API";

function answer({ url }: Request): Response {
  requested.push(url);
  const { host, pathname, searchParams } = new URL(url);
  if (host === "rates.example.com") {
    if (pathname === "/rates/BIG") return new Response(`{"rate":1,"filler":"${"x".repeat(200_000)}"}`);
    if (pathname === "/rates/BROKEN" || pathname === "/rates/BRK") return new Response(SECRET, { status: 500 });
    if (pathname === "/rates/ODD") return Response.json({ rate: "<b>1</b>" });
    if (pathname === "/rates/HTM") return new Response("<html>not JSON</html>");
    if (pathname !== "/rates/EUR" || searchParams.get("to") !== "USD") return new Response(SECRET, { status: 404 });
    return Response.json({ rate: 1.08 });
  }
  if (host === "www.example.org") {
    if (pathname === "/moved")
      return new Response(null, { status: 302, headers: { Location: "http://127.0.0.1/admin" } });
    if (pathname === "/metadata") {
      return new Response(null, { status: 302, headers: { Location: "https://169.254.169.254/latest" } });
    }
    const html = "<!doctype html><html><head><title>A page</title></head><body>Hello</body></html>";
    return new Response(html, { headers: { "Content-Type": "text/html" } });
  }
  return new Response("<title>internal</title>", { headers: { "Content-Type": "text/html" } });
}

test("the rate comes from the API", async () => {
  const { value, text } = await call(client, "exchange_rate", { from: "EUR", to: "USD" });
  expect(value, text).toEqual({ rate: 1.08 });
  expect(requested).toEqual(["https://rates.example.com/rates/EUR?to=USD"]);
});

test.each(["XXX", "BRK", "BIG", "ODD", "HTM"])(
  "the error for %s is understandable and reveals nothing",
  async (from) => {
    const { isError, text } = await call(client, "exchange_rate", { from, to: "USD" });
    expect(isError).toBe(true);
    expect(text).not.toContain(SECRET);
    expect(text).not.toMatch(/internal error|\bat .*\.ts:\d/i);
  },
);

test.each([
  "../admin",
  "EUR/../../admin",
  "EUR?to=XXX&x=",
  "EUR#",
  "..%2Fadmin",
  "EUR&admin=1",
  "//evil.example.com",
  "",
])("the currency %j reaches no other path", async (strange) => {
  await call(client, "exchange_rate", { from: strange, to: "USD" });
  await call(client, "exchange_rate", { from: "EUR", to: strange });
  for (const url of requested) {
    const { host, pathname, searchParams } = new URL(url);
    expect(host).toBe("rates.example.com");
    expect(pathname).toMatch(/^\/rates\/[^/]*$/);
    expect([...searchParams.keys()]).toEqual(["to"]);
  }
});

test("the title of a public page", async () => {
  const { value, text } = await call(client, "page_title", { url: "https://www.example.org/" });
  expect(value, text).toEqual({ title: "A page" });
});

test.each([
  "https://127.0.0.1/",
  "https://127.1/",
  "https://0x7f000001/",
  "https://10.0.0.1/",
  "https://169.254.169.254/latest",
  "https://[::1]/",
  "https://[::ffff:10.0.0.1]/",
  "https://localhost/",
  "http://localhost:8787/",
  "http://127.0.0.1/",
  "file:///etc/passwd",
  "data:text/html,<title>x</title>",
  "https://user:password@127.0.0.1/",
  "https://www.example.org/moved",
  "https://www.example.org/metadata",
  "not a url",
])("%s is refused", async (url) => {
  const { isError, text } = await call(client, "page_title", { url });
  expect(isError).toBe(true);
  expect(text).not.toMatch(/internal error/i);
  expect(requested.filter((each) => new URL(each).host !== "www.example.org")).toEqual([]);
});
