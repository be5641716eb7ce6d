import { expect, test } from "vitest";
import { checkOrigin } from "../../src/http/origin.ts";

test.each([
  ["POST", true],
  ["DELETE", true],
  ["GET", false],
  ["HEAD", false],
  ["OPTIONS", false],
  ["PUT", false],
])("A24: a %s without Origin to a foreign host is allowed: %s", (method, isLetThrough) => {
  const problem = checkOrigin(new Request("http://mcp.example.com/mcp", { method }), null, {});
  expect(problem === undefined).toBe(isLetThrough);
});

test("A24: the host of a POST with any Origin is checked", () => {
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
])("A24: a %s without Origin and with Sec-Fetch-Site %s is allowed: %s", (method, site, isLetThrough) => {
  const request = new Request("http://localhost:8787/mcp", { method, headers: { "Sec-Fetch-Site": site } });
  expect(checkOrigin(request, null, {}) === undefined).toBe(isLetThrough);
});

test.each(["example.com", "Example.com", "EXAMPLE.COM"])("allowedHosts: %s allows the host in any case", (host) => {
  const rules = { allowedHosts: [host] };
  expect(checkOrigin(new Request("http://eXample.com:8080/mcp"), null, rules)).toBeUndefined();
  expect(checkOrigin(new Request("http://other.com/mcp"), null, rules)).toMatchObject({ reason: "host-not-allowed" });
});
