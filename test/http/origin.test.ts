import { expect, test } from "vitest";
import { checkOrigin } from "../../src/http/origin.ts";

test.each(["example.com", "Example.com", "EXAMPLE.COM"])("allowedHosts: %s allows the host in any case", (host) => {
  const rules = { allowedHosts: [host] };
  expect(checkOrigin(new Request("http://eXample.com:8080/mcp"), null, rules)).toBeUndefined();
  expect(checkOrigin(new Request("http://other.com/mcp"), null, rules)).toMatchObject({ reason: "host-not-allowed" });
});
