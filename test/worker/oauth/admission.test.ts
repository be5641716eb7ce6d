/** Who is admitted, and which scopes are offered. */
import { describe, expect, test } from "vitest";
import { type AdmissionOptions, admission, type Users } from "../../../src/authorization-server/admission.ts";
import type { SignedInUser } from "../../../src/authorization-server/identity/provider.ts";

const ADA: SignedInUser = { issuer: "https://github.com", subject: "1", email: "ada@example.com", emailVerified: true };

const isAdmitted = async (allow: AdmissionOptions["allow"], user: Partial<SignedInUser>) =>
  (await admission({ allow }).decide({ ...ADA, ...user })) !== undefined;

describe("a rule for an e-mail address", () => {
  test.each<[string, Partial<SignedInUser>, boolean]>([
    ["as listed", {}, true],
    ["in another case", { email: "ADA@Example.COM" }, true],
    ["that is not verified", { emailVerified: false }, false],
    ["whose verification is unknown", { emailVerified: undefined }, false],
    ["whose verification is a string", { emailVerified: "true" as unknown as boolean }, false],
    ["that is missing", { email: undefined }, false],
    ["of another person", { email: "grace@example.com" }, false],
    ["with a tag", { email: "ada+x@example.com" }, false],
    ["followed by another one", { email: "ada@example.com,eve@evil.example" }, false],
    ["with a space", { email: " ada@example.com" }, false],
    ["with a line break", { email: "ada@example.com\n" }, false],
  ])("compares an address %s: admitted is %s", async (_, user, expected) => {
    expect(await isAdmitted({ emails: ["Ada@example.com"] }, user)).toBe(expected);
  });
});

describe("a rule for a domain", () => {
  test.each<[string, boolean]>([
    ["ada@example.com", true],
    ["ada@EXAMPLE.com", true],
    ["ada@sub.example.com", false],
    ["ada@evilexample.com", false],
    ["ada@example.com.evil.example", false],
    ["ada@evil.example@example.com", false],
    ['"ada@example.com"@evil.example', false],
    ['"a b"@example.com', false],
    ["ada@example.com.", false],
    ["ada@example.com\0", false],
    ["ada@example.com ", false],
    ["ada@\u212aexample.com", false],
    ["ada@ex\u0430mple.com", false],
    ["ada@example.com(comment)", false],
    ["@example.com", false],
    ["example.com", false],
    ["ada%example.com@evil.example", false],
    ["", false],
  ])("compares the address %j: admitted is %s", async (email, expected) => {
    expect(await isAdmitted({ domains: ["Example.com"] }, { email })).toBe(expected);
  });

  test("admits only verified addresses", async () => {
    expect(await isAdmitted({ domains: ["example.com"] }, { emailVerified: false })).toBe(false);
  });

  test("does not admit letters that only look like ASCII in lower case", async () => {
    // "\u212a" is the Kelvin sign, whose lower case is "k".
    expect("\u212a".toLowerCase()).toBe("k");
    expect(await isAdmitted({ domains: ["kit.example"] }, { email: "ada@\u212ait.example" })).toBe(false);
    expect(await isAdmitted({ emails: ["kit@kit.example"] }, { email: "\u212ait@kit.example" })).toBe(false);
  });
});

describe("a rule for an organisation", () => {
  const organisations = ["acme", "id:7"];
  test.each<[string, Partial<SignedInUser>, boolean]>([
    ["of GitHub by login", { organisations: ["acme", "id:9919"] }, true],
    ["of GitHub in another case", { organisations: ["ACME"] }, true],
    ["of GitHub by id", { organisations: ["renamed", "id:7"] }, true],
    ["with a longer name", { organisations: ["acme-evil", "id:77"] }, false],
    ["with the same name at another issuer", { issuer: "https://evil.example", organisations: ["acme"] }, false],
    [
      "with the same name at an issuer that begins alike",
      { issuer: "https://github.com.evil", organisations: ["acme"] },
      false,
    ],
    ["if the user has none", { organisations: [] }, false],
    ["if the provider lists none", { organisations: undefined }, false],
  ])("compares an organisation %s: admitted is %s", async (_, user, expected) => {
    expect(await isAdmitted({ organisations }, user)).toBe(expected);
  });

  test("compares the company at an issuer that serves several", async () => {
    const rule: Users = { organisations: [{ issuer: "https://login.example", tenant: "north", name: "staff" }] };
    const user = { issuer: "https://login.example", organisations: ["staff"] };
    expect(await isAdmitted(rule, { ...user, tenant: "north" })).toBe(true);
    expect(await isAdmitted(rule, { ...user, tenant: "south" })).toBe(false);
    expect(await isAdmitted(rule, user)).toBe(false);
    const plain: Users = { organisations: [{ issuer: "https://login.example", name: "staff" }] };
    expect(await isAdmitted(plain, { ...user, tenant: "north" })).toBe(false);
    const single: Users = { users: [{ issuer: "https://github.com", subject: "1" }] };
    expect(await isAdmitted(single, {})).toBe(true);
    expect(await isAdmitted(single, { tenant: "north" })).toBe(false);
  });

  test("names the issuer if the organisation belongs to another issuer", async () => {
    const rule: Users = { organisations: [{ issuer: "https://login.example", name: "Staff" }] };
    expect(await isAdmitted(rule, { issuer: "https://login.example", organisations: ["staff"] })).toBe(true);
    expect(await isAdmitted(rule, { organisations: ["staff"] })).toBe(false);
  });
});

test("a single user is identified by issuer and subject", async () => {
  const rule: Users = { users: [{ issuer: "https://github.com", subject: "1" }] };
  expect(await isAdmitted(rule, {})).toBe(true);
  expect(await isAdmitted(rule, { subject: "11" })).toBe(false);
  expect(await isAdmitted(rule, { issuer: "https://other.example" })).toBe(false);
});

test("one matching rule of several is enough, and everyone is admitted only if that is written", async () => {
  expect(await isAdmitted({ emails: ["x@example.com"], domains: ["example.com"] }, {})).toBe(true);
  expect(await isAdmitted({ anyone: true }, { email: undefined })).toBe(true);
});

test.each<[string, unknown, boolean]>([
  ["true", true, true],
  ["a promise of true", Promise.resolve(true), true],
  ["undefined", undefined, false],
  ["an object", {}, false],
  ["a promise of false", Promise.resolve(false), false],
  ["a string", "no", false],
])("a function that returns %s admits the user: %s", async (_, value, expected) => {
  expect(await isAdmitted(() => value as boolean, {})).toBe(expected);
});

test("scopes are offered only to the users for whom they are, and not to users who are not admitted", async () => {
  const rules = admission({
    allow: { domains: ["example.com"] },
    scopes: {
      read: { description: "Read your files" },
      write: { only: { emails: ["ada@example.com"] } },
      admin: { only: ({ subject }) => subject === "2" },
    },
  });
  expect(rules.scopeNames).toEqual(["read", "write", "admin"]);
  const read = { name: "read", description: "Read your files" };
  expect((await rules.decide(ADA))?.scopes).toEqual([read, { name: "write", description: undefined }]);
  const grace = { ...ADA, subject: "2", email: "grace@example.com" };
  expect((await rules.decide(grace))?.scopes.map(({ name }) => name)).toEqual(["read", "admin"]);
  expect(await rules.decide({ ...ADA, email: "ada@evil.example" })).toBeUndefined();
});

test.each([
  [{}, /allow/],
  [{ allow: {} }, /allow does not admit any user; list the users, or write \{ anyone: true \}/],
  [{ allow: { anyone: false } }, /does not admit any user/],
  [{ allow: { emails: [] } }, /does not admit any user/],
  [{ allow: { emails: "ada@example.com" } }, /allow\.emails is not a list/],
  [{ allow: { emails: ["ada"] } }, /allow\.emails contains "ada"/],
  [{ allow: { domains: ["@example.com"] } }, /allow\.domains contains "@example\.com"/],
  [{ allow: { domains: ["*.example.com"] } }, /allow\.domains/],
  [{ allow: { domains: ["com"] } }, /allow\.domains contains "com"/],
  [{ allow: { domain: ["example.com"] } }, /has no option "domain"\. Did you mean "domains"/],
  [{ allow: { anyone: true }, scopes: { "a b": {} } }, /scopes\["a b"\] is not a valid scope name/],
  [{ allow: { anyone: true }, scopes: { read: { only: {} } } }, /scopes\["read"\]\.only does not admit any user/],
  [{ allow: { anyone: true }, scopes: { read: { describe: "x" } } }, /scopes\["read"\] has no option "describe"/],
])("the options %o are refused (%#)", (options, text) => {
  expect(() => admission(options as unknown as AdmissionOptions)).toThrow(
    expect.objectContaining({ code: "options-invalid", message: expect.stringMatching(text) }),
  );
});
