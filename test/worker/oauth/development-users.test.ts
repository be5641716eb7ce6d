/** The identity provider for local development: it works on this machine only, and no deployable bundle contains it. */
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { developmentUsers } from "../../../src/authorization-server/dev/index.ts";
import { failureOf, STATE } from "./sign-in.ts";

const ROOT = join(import.meta.dirname, "../../..");
const MARKER = "mcp-edge: development users, never deploy this";

const LOCAL = "http://localhost:8787/oauth/callback/development";

async function choose(redirectUri = LOCAL) {
  const provider = developmentUsers();
  const { url, kept } = await provider.begin({ redirectUri, state: STATE });
  const page = await provider.page?.(new Request(url))?.text();
  const links = [...(page ?? "").matchAll(/href="([^"]+)"/g)].map(([, link = ""]) => link.replaceAll("&#38;", "&"));
  return { provider, kept, links };
}

test.each([
  [0, { subject: "ada", email: "ada@example.com", emailVerified: true, organisations: ["example"] }],
  [1, { subject: "grace", email: "grace@example.org", emailVerified: false, organisations: [] }],
])("a page offers two users, and the chosen user is signed in (%s)", async (index, expected) => {
  const { provider, kept, links } = await choose();
  expect(links).toHaveLength(2);
  const { user, tokens } = await provider.finish(links[index] ?? "", kept);
  expect(user).toMatchObject({ ...expected, issuer: "http://localhost/development-users" });
  expect(tokens).toBeUndefined();
});

test("users of the option replace them, and their names are escaped", async () => {
  const provider = developmentUsers({ users: [{ subject: "<i>", name: "<b>Bob</b>" }] });
  const { url, kept } = await provider.begin({ redirectUri: LOCAL, state: STATE });
  const page = (await provider.page?.(new Request(url))?.text()) ?? "";
  expect(page).toContain("&#60;b&#62;Bob");
  const { user } = await provider.finish(`${LOCAL}?${new URLSearchParams({ state: STATE, user: "<i>" })}`, kept);
  expect(user.subject).toBe("<i>");
  expect(() => developmentUsers({ users: [] })).toThrow(/at least one/);
});

test("a request that does not choose a user has no page", () => {
  expect(developmentUsers().page?.(new Request(`${LOCAL}?state=x&user=ada`))).toBeUndefined();
});

describe("responses of the development users", () => {
  test.each<[string, (link: URL) => unknown]>([
    ["with another state", (link) => link.searchParams.set("state", "another")],
    ["without a state", (link) => link.searchParams.delete("state")],
    ["with an unknown user", (link) => link.searchParams.set("user", "eve")],
    ["without a user", (link) => link.searchParams.delete("user")],
    ["at another path", (link) => Object.assign(link, { pathname: "/oauth/callback/github" })],
    ["at another port", (link) => Object.assign(link, { port: "1" })],
  ])("a response %s is refused", async (_, change) => {
    const { provider, kept, links } = await choose();
    const link = new URL(links[0] ?? "");
    change(link);
    expect(await failureOf(provider.finish(link.href, kept))).toMatchObject({ reason: "invalid" });
  });

  test("a response is refused if nothing was stored for it", async () => {
    const { provider, links } = await choose();
    const link = new URL(links[0] ?? "");
    link.searchParams.delete("state");
    expect(await failureOf(provider.finish(link.href, {}))).toMatchObject({ reason: "invalid" });
  });
});

describe.each([
  "https://mcp.example.com/oauth/callback/development",
  "http://mcp.example.com/oauth/callback/development",
  "https://dice.example.workers.dev/oauth/callback/development",
  "http://192.168.0.2:8787/oauth/callback/development",
  "http://localhost.evil.example/oauth/callback/development",
  "http://127.0.0.1.evil.example/oauth/callback/development",
  "http://[fd00::1]/oauth/callback/development",
  "not a url",
])("the development users at %s", (redirectUri) => {
  test("cannot begin or complete a sign-in, and have no page", async () => {
    const provider = developmentUsers();
    const begun = provider.begin({ redirectUri, state: STATE });
    expect(await failureOf(begun)).toMatchObject({ reason: "misconfigured" });
    const kept = { state: STATE, redirectUri };
    const finished = provider.finish(`${redirectUri}?${new URLSearchParams({ state: STATE, user: "ada" })}`, kept);
    expect(await failureOf(finished)).toMatchObject({ reason: "misconfigured" });
    if (URL.canParse(redirectUri)) {
      const request = new Request(`${redirectUri}?choose=${STATE}`);
      expect(() => provider.page?.(request)).toThrow(/is not a loopback URL/);
    }
  });
});

test.each(["http://127.0.0.1:1/c", "http://[::1]:1/c", "https://localhost/c", "http://dice.localhost:1/c"])(
  "%s counts as this machine",
  async (redirectUri) => {
    const { provider, kept, links } = await choose(redirectUri);
    expect((await provider.finish(links[0] ?? "", kept)).user.subject).toBe("ada");
  },
);

/** Bundles a program as it is deployed. */
async function bundleOf(contents: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: ROOT, loader: "ts" },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
  });
  return outputFiles[0]?.text ?? "";
}

test("a deployable bundle with everything else of sign-in does not contain development users, and a development file does", async () => {
  const deployed = await bundleOf(`
    import { oidc } from "./src/authorization-server/identity/oidc.ts";
    import { github } from "./src/authorization-server/identity/github.ts";
    import { signInPages } from "./src/authorization-server/pages/index.ts";
    import { admission } from "./src/authorization-server/admission.ts";
    import * as all from "./src/authorization-server/index.ts";
    export default [oidc, github, signInPages, admission, all];`);
  expect(deployed).toContain("openid");
  expect(deployed).not.toContain(MARKER);
  expect(deployed).not.toContain("Lovelace");
  const local = await bundleOf('export { developmentUsers } from "./src/authorization-server/dev/index.ts";');
  expect(local).toContain(MARKER);
});
