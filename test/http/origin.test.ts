import * as fc from "fast-check";
import { expect, test } from "vitest";
import { McpServer } from "../../src/core/index.ts";
import { createHttpHandler } from "../../src/http/handler.ts";
import { checkOrigin } from "../../src/http/origin.ts";

test.each([
  ["POST", true],
  ["DELETE", true],
  ["GET", false],
  ["HEAD", false],
  ["OPTIONS", false],
  ["PUT", false],
])("a %s without Origin to a foreign host: allowed is %s", (method, isLetThrough) => {
  const problem = checkOrigin(new Request("http://mcp.example.com/mcp", { method }), null, {});
  expect(problem === undefined).toBe(isLetThrough);
});

test("the host of a POST with any Origin is checked", () => {
  for (const origin of ["http://mcp.example.com", "http://localhost", "null", ""]) {
    const request = new Request("http://mcp.example.com/mcp", { method: "POST" });
    expect(checkOrigin(request, origin, {})).toMatchObject({ reason: "host-not-allowed" });
  }
});

test.each([
  ["GET", "cross-site", false],
  ["HEAD", "cross-site", false],
  ["GET", "same-origin", true],
  ["GET", "same-site", true],
  ["GET", "none", true],
])("a %s without Origin and with Sec-Fetch-Site %s: allowed is %s", (method, site, isLetThrough) => {
  const request = new Request("http://localhost:8787/mcp", { method, headers: { "Sec-Fetch-Site": site } });
  expect(checkOrigin(request, null, {}) === undefined).toBe(isLetThrough);
});

test.each(["example.com", "Example.com", "EXAMPLE.COM"])("the allowed host %s is served in any case", (host) => {
  const rules = { allowedHosts: [host] };
  expect(checkOrigin(new Request("http://eXample.com:8080/mcp"), null, rules)).toBeUndefined();
  expect(checkOrigin(new Request("http://other.com/mcp"), null, rules)).toMatchObject({ reason: "host-not-allowed" });
});

test("Origin, Host and CORS agree: a page that is served can read the response, and a refused page cannot", async () => {
  const server = new McpServer({ name: "origins", version: "1.0.0" });
  const hosts = ["localhost", "127.0.0.1", "mcp.example.com", "other.example.com", "[::1]"];
  const pages = [
    "null",
    "https://mcp.example.com",
    "https://app.example.com",
    "HTTPS://App.Example.com",
    "http://localhost:3000",
  ];
  const origin = fc.constantFrom(
    ...pages,
    "https://app.example.com.evil.example",
    "https://evil.example",
    "chrome-extension://abc",
    "file://",
    "",
  );
  const rules = fc.record({
    allowedHosts: fc.subarray(["mcp.example.com", "other.example.com"]),
    allowedOrigins: fc.subarray(["https://app.example.com", "null", "*"]),
  });
  const method = fc.constantFrom("POST", "GET", "DELETE", "OPTIONS", "PUT");
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("http", "https"),
      fc.constantFrom(...hosts),
      origin,
      rules,
      method,
      async (scheme, host, from, given, verb) => {
        const headers = {
          Origin: from,
          "Content-Type": "application/json",
          "Access-Control-Request-Headers": "Mcp-Param-A",
        };
        const body = verb === "POST" ? { body: "{}" } : {};
        const request = new Request(`${scheme}://${host}/mcp`, { method: verb, headers, ...body });
        const isAllowed = checkOrigin(request, from, given) === undefined;
        const answer = await createHttpHandler(server, { ...given, onError: () => undefined })(request, {});
        expect(answer.status === 403).toBe(!isAllowed);
        expect(answer.headers.get("Access-Control-Allow-Origin")).toBe(isAllowed ? from : null);
        expect(answer.headers.get("Access-Control-Allow-Headers")).toBe(
          isAllowed && verb === "OPTIONS" ? "Mcp-Param-A" : null,
        );
        expect(answer.headers.get("Access-Control-Allow-Credentials")).toBeNull();
        if (isAllowed) expect(answer.headers.get("Vary")).toContain("Origin");
      },
    ),
    { numRuns: 1_000 },
  );
});
