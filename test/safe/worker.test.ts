/** The helpers on workerd: D1, the SQL storage of a Durable Object, and fetch. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { HOSTILE_URLS } from "./hostile-urls.ts";

let worker: TestWorker;
/** The requests that left the Worker. */
const sent: Request[] = [];
beforeAll(async () => {
  worker = await startWorker({ wrangler: "test/safe/fixtures/worker.toml", outbound: internet });
});
beforeEach(() => {
  sent.length = 0;
});
afterAll(() => worker.stop());

/** The internet of the Worker: `/redirect?to=URL` redirects, `/bytes/N` has N bytes, and `/never` does not answer. */
function internet(request: Request): Response | Promise<Response> {
  sent.push(request);
  const { pathname, searchParams } = new URL(request.url);
  const [, what = "", size = ""] = pathname.split("/");
  if (what === "redirect")
    return new Response(null, { status: 302, headers: { Location: searchParams.get("to") ?? "" } });
  if (what === "bytes") return new Response("a".repeat(Number(size)));
  if (what === "never") return new Promise(() => undefined);
  return new Response(`${request.url} ${request.headers.get("Authorization")}`);
}

async function ask(path: string, body: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(worker.url(path), { method: "POST", body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}

describe.each(["/d1", "/object"])("SQL on %s", (path) => {
  beforeAll(async () => {
    expect(await ask(path, { op: "setup" })).toBe("done");
  });
  const read = (query: string, rowsMax?: number) => ask(path, { op: "read", query, rowsMax });

  test("values of every kind are parameters", async () => {
    const value = "'; DROP TABLE notes; --";
    expect(await ask(path, { op: "store", value })).toEqual({
      value,
      flag: expect.stringMatching(/integer|real/),
      bytes: 3,
    });
    expect(await read("SELECT count(*) AS n FROM notes")).toEqual({ rows: [{ n: 3 }], isTruncated: false });
  });

  test("a query runs in its order, with at most rowsMax rows", async () => {
    const query = "/* all */ SELECT value FROM notes ORDER BY value DESC; -- done";
    expect(await read(query)).toEqual({
      rows: [{ value: "two" }, { value: "three" }, { value: "one" }],
      isTruncated: false,
    });
    expect(await read(query, 2)).toEqual({ rows: [{ value: "two" }, { value: "three" }], isTruncated: true });
    const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    expect(await read(endless, 2)).toEqual({ rows: [{ i: 1 }, { i: 2 }], isTruncated: true });
  });

  test.each([
    "DELETE FROM notes",
    "SELECT 1; DELETE FROM notes",
    "WITH n AS (SELECT 1) DELETE FROM notes",
    "WITH n AS (SELECT 1) REPLACE INTO notes (id) SELECT * FROM n",
    "PRAGMA table_list",
    "SELECT * FROM pragma_table_list",
    "ATTACH 'a' AS b",
    "SELECT 1) LIMIT 9 --",
    "SELECT 1 /*",
    "SELECT 1\0; DELETE FROM notes",
  ])("refuses %j, and the database does not change", async (query) => {
    expect(await read(query)).toMatchObject({ reason: "sql" });
    expect(await read("SELECT count(*) AS n FROM notes")).toEqual({ rows: [{ n: 3 }], isTruncated: false });
  });

  test("an error of the database reaches the handler", async () => {
    expect(await read("SELECT * FROM missing")).toMatchObject({
      reason: "database",
      message: expect.stringContaining("no such table"),
    });
  });
});

describe("fetch on workerd", () => {
  const request = (url: string) => ask("/fetch", url);

  test.each(HOSTILE_URLS)("refuses %j and sends no request", async (url) => {
    expect(await request(url)).toMatchObject({ reason: "address" });
    expect(sent).toEqual([]);
  });

  test.each(["https://169.254.169.254/", "https://[::1]/", "http://example.com/", "https://localhost/", "//10.0.0.1/"])(
    "does not follow a redirect to %j",
    async (to) => {
      expect(await request(`https://a.example/redirect?to=${encodeURIComponent(to)}`)).toMatchObject({
        reason: "redirect",
      });
      expect(sent).toHaveLength(1);
    },
  );

  test("does not send credentials to another origin", async () => {
    const answer = await request("https://a.example/redirect?to=https://b.example/end");
    expect(answer).toEqual({ status: 200, url: "https://b.example/end", text: "https://b.example/end null" });
    expect(sent.map(({ headers }) => headers.get("Authorization"))).toEqual(["Bearer token", null]);
  });

  test("limits redirects, size and time", async () => {
    const twice = encodeURIComponent("https://a.example/redirect?to=/redirect?to=/end");
    expect(await request(`https://a.example/redirect?to=${twice}`)).toMatchObject({ reason: "redirect" });
    expect(await request("https://a.example/bytes/1000")).toMatchObject({ status: 200 });
    expect(await request("https://a.example/bytes/1001")).toMatchObject({ reason: "too-large" });
    expect(await request("https://a.example/never")).toMatchObject({ reason: "timeout" });
  });
});

// The harness waits 30 s for an object that is busy, longer than this test may take. The limit of the requests is an hour.
test.each([
  ["https://a.example/bytes/100", "read", "a".repeat(100)],
  ["https://a.example/bytes/1001", "read", "too-large"],
  ["https://a.example/bytes/100", "discard", "discard"],
  ["https://a.example/bytes/100", "head", "head"],
  ["https://a.example/redirect?to=/redirect?to=https://localhost/", "read", "redirect"],
])("an object that fetched %s (%s) can be evicted at once", { timeout: 20_000 }, async (url, how, outcome) => {
  expect(await ask("/object-fetch", [url, how])).toEqual(outcome);
  expect(await worker.evict("Notes", "fetching")).toBe(1);
});
