/** What tests of identity providers have in common. */
import { expect } from "vitest";
import type { IdentityProvider, KeptSignIn } from "../../../src/authorization-server/identity/provider.ts";

export const STATE = "state-of-this-sign-in";

/** The redirect URI of a provider. */
export function callbackOf({ id }: IdentityProvider): string {
  return `https://mcp.example.com/oauth/callback/${id}`;
}

export function begin(provider: IdentityProvider): Promise<{ readonly url: string; readonly kept: KeptSignIn }> {
  return provider.begin({ redirectUri: callbackOf(provider), state: STATE });
}

/** Returns the error with which a promise rejects, which is always one for callers to distinguish. */
export async function failureOf(promise: Promise<unknown> | undefined): Promise<{ reason: string; message: string }> {
  const error = await promise?.then(
    () => new Error("It did not reject."),
    (failure: unknown) => failure,
  );
  expect(error).toMatchObject({ name: "IdentityError", reason: expect.any(String) });
  // Errors of the library have causes that contain tokens.
  expect((error as Error).cause).toBeUndefined();
  return error as { reason: string; message: string };
}
