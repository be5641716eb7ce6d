/** Starts authorities and clients, and closes them after each test. */
import { afterEach, expect } from "vitest";
import { type Client, type ClientOptions, connect } from "../../../src/client/index.ts";
import { OAuthError, type OAuthOptions, oauth } from "../../../src/client/oauth/index.ts";
import { ME } from "../places.ts";
import { Authority } from "./authority.ts";

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

/** Starts an MCP server with its authorization server. */
export async function start(change: (authority: Authority) => void = () => undefined): Promise<Authority> {
  const authority = await Authority.start();
  open.push(authority);
  change(authority);
  return authority;
}

/** Connects, as a user who consents unless the options have another way. */
export async function join(
  authority: Authority,
  options: Partial<OAuthOptions> = {},
  more: Partial<ClientOptions> = {},
): Promise<Client> {
  const way = options.grant ? {} : { redirect: authority.browser() };
  const auth = oauth({ ...way, ...options });
  const client = await connect(authority.url, { ...ME, auth, onEvent: () => undefined, ...more });
  open.push({ [Symbol.asyncDispose]: () => client.close() });
  return client;
}

/** Connects, and returns the reason why that failed. */
export async function reasonOf(authority: Authority, options: Partial<OAuthOptions> = {}): Promise<unknown> {
  const error = await join(authority, options).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(OAuthError);
  expect(error).toMatchObject({ code: "sign-in-failed", mayHaveRun: false });
  return (error as OAuthError).reason;
}
