/**
 * The base URLs of an API.
 *
 * @module
 */
import type { Description } from "./document.ts";
import { isTree, listOf, scalarText, type Tree, textOf, treeOf } from "./tree.ts";

/** The maximum number of servers that are named. */
const SERVERS_MAX = 10;

/** Returns the base URLs of an API, without a slash at the end. */
export function serverUrls({ root, files }: Description): string[] {
  const servers = listOf(root.servers).filter(isTree);
  return baseUrlsOf(servers.length > 0 ? servers : [{ url: "/" }], files.main);
}

/** Returns the base URLs of a list of servers. A relative URL is resolved with that of the description. */
export function baseUrlsOf(servers: unknown, main: string): string[] {
  const base = /^https?:/.test(main) ? main : undefined;
  const found = listOf(servers)
    .filter(isTree)
    .slice(0, SERVERS_MAX)
    .flatMap((server) => {
      const filled = fillVariables(server);
      const url = filled === undefined ? undefined : checkBaseUrl(filled, base);
      return url === undefined ? [] : [url];
    });
  return [...new Set(found)];
}

/** Fills in the variables of a URL. Undefined if one has no value: the URL would be that of another host. */
function fillVariables(server: Tree): string | undefined {
  const variables = treeOf(server.variables);
  const text = textOf(server.url) ?? "";
  const names = [...text.matchAll(/\{([^{}]*)\}/g)].map(([, name = ""]) => name);
  const defaultOf = (name: string) =>
    Object.hasOwn(variables, name) ? scalarText(treeOf(variables[name]).default).trim() : "";
  if (names.some((name) => defaultOf(name) === "")) return undefined;
  return text.replace(/\{([^{}]*)\}/g, (_, name: string) => defaultOf(name));
}

/** Returns a base URL in its normal form; undefined if it cannot be one. */
export function checkBaseUrl(given: string, base?: string): string | undefined {
  if (!URL.canParse(given, base)) return undefined;
  const url = new URL(given, base);
  if (!/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return undefined;
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}
