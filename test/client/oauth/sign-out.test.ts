/** Signing out: tokens are removed from the store, and revoked at the authorization server. */
import { describe, expect, test } from "vitest";
import { memoryStore, oauth, revokeTokens } from "../../../src/client/oauth/index.ts";
import type { Authority } from "./authority.ts";
import { join, start } from "./lab.ts";

const withRevocation = (authority: Authority) => {
  authority.metadata = { revocation_endpoint: `${authority.issuer}/revoke` };
};

/** Signs in, and returns functions that remove the tokens. */
async function signedIn(authority: Authority) {
  const options = { store: memoryStore(), redirect: authority.browser() };
  await join(authority, options);
  return {
    signOut: () => oauth(options).signOut(authority.url),
    revoke: () => revokeTokens(authority.url, options),
  };
}

describe("signing out", () => {
  test("removes only the stored tokens with signOut()", async () => {
    const authority = await start(withRevocation);
    const { signOut, revoke } = await signedIn(authority);
    await signOut();
    expect(await revoke()).toBe("no-tokens");
    expect(authority.revocations).toEqual([]);
  });

  test("revokes the refresh token and the access token, with the client id of the client that got them", async () => {
    const authority = await start(withRevocation);
    const [access] = await join(authority, { store: memoryStore() }).then(() => [...authority.access.keys()]);
    const { revoke } = await signedIn(authority);
    const own = [...authority.access.keys()].find((token) => token !== access);
    expect(await revoke()).toBe("revoked");
    expect(authority.revocations).toEqual([
      { token: expect.stringMatching(/^refresh-/), token_type_hint: "refresh_token", client_id: "client-2" },
      { token: own, token_type_hint: "access_token", client_id: "client-2" },
    ]);
  });

  test("removes the tokens if the authorization server has no endpoint for revocation", async () => {
    const authority = await start();
    const { revoke } = await signedIn(authority);
    expect(await revoke()).toBe("removed");
    expect(await revoke()).toBe("no-tokens");
  });

  test("is complete if the server revokes refresh tokens only", async () => {
    const authority = await start(withRevocation);
    authority.onRevocation = ({ token_type_hint: hint }) =>
      hint === "access_token" ? { status: 400, body: { error: "unsupported_token_type" } } : {};
    const { revoke } = await signedIn(authority);
    expect(await revoke()).toBe("revoked");
  });

  test.each([
    ["refuses", { status: 401, body: { error: "invalid_client" } }, "token-refused"],
    ["fails", { status: 503 }, "token-invalid"],
  ])("removes the tokens and rejects if the server %s", async (_, reply, reason) => {
    const authority = await start(withRevocation);
    authority.onRevocation = () => reply;
    const { revoke } = await signedIn(authority);
    await expect(revoke()).rejects.toMatchObject({ code: "sign-in-failed", reason });
    expect(await revoke()).toBe("no-tokens");
  });

  test("does not send tokens to another network, and reports it", async () => {
    const authority = await start();
    const { revoke } = await signedIn(authority);
    authority.metadata = { revocation_endpoint: "http://example.com/revoke" };
    await expect(revoke()).rejects.toMatchObject({ reason: "address-refused" });
  });
});

test("an open client signs in again after its tokens were revoked", async () => {
  const authority = await start(withRevocation);
  const store = memoryStore();
  const client = await join(authority, { store });
  await revokeTokens(authority.url, { store, redirect: authority.browser() });
  authority.revoke();
  expect(await client.callTool("any")).toMatchObject({ content: [] });
  expect(authority.granted).toEqual(["authorization_code", "authorization_code"]);
});
