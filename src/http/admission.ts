/**
 * Admits a request before its body is read: finds out who it acts for, and which server serves it.
 *
 * @module
 */

import { quote } from "../core/basics/quote.ts";
import { type Principal, readPrincipal } from "../core/protocol/client-facts.ts";
import { describeType, KitError } from "../core/protocol/errors.ts";
import type { Admitted, AuthHook, HttpOptions, RegistrySource } from "./endpoint-types.ts";
import { Refused, type Reply, refuse } from "./refusal.ts";

type Incoming = Omit<Admitted, "principal" | "registry">;

/** Reports an error of the author's code. Returns the reference that the client gets. */
type Report = (error: unknown, method: string) => string;

/** Returns the request with its principal and its server, or the response that refuses it. */
export async function admit(
  incoming: Incoming,
  source: RegistrySource,
  { auth, equip, onError }: HttpOptions,
  report: Report,
): Promise<Admitted | Reply> {
  const { request, env } = incoming;
  const principal = auth && (await authenticate(auth, incoming, report));
  if (principal instanceof Response || principal instanceof Refused) return principal;
  try {
    equip?.(principal, env);
    const registry = typeof source === "function" ? await source(request, env, principal) : source;
    return { ...incoming, principal, registry: await registry.forCaller({ env, principal }, onError) };
  } catch (error) {
    return refuse({ reason: "internal", correlationId: report(error, "(server)") });
  }
}

/**
 * Returns the principal of the request, undefined for an anonymous one, or the response that refuses it. The result of the
 * hook is checked, since its type may be `any`.
 */
async function authenticate(
  auth: AuthHook<unknown>,
  { request, env, execution }: Incoming,
  report: Report,
): Promise<Principal | undefined | Reply> {
  try {
    const who: unknown = await auth(request, env, execution);
    if (who instanceof Response || who instanceof Refused) return who;
    if (who === "anonymous") return undefined;
    if (who === null) return refuse({ reason: "unauthorized", tokenPresented: request.headers.has("Authorization") });
    const principal = readPrincipal(who);
    if (principal) return principal;
    const text = `The function that authenticates callers${auth.name && `, ${quote(auth.name)},`} returned ${describeType(who)}. Return { issuer, subject }, both non-empty strings, or "anonymous", null (401) or a Response.`;
    throw new KitError("options-invalid", text);
  } catch (error) {
    return refuse({ reason: "internal", correlationId: report(error, "(auth)") });
  }
}
