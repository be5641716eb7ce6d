/**
 * Admits a request before its body is read: determines its principal, and the server that serves it.
 *
 * @module
 */

import { type Principal, readPrincipal } from "../core/protocol/client-facts.ts";
import { describeType, KitError } from "../core/protocol/errors.ts";
import type { Admitted, Arrived, AuthHook, HttpOptions, RegistrySource } from "./endpoint-types.ts";
import { Refused, type Reply, refuse } from "./refusal.ts";

/** Reports an exception of the author's code. Returns the correlation id for the client. */
type Report = (error: unknown, method: string) => string;

/** Adds the principal and the server to a request. Returns the reply that refuses it, if it is not admitted. */
export async function admit(
  arrived: Arrived,
  source: RegistrySource,
  { auth, equip, onError }: HttpOptions,
  report: Report,
): Promise<Admitted | Reply> {
  const { request, env } = arrived;
  const principal = auth && (await authenticate(auth, arrived, report));
  if (principal instanceof Response || principal instanceof Refused) return principal;
  arrived.principal = principal;
  try {
    equip?.(principal, env);
    const registry = typeof source === "function" ? await source(request, env, principal) : source;
    return Object.assign(arrived, { registry: await registry.forCaller({ env, principal }, onError) });
  } catch (error) {
    return refuse({ reason: "internal", correlationId: report(error, "(server)") });
  }
}

/**
 * Returns the principal of the request, undefined for an anonymous request, or the reply that refuses it. The result of
 * the hook is checked, because its type may be `any`.
 */
async function authenticate(
  auth: AuthHook<unknown>,
  { request, env, execution }: Arrived,
  report: Report,
): Promise<Principal | undefined | Reply> {
  try {
    const who: unknown = await auth(request, env, execution);
    if (who instanceof Response || who instanceof Refused) return who;
    if (who === "anonymous") return undefined;
    if (who === null) return refuse({ reason: "unauthorized", tokenPresented: request.headers.has("Authorization") });
    const principal = readPrincipal(who);
    if (principal) return principal;
    const text = `The function that authenticates callers${auth.name && ` (${auth.name})`} returned ${describeType(who)}; return { issuer, subject } as non-empty strings, "anonymous", null or a Response.`;
    throw new KitError("options-invalid", text);
  } catch (error) {
    return refuse({ reason: "internal", correlationId: report(error, "(auth)") });
  }
}
