/**
 * The rules for URLs that may be requested.
 *
 * @module
 */

import { isAddress, isPublicHost } from "../core/basics/addresses.ts";
import { KitError } from "../core/protocol/errors.ts";

/** The hosts that may be requested. */
export interface UrlRules {
  readonly hosts: readonly HostPattern[] | undefined;
  readonly privateHosts: readonly HostPattern[];
  readonly allowHttp: boolean;
}

/** An entry of a list of hosts. */
export interface HostPattern {
  readonly hostname: string;
  /** Undefined for the default port of the scheme. */
  readonly port: string | undefined;
  /** Whether the entry matches the subdomains of the host, and not the host itself. */
  readonly isWildcard: boolean;
}

/**
 * Parses a list of hosts such as `api.example.com`, `*.example.com` and `localhost:8080`.
 *
 * @throws {KitError} `options-invalid` naming the entry.
 */
export function readHosts(what: string, list: readonly string[]): readonly HostPattern[] {
  return list.map((entry) => {
    const [, star = "", host = ""] = /^(\*\.)?([^*/?#@\\\s]+)$/.exec(entry) ?? [];
    // The port is taken from the entry, because the URL parser removes the default port 443.
    const url = host !== "" && URL.canParse(`https://${host}`) ? new URL(`https://${host}`) : undefined;
    if (url) {
      const [port] = /(?<=:)\d+$/.exec(host) ?? [];
      return { hostname: withoutDot(url.hostname), port, isWildcard: star !== "" };
    }
    const text = `${what} has the entry ${JSON.stringify(entry)}; write a host such as "api.example.com", "*.example.com" or "localhost:8080".`;
    throw new KitError("options-invalid", text);
  });
}

/** Returns why a URL must not be requested, or undefined if it may. */
export function findUrlProblem(url: URL, { hosts, privateHosts, allowHttp }: UrlRules): string | undefined {
  if (url.protocol !== "https:" && url.protocol !== "http:") return "its scheme is not https";
  if (url.username !== "" || url.password !== "") return "it has a user name or a password";
  if (isListed(url, privateHosts)) return undefined;
  if (url.protocol === "http:" && !allowHttp) return "its scheme is not https";
  if (hosts ? !isListed(url, hosts) : url.port !== "")
    return `its ${hosts ? "host or port is not allowed" : "port is not the default port"}`;
  const hostname = withoutDot(url.hostname);
  if (isPublicHost(hostname)) return undefined;
  return isAddress(hostname) ? "its address is not public" : "its host is not public";
}

/** Returns whether the host and port of a URL match an entry of a list. */
export function isListed(url: URL, list: readonly HostPattern[]): boolean {
  const hostname = withoutDot(url.hostname);
  const standard = url.protocol === "https:" ? "443" : "80";
  return list.some((entry) => {
    if ((url.port || standard) !== (entry.port ?? standard)) return false;
    return entry.isWildcard ? hostname.endsWith(`.${entry.hostname}`) : hostname === entry.hostname;
  });
}

/** Removes the final dot of a host, which does not change its meaning. */
function withoutDot(hostname: string): string {
  return hostname.replace(/\.$/, "");
}
