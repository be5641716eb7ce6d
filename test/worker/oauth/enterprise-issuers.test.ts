/** The issuers that are trusted: how they are found and checked, and how their keys are cached. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { type FindIssuer, Issuers, type TrustedIssuer } from "../../../src/authorization-server/enterprise/issuers.ts";
import { parseJwt, type UnverifiedJwt } from "../../../src/worker/access/auth/jwt.ts";
import { Issuer, newKey, signJwt } from "../../harness/issuer.ts";

const open: Issuer[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.stop();
});

async function start(): Promise<Issuer> {
  const issuer = await Issuer.start();
  open.push(issuer);
  return issuer;
}

const KEY = await newKey("ES256", "first");
const ISSUER = "https://acme.example";
const execution = { waitUntil: () => undefined };

async function signed(key = KEY): Promise<UnverifiedJwt> {
  return parseJwt(await signJwt(key, { iss: ISSUER })) as UnverifiedJwt;
}

const CACHE_MS = 600_000;
const issuersOf = (given: readonly TrustedIssuer[] | FindIssuer<never>) => new Issuers(given, CACHE_MS);

describe("an issuer", () => {
  test("is found by its name and its organisations, exactly", async () => {
    const north = { issuer: ISSUER, tenant: "north" };
    const ours = { issuer: ISSUER, audienceTenant: "ours" };
    const issuers = issuersOf([{ issuer: ISSUER, scopes: ["plain"] }, north, ours]);
    expect(await issuers.find({ issuer: ISSUER }, {})).toMatchObject({ scopes: ["plain"] });
    expect(await issuers.find(north, {})).toBe(await issuers.find({ ...north }, {}));
    expect((await issuers.find(north, {}))?.tenant).toBe("north");
    for (const asked of [
      { issuer: `${ISSUER}/` },
      { issuer: ISSUER, tenant: "south" },
      { issuer: ISSUER, audienceTenant: "theirs" },
      { ...north, audienceTenant: "ours" },
    ]) {
      expect(await issuers.find(asked, {})).toBeUndefined();
    }
  });

  test("is found by the function of the author, with the bindings, and asked for by name only", async () => {
    const asked: unknown[] = [];
    const find: FindIssuer<{ readonly suffix: string }> = async (each, { suffix }) => {
      asked.push(each);
      return each.issuer.endsWith(suffix) ? { issuer: each.issuer } : null;
    };
    const issuers = issuersOf(find as FindIssuer<never>);
    const assertion = { issuer: ISSUER, subject: "ada", id: "secret" };
    expect(await issuers.find(assertion, { suffix: ".example" })).toEqual({ issuer: ISSUER });
    expect(await issuers.find(assertion, { suffix: ".test" })).toBeUndefined();
    expect(asked[0]).toEqual({ issuer: ISSUER });
  });

  test.each<[string, TrustedIssuer]>([
    ["another issuer", { issuer: "https://mallory.example" }],
    ["another organisation of the issuer", { issuer: ISSUER, tenant: "north" }],
    ["another organisation of this server", { issuer: ISSUER, audienceTenant: "ours" }],
  ])("is not trusted if the function answers with %s", async (_, answer) => {
    expect(await issuersOf(() => answer).find({ issuer: ISSUER }, {})).toBeUndefined();
  });

  test.each<[object, RegExp]>([
    [{ issuer: "http://acme.example" }, /issuer is "http:\/\/acme\.example"; write a URL that begins with "https/],
    [{ issuer: "https://b\u00fccher.example" }, /issuer is "https:\/\/b.*; write it in ASCII/],
    [{ issuer: ISSUER, jwks: "http://acme.example/jwks" }, /jwks is/],
    [{ issuer: ISSUER, jwks: {} }, /jwks is neither a URL nor a key set/],
    [{ issuer: ISSUER, jwks: { keys: [null] } }, /jwks is neither a URL nor a key set/],
    [{ issuer: ISSUER, tenant: "" }, /tenant is not a text/],
    [{ issuer: ISSUER, organisationsClaim: 5 }, /organisationsClaim is not a text/],
    [{ issuer: ISSUER, allow: 5 }, /allow: the options are 5; write an object/],
    [{ issuer: ISSUER, algorithms: ["HS256"] }, /algorithms has "HS256", which is not an asymmetric algorithm/],
    [{ issuer: ISSUER, algorithms: ["none"] }, /algorithms has "none"/],
    [{ issuer: ISSUER, scopes: "read" }, /scopes is not a list of texts/],
    [{ issuer: ISSUER, clients: [1] }, /clients is not a list of texts/],
    [{ issuer: ISSUER, domains: ["@acme.example"] }, /domains has "@acme\.example"; write a domain/],
    [{ issuer: ISSUER, allow: {} }, /allow does not admit any user/],
    [{ issuer: ISSUER, scope: ["read"] }, /scope/],
  ])("with a mistake is refused when it is given, and when a function returns it: %j", async (wrong, text) => {
    expect(() => issuersOf([wrong as TrustedIssuer])).toThrow(text);
    await expect(issuersOf(() => wrong as TrustedIssuer).find({ issuer: ISSUER }, {})).rejects.toThrow(text);
  });

  test.each([
    "tenant",
    "audienceTenant",
    "jwks",
    "algorithms",
    "clients",
    "scopes",
    "domains",
    "allow",
    "organisationsClaim",
  ])("is refused with null for %s, which must not read as no limit", async (name) => {
    const stored = JSON.parse(JSON.stringify({ issuer: ISSUER, [name]: null })) as TrustedIssuer;
    const text = `enterprise(): issuers: ${name} is null; leave it out.`;
    await expect(issuersOf(() => stored).find({ issuer: ISSUER }, {})).rejects.toThrow(text);
    expect(() => issuersOf([stored])).toThrow(text);
  });

  test("is refused with null in an accessor of a class, as the entities of some databases have them", async () => {
    class Entity {
      readonly issuer = ISSUER;
      get clients() {
        return null;
      }
    }
    const found = issuersOf(() => new Entity() as object as TrustedIssuer).find({ issuer: ISSUER }, {});
    await expect(found).rejects.toThrow("enterprise(): issuers: clients is null; leave it out.");
  });

  test("is refused if it is listed twice", () => {
    const given = [{ issuer: ISSUER }, { issuer: ISSUER, tenant: "north" }, { issuer: ISSUER, scopes: ["read"] }];
    expect(() => issuersOf(given)).toThrow(`there are two entries for "${ISSUER}"`);
    expect(() => issuersOf(given.slice(0, 2))).not.toThrow();
  });

  test.each<[string, object]>([
    ["with the name of a member that every object has", { issuer: "__proto__" }],
    ["that is not a URL", { issuer: "constructor" }],
    ["without https", { issuer: "http://acme.example" }],
    ["with a line break", { issuer: `${ISSUER}/\n` }],
    ["that is longer than a key of KV", { issuer: `${ISSUER}/${"a".repeat(500)}` }],
    ["with an organisation that every object has", { issuer: ISSUER, tenant: "constructor" }],
    ["with an organisation that is longer than a key of KV", { issuer: ISSUER, audienceTenant: "\u00e9".repeat(257) }],
  ])("%s is not trusted, and not asked for", async (_, asked) => {
    const find = () => {
      throw new Error("The function was called.");
    };
    expect(await issuersOf(find).find(asked as { issuer: string }, {})).toBeUndefined();
  });

  test("is not waited for without an end", async () => {
    vi.useFakeTimers();
    try {
      const found = issuersOf(() => new Promise(() => undefined)).find({ issuer: ISSUER }, {});
      const refused = expect(found).rejects.toThrow("enterprise(): the function for issuers did not answer in time.");
      await vi.advanceTimersByTimeAsync(10_000);
      await refused;
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("the keys of an issuer", () => {
  test("are found by discovery, and cached", async () => {
    const issuer = await start();
    issuer.published = [KEY.jwk];
    const issuers = issuersOf([{ issuer: issuer.url }]);
    const jwt = await signed();
    for (let times = 0; times < 3; times += 1) {
      expect(await issuers.hasSigned({ issuer: issuer.url }, { jwt }, execution)).toBe(true);
    }
    expect(issuer.keyRequests).toBe(1);
  });

  test("are not found if the metadata names another issuer", async () => {
    const issuer = await start();
    issuer.metadata = { issuer: ISSUER };
    const issuers = issuersOf([{ issuer: issuer.url }]);
    const asked = issuers.hasSigned({ issuer: issuer.url }, { jwt: await signed() }, execution);
    await expect(asked).rejects.toThrow(/names another issuer/);
  });

  test("that are fixed are used at once when they change", async () => {
    const other = await newKey("ES256", "first");
    const issuers = issuersOf([{ issuer: ISSUER }]);
    const has = async (key: typeof KEY, jwt: UnverifiedJwt) => {
      return issuers.hasSigned({ issuer: ISSUER, jwks: { keys: [key.jwk as never] } }, { jwt }, execution);
    };
    expect([await has(KEY, await signed()), await has(other, await signed())]).toEqual([true, false]);
    expect(await has(other, await signed(other))).toBe(true);
  });

  test("are all tried for an assertion that does not name one", async () => {
    const [first, second] = [await newKey("ES256", undefined), await newKey("ES256", undefined)];
    const trusted: TrustedIssuer = { issuer: ISSUER, jwks: { keys: [first.jwk as never, second.jwk as never] } };
    expect(await issuersOf([trusted]).hasSigned(trusted, { jwt: await signed(second) }, execution)).toBe(true);
    expect(await issuersOf([trusted]).hasSigned(trusted, { jwt: await signed(KEY) }, execution)).toBe(false);
  });

  test("are used with another algorithm than the defaults only if the policy names it", async () => {
    const key = await newKey("ES384", "first");
    const trusted: TrustedIssuer = { issuer: ISSUER, jwks: { keys: [key.jwk as never] } };
    const has = async (policy: TrustedIssuer) => {
      return issuersOf([policy]).hasSigned(policy, { jwt: await signed(key) }, execution);
    };
    expect([await has(trusted), await has({ ...trusted, algorithms: ["ES384"] })]).toEqual([false, true]);
  });

  test("are not used with an algorithm that the policy excludes", async () => {
    const trusted: TrustedIssuer = { issuer: ISSUER, jwks: { keys: [KEY.jwk as never] }, algorithms: ["RS256"] };
    expect(await issuersOf([trusted]).hasSigned(trusted, { jwt: await signed() }, execution)).toBe(false);
  });

  test("that could not be requested are not requested again at once, also if other issuers were asked for meanwhile", async () => {
    const issuer = await start();
    const issuers = issuersOf([{ issuer: issuer.url }]);
    const jwt = await signed();
    const ask = async (number: number) => {
      const trusted = { issuer: issuer.url, jwks: `${issuer.url}/jwks?${number}` };
      await expect(issuers.hasSigned(trusted, { jwt }, execution)).rejects.toThrow("answered with the status 500");
    };
    for (let number = 0; number < 202; number += 1) issuer.faults.set(`/jwks?${number}`, { status: 500 });
    // The clock stands still, because 202 requests may take longer than the pause after a failure.
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      await Promise.all(Array.from({ length: 202 }, (_, number) => ask(number)));
      expect(issuer.requests).toHaveLength(202);
      await ask(0);
      expect(issuer.requests).toHaveLength(202);
    } finally {
      vi.useRealTimers();
    }
  });

  /** Returns a function that uses the keys of an issuer. Key sets at different URLs count as those of different issuers. */
  const userOf = async (more: object = {}) => {
    const issuer = await start();
    const issuers = issuersOf([{ issuer: issuer.url }]);
    const jwt = await signed();
    const text = JSON.stringify({ keys: [KEY.jwk, { kty: "EC", ...more }] });
    const use = (number: number, status = 200) => {
      issuer.faults.set(`/jwks?${number}`, { status, text });
      const jwks = `${issuer.url}/jwks?${number}`;
      return issuers.hasSigned({ issuer: issuer.url, jwks }, { jwt }, execution);
    };
    return { use, requests: issuer.requests };
  };

  test("are cached up to a size, and those of the least recently used issuers are requested again", async () => {
    // 33 of these key sets have fewer than 8,000,000 characters.
    const { use, requests } = await userOf({ x: "a".repeat(240_000) });
    for (let number = 0; number < 33; number += 1) expect(await use(number)).toBe(true);
    await use(0);
    expect(requests).toHaveLength(33);
    await use(33);
    await use(0);
    expect(requests).toHaveLength(34);
    await use(1);
    expect(requests).toHaveLength(35);
  });

  test("make room for issuers whose keys cannot be requested, which are remembered too", async () => {
    const { use, requests } = await userOf({ x: "a".repeat(240_000) });
    for (let number = 0; number < 33; number += 1) await use(number);
    for (let number = 100; number < 300; number += 1) await expect(use(number, 500)).rejects.toThrow("the status 500");
    expect(requests).toHaveLength(233);
    await use(32);
    expect(requests).toHaveLength(233);
    await use(0);
    expect(requests).toHaveLength(234);
  });

  test("of hundreds of issuers are cached, also if they publish certificates, so that no assertion causes requests", async () => {
    const { use, requests } = await userOf({ x5c: ["a".repeat(50_000)] });
    for (let times = 0; times < 2; times += 1) {
      for (let number = 0; number < 300; number += 1) expect(await use(number)).toBe(true);
    }
    expect(requests).toHaveLength(300);
  });
});
