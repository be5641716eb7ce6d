/**
 * The principals that an `auth` hook has verified before the request was refused. `audit()` records them: it sees the
 * request and the response, but not the result of the hook.
 *
 * @module
 */
import type { Principal } from "../../core/protocol/client-facts.ts";

const callers = new WeakMap<Request, Principal>();

/** Remembers the principal of a request. */
export function rememberCaller(request: Request, principal: Principal): void {
  callers.set(request, principal);
}

/** Returns the principal of a request, or undefined if no hook has remembered one. */
export function callerOf(request: Request): Principal | undefined {
  return callers.get(request);
}
