/** The client refuses the same addresses as the safe fetch of servers, because both ask one rule. */
import { expect, test } from "vitest";
import { checkAddress } from "../../../src/client/oauth/guard.ts";
import { isPublicAddress } from "../../../src/safe/index.ts";
import { findUrlProblem } from "../../../src/safe/url-rules.ts";

const SERVER = { server: new URL("https://mcp.example/mcp") };
const RULES = { hosts: undefined, privateHosts: [], allowHttp: false };

const isRefusedByClient = (url: string) =>
  checkAddress(SERVER, "The token endpoint", url).then(
    () => false,
    (error) => error.reason === "address-refused",
  );

test.each([
  "login.corp",
  "idp.intranet",
  "kubernetes.default.svc",
  "x.consul",
  "router",
  "168.63.129.16",
  "192.0.2.1",
  "198.51.100.7",
  "203.0.113.9",
  "100.100.100.200",
  "[2001::1]",
  "[2001:db8::1]",
  "[2002:a00:1::]",
  "[3fff:1::]",
  "[64:ff9b::a00:7]",
  "[64:ff9b::7]",
  "[fe80::1]",
  "[::ffff:10.0.0.7]",
])("https://%s is refused in a client and in a handler", async (host) => {
  const url = `https://${host}/token`;
  expect([await isRefusedByClient(url), findUrlProblem(new URL(url), RULES)]).toEqual([true, expect.any(String)]);
});

test.each(["as.example.com", "8.8.8.8", "[2606:4700::1111]", "[2001:4860:4860::8888]", "[64:ff9b::808:808]"])(
  "https://%s is requested in a client and in a handler",
  async (host) => {
    const url = `https://${host}/token`;
    expect([await isRefusedByClient(url), findUrlProblem(new URL(url), RULES)]).toEqual([false, undefined]);
  },
);

test.each(["2606:4700::1]/[", "8.8", "2606:4700::1%eth0", "[2606:4700::1", "", "::", "2::1"])(
  "%j is not treated as a public address",
  (text) => {
    expect(isPublicAddress(text)).toBe(false);
  },
);
