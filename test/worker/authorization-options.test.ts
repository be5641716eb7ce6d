/** Scopes that no user can grant, and companies that do not fit, are refused when the authorization server is created. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";

/** Creates an authorization server with the options in the request, and responds with the error if it is refused. */
const SOURCE = `
import { authorizationServer, enterprise } from "./src/authorization-server/index.ts";
import { believing } from "./test/worker/fixtures/believing-provider.ts";

const scopes = { read: { description: "Read" } };
export default {
  async fetch(request) {
    const options = { name: "Notes", identity: believing("people"), allow: { anyone: true }, scopes };
    try {
      const { issuers, ...more } = await request.json();
      authorizationServer({ ...options, ...more, ...(issuers && { enterprise: enterprise({ issuers }) }) });
      return new Response("accepted");
    } catch (error) {
      return new Response(error.message);
    }
  },
};
`;

let worker: TestWorker;
beforeAll(async () => {
  worker = await startWorker({ entry: { source: SOURCE } });
});
afterAll(() => worker?.stop());

const create = async (options: object) =>
  (await fetch(worker.url("/"), { method: "POST", body: JSON.stringify(options) })).text();

test.each([
  { options: { requiredScopes: ["read", "raed"] }, scope: "raed" },
  { options: { needs: { tools: { wipe: ["admin"] } } }, scope: "admin" },
  {
    options: { needs: { resources: { "note:///{id}": ["read", "notes"] } }, includes: { read: ["notes"] } },
    scope: "notes",
  },
])("the required scope $scope, which is not in scopes, is refused", async ({ options, scope }) => {
  expect(await create(options)).toBe(`authorizationServer(): scopes lacks "${scope}", which requests need.`);
});

test("scopes that are required and defined are accepted", async () => {
  const needs = { methods: { "example.com/stats": ["read"] } };
  expect(await create({ requiredScopes: ["read"], needs })).toBe("accepted");
});

const COMPANY = "https://acme.example";

test.each<[string, object, RegExp]>([
  [
    "a scope that is not defined",
    { scopes: ["raed"] },
    /^enterprise\(\): issuers: scopes of "\S+" has "raed", which is no scope/,
  ],
  [
    "keys, if users sign in at it",
    { issuer: "https://people.example", jwks: { keys: [] } },
    /has jwks, but users sign in at it/,
  ],
])("an issuer of enterprise() with %s is refused", async (_, policy, problem) => {
  expect(await create({ issuers: [{ issuer: COMPANY, scopes: ["read"] }] })).toBe("accepted");
  expect(await create({ issuers: [{ issuer: COMPANY, ...policy }] })).toMatch(problem);
});
