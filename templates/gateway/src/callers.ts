/** The callers of the gateway, from the secret CALLERS: each with a key, and optionally with their own tokens. */

interface Caller {
  /** The key, which the caller sends as `Authorization: Bearer <key>`. */
  readonly key: string;
  /** The caller's tokens for servers with `token: "caller"`, by server name. */
  readonly tokens?: Readonly<Record<string, string>>;
}

/** Returns the callers by name; undefined if anyone may call. */
export function readCallers(env: object): Readonly<Record<string, Caller>> | undefined {
  const { CALLERS } = env as { CALLERS?: unknown };
  if (typeof CALLERS !== "string" || CALLERS === "") return undefined;
  return JSON.parse(CALLERS) as Record<string, Caller>;
}

/** Identifies the caller. To use accounts instead of keys, see `bearer()` in `mcp-edge/worker/auth`. */
export async function identifyCaller(request: Request, env: object) {
  const callers = readCallers(env);
  if (!callers) return "anonymous";
  const [, given] = /^Bearer (.+)$/i.exec(request.headers.get("Authorization") ?? "") ?? [];
  if (!given) return null;
  const digest = await hash(given);
  for (const [subject, { key }] of Object.entries(callers)) {
    // Digests are compared, so that the duration of the comparison reveals nothing about the key.
    if ((await hash(key)) === digest) return { issuer: "gateway", subject };
  }
  return null;
}

async function hash(text: string): Promise<string> {
  return String(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
