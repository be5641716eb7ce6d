/**
 * Gives handlers access to the tokens of the identity provider, as `ctx.auth.upstream()`.
 *
 * @module
 */
import type { Principal, UpstreamToken } from "../../core/protocol/client-facts.ts";
import { retryOnReset } from "../../worker/retry-on-reset.ts";
import type { AuthServer } from "../server.ts";
import type { UpstreamProblem } from "./provider-tokens.ts";

const TEXTS: Readonly<Record<UpstreamProblem, string>> = {
  none: "The identity provider of the user does not issue tokens.",
  expired: "The token of the identity provider has expired and cannot be refreshed. The user must sign in again.",
  revoked: "The user or the identity provider has revoked the access.",
  unavailable: "The identity provider does not respond. Try again later.",
};

/** Thrown by `ctx.auth.upstream()` if no token of the identity provider is available. */
export class UpstreamError extends Error {
  /** The class of the error. */
  override readonly name = "UpstreamError";
  /** Why no token is available. */
  readonly reason: UpstreamProblem;

  /** Creates an error. */
  constructor(reason: UpstreamProblem) {
    super(TEXTS[reason]);
    this.reason = reason;
  }
}

/** Adds the function `upstream` to a principal if it is a user of this authorization server. */
export function addUpstream(server: AuthServer, principal: Principal, env: unknown): void {
  const { subject, claims } = principal;
  const { grant } = claims ?? {};
  if (typeof grant !== "string") return;
  const upstream = async (): Promise<UpstreamToken> => {
    const object = server.users.named(env, `user:${subject}`);
    const outcome = await retryOnReset(() => server.users.call(object, "upstream", grant));
    if ("problem" in outcome) throw new UpstreamError(outcome.problem);
    return outcome.tokens;
  };
  // Not enumerable, because sessions and tasks clone the principal, and functions cannot be cloned. It is added again for each run
  // of a task.
  Object.defineProperty(principal, "upstream", { value: upstream, configurable: true });
}
