/** Who may call the gateway, by the secret CALLERS: each caller with a key, and with tokens of their own. */

interface Caller {
  /** The caller sends it as `Authorization: Bearer <key>`. */
  readonly key: string;
  /** Tokens for servers with `token: "caller"`, by the name of the server. */
  readonly tokens?: Readonly<Record<string, string>>;
}

/** Returns the callers by name; undefined if everyone may call. */
export function readCallers(env: object): Readonly<Record<string, Caller>> | undefined {
  const { CALLERS } = env as { CALLERS?: unknown };
  if (typeof CALLERS !== "string" || CALLERS === "") return undefined;
  return JSON.parse(CALLERS) as Record<string, Caller>;
}

/** Decides who is calling. For accounts instead of keys, see `bearer()` of `mcp-edge/worker/auth`. */
export async function identifyCaller(request: Request, env: object) {
  const callers = readCallers(env);
  if (!callers) return "anonymous";
  const [, given] = /^Bearer (.+)$/i.exec(request.headers.get("Authorization") ?? "") ?? [];
  if (!given) return null;
  const digest = await hash(given);
  for (const [subject, { key }] of Object.entries(callers)) {
    // Digests are compared, so that the time says nothing about the key.
    if ((await hash(key)) === digest) return { issuer: "gateway", subject };
  }
  return null;
}

async function hash(text: string): Promise<string> {
  return String(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}
