/** Which consent is stored, and which clients look alike. */
import { describe, expect, test } from "vitest";
import { findLookAlike, isImitation } from "../../../src/authorization-server/pages/client.ts";
import {
  type ConsentRequest,
  needsConsent,
  toStoredConsent,
} from "../../../src/authorization-server/pages/stored-consent.ts";

const REQUEST: ConsentRequest = {
  clientId: "https://client.example/metadata.json",
  redirectUri: "https://client.example/callback",
  scopes: ["read", "write"],
};

describe("consent", () => {
  const remembered = [toStoredConsent(REQUEST)].filter((each) => each !== undefined);
  test.each<[string, Partial<ConsentRequest>, boolean]>([
    ["is not asked for the same client, host and scopes", {}, false],
    ["is not asked for another path of the same host", { redirectUri: "https://client.example/other" }, false],
    ["is not asked for fewer scopes", { scopes: ["read"] }, false],
    ["is not asked for the same scopes in another order", { scopes: ["write", "read", "read"] }, false],
    ["is asked for an additional scope", { scopes: ["read", "write", "admin"] }, true],
    ["is asked for a scope that begins in the same way", { scopes: ["read", "write:all"] }, true],
    ["is asked for another client", { clientId: "https://client.example/other.json" }, true],
    ["is asked for another host", { redirectUri: "https://evil.example/callback" }, true],
    ["is asked for a subdomain", { redirectUri: "https://sub.client.example/callback" }, true],
    ["is asked for another port", { redirectUri: "https://client.example:8443/callback" }, true],
    ["is asked for a URL that cannot be used", { redirectUri: "http://client.example/callback" }, true],
  ])("%s", (_, change, expected) => {
    expect(needsConsent({ ...REQUEST, ...change }, remembered)).toBe(expected);
  });

  test.each(["http://127.0.0.1:33418/callback", "http://localhost/callback", "cursor://anysphere.cursor-mcp/callback"])(
    "is asked for each time for %s, because another program could answer",
    (redirectUri) => {
      const request = { ...REQUEST, redirectUri };
      expect(toStoredConsent(request)).toBeUndefined();
      // Even if an older version has stored it.
      const old = { clientId: request.clientId, redirectHost: new URL(redirectUri).host, scopes: request.scopes };
      expect(needsConsent(request, [old])).toBe(true);
    },
  );

  test("is asked for if none is stored, or if different entries meet different conditions", () => {
    expect(needsConsent(REQUEST, [])).toBe(true);
    const [read, write] = ["read", "write"].map((scope) => toStoredConsent({ ...REQUEST, scopes: [scope] }));
    expect(
      needsConsent(
        REQUEST,
        [read, write].filter((each) => each !== undefined),
      ),
    ).toBe(true);
  });
});

describe("a look-alike client", () => {
  const known = { id: "https://claude.ai/client.json", name: "Claude", redirectUri: "https://claude.ai/callback" };
  const find = (name: string | undefined, redirectUri = "https://evil.example/callback", id = "other") =>
    findLookAlike({ id, name }, redirectUri, [known]);

  test.each([
    "Claude",
    "claude",
    " C l a u d e ",
    "Cl\u0430ude",
    "\u0421laude",
    "C1aude",
    "CIaude",
    "Cla\u200bude",
    "\u202eClaude",
    "Cl\u00e1ude",
    "\uff23laude",
    "Claude!",
    "\u{1d402}laude",
  ])("is found by a name that looks the same (%j) at another host", (name) => {
    expect(find(name)).toBe("claude.ai");
  });

  test.each(["Claudia", "Cursor", "", undefined, "\u200b"])("is not found by another name (%j)", (name) => {
    expect(find(name)).toBeUndefined();
  });

  test("is found only with another id and another host", () => {
    expect(find("Claude", "https://claude.ai/other")).toBeUndefined();
    expect(find("Claude", "https://evil.example/", known.id)).toBeUndefined();
    const local = { id: "a", name: "Claude", redirectUri: "http://127.0.0.1:1/" };
    expect(findLookAlike({ id: "b", name: "Claude" }, "http://localhost:2/", [local])).toBeUndefined();
    expect(findLookAlike({ id: "b", name: "Claude" }, "https://evil.example/", [local])).toBe("127.0.0.1:1");
  });

  test("can also imitate the service by containing its name", () => {
    const named = (name: string, service = "Acme Notes") => isImitation({ id: "c", name }, service);
    expect(named("Acme Notes Desktop")).toBe(true);
    expect(named("acrne-n0tes")).toBe(true);
    expect(named("Acme")).toBe(false);
    expect(named("A to Z", "to")).toBe(false);
  });
});
