/** The servers behind the gateway, their names, and their tokens. */
import { readCallers } from "./callers.ts";

export interface Upstream {
  /** The prefix of all names of the server: lowercase letters, digits and dashes. */
  readonly name: string;
  readonly url: string;
  /**
   * The token to send to the server. `shared`: the secret `<NAME>_TOKEN`, for all callers. `caller`: the caller's own token, from the
   * secret `CALLERS`. The key with which a caller uses the gateway is never forwarded.
   *
   * @default none
   */
  readonly token?: "shared" | "caller";
}

/** The servers behind the gateway. Replace these with your own. */
const UPSTREAMS: readonly Upstream[] = [{ name: "cloudflare-docs", url: "https://docs.mcp.cloudflare.com/mcp" }];

/** The bindings that the gateway uses. Over stdio, stdio.ts provides them. */
export interface GatewayEnv {
  readonly LISTS: { getByName(name: string): RemoteLists };
  readonly CALLS: { getByName(id: string): RemoteCall };
  /** A list of servers that replaces the list above: a JSON string or a JSON value. */
  readonly UPSTREAMS?: unknown;
  readonly CALLERS?: string;
}

/** The lists of one server, called over RPC. Values are passed as JSON strings. */
export interface RemoteLists {
  /** Returns the lists, or undefined if they still have the version `known`. */
  lists(source: ListSource, known?: string): Promise<string | undefined>;
  subscribe(source: ListSource, uri: string): Promise<void>;
  unsubscribe(source: ListSource, uri: string): Promise<void>;
}

/** A call that is held open while the user answers. */
export interface RemoteCall {
  begin(call: string, onProgress: (progress: number, total?: number, message?: string) => void): Promise<string>;
  answer(answers: string, onProgress: (progress: number, total?: number, message?: string) => void): Promise<string>;
  cancel(): Promise<void>;
}

/** Identifies lists: of which server, and for which caller. */
export interface ListSource {
  readonly upstream: string;
  /** The caller, if the server receives the caller's own token. */
  readonly subject?: string | undefined;
}

/** Returns the servers. @throws {Error} if an entry is invalid, naming what it needs. */
export function readUpstreams(env: object): readonly Upstream[] {
  const { UPSTREAMS: given } = env as Pick<GatewayEnv, "UPSTREAMS">;
  const list = (typeof given === "string" && given !== "" ? JSON.parse(given) : given || UPSTREAMS) as Upstream[];
  const seen = new Set<string>();
  for (const { name, url, token } of list) {
    const isRight = /^[a-z][a-z0-9-]{0,30}$/.test(name) && !seen.has(name) && URL.canParse(url);
    if (!isRight || (token !== undefined && token !== "shared" && token !== "caller")) {
      const what =
        'a unique name of lowercase letters, digits and dashes, a url, and optionally token: "shared" or "caller"';
      throw new Error(`The server ${JSON.stringify(name)} in UPSTREAMS is invalid. Each server needs ${what}.`);
    }
    seen.add(name);
  }
  return list;
}

export function chooseSource({ name, token }: Upstream, subject: string | undefined): ListSource {
  return token === "caller" ? { upstream: name, subject } : { upstream: name };
}

export const findLists = (env: GatewayEnv, source: ListSource): RemoteLists =>
  env.LISTS.getByName(`${source.upstream} ${source.subject ?? ""}`);

/** Returns the token for a server; undefined if it does not receive one. */
export function tokenFor({ name, token }: Upstream, env: object, subject: string | undefined): string | undefined {
  const secrets = env as Readonly<Record<string, unknown>>;
  if (token === "shared") return readSecret(secrets[`${name.toUpperCase().replaceAll("-", "_")}_TOKEN`]);
  if (token === "caller" && subject !== undefined) return readCallers(env)?.[subject]?.tokens?.[name];
  return undefined;
}

const readSecret = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);

// Names and URIs contain the name of their server: `docs__search`, and `docs+file:///a.txt`, which still has a valid scheme.

export const prefixName = (upstream: string, name: string): string => `${upstream}__${name}`;
export const prefixUri = (upstream: string, uri: string): string => `${upstream}+${uri}`;

/** Returns the server of a prefixed URI, and the server's original URI. */
export function splitUri(upstreams: readonly Upstream[], uri: string): { upstream: Upstream; own: string } | undefined {
  const upstream = upstreams.find(({ name }) => uri.startsWith(`${name}+`));
  return upstream && { upstream, own: uri.slice(upstream.name.length + 1) };
}

/** Prefixes all URIs in the content of a result, in links and embedded resources. */
export function prefixUris<T>(upstream: string, value: T): T {
  const walk = (each: unknown): unknown => {
    if (Array.isArray(each)) return each.map(walk);
    if (typeof each !== "object" || each === null) return each;
    const { type, uri, resource, ...rest } = each as Record<string, unknown>;
    const linked = type === "resource_link" && typeof uri === "string" ? prefixUri(upstream, uri) : uri;
    return {
      ...rest,
      ...(type === undefined ? {} : { type }),
      ...(uri === undefined ? {} : { uri: linked }),
      ...(resource === undefined ? {} : { resource: type === "resource" ? withPrefix(upstream, resource) : resource }),
      ...("content" in rest ? { content: walk(rest.content) } : {}),
    };
  };
  return walk(value) as T;
}

/** Prefixes the URI in the contents of a resource. */
export function withPrefix(upstream: string, contents: unknown): unknown {
  const { uri } = contents as { uri?: unknown };
  return typeof uri === "string" ? { ...(contents as object), uri: prefixUri(upstream, uri) } : contents;
}
