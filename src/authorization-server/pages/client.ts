/**
 * How clients are shown: what they say about themselves is never trusted, and where the browser goes is always shown.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization, "Client ID Metadata Documents"; RFC 8252, section 8
 */
import { isLoopback } from "../../http/origin.ts";
import { isAppScheme } from "../clients/redirects.ts";
import { plain } from "./html.ts";

/** A client as pages show it. */
export interface ShownClient {
  /** The client id. If it is an `https:` URL, its host is shown as the place that describes the client. */
  readonly id: string;
  /** The name that the client gave itself. */
  readonly name?: string | undefined;
  /** Whether the author of this server vouches for the name. @default false */
  readonly isVerified?: boolean | undefined;
}

/** Where the browser goes with the answer. */
export interface Destination {
  /** An https site, a program on this computer, or an app that opens links of a scheme. */
  readonly kind: "site" | "loopback" | "scheme";
  /** The host with its port if that is not the usual one, in ASCII; for `scheme` the scheme, such as `cursor:`. */
  readonly host: string;
}

/**
 * Returns where a redirect URI leads. Undefined if it must not be used: plain HTTP to other machines, where others could read
 * the code, and schemes that lead to no app.
 */
export function findDestination(redirectUri: string): Destination | undefined {
  if (!URL.canParse(redirectUri)) return undefined;
  const { protocol, hostname, host, username, password } = new URL(redirectUri);
  // A name before "@" can look like the host.
  if (username !== "" || password !== "") return undefined;
  if (protocol === "https:" && !isLoopback(hostname)) return { kind: "site", host };
  if (protocol === "https:" || (protocol === "http:" && isLoopback(hostname))) return { kind: "loopback", host };
  return isAppScheme(protocol) ? { kind: "scheme", host: protocol } : undefined;
}

/** Returns the host that publishes the metadata of a client, if its id is a URL. */
export function findPublisher(clientId: string): string | undefined {
  return clientId.startsWith("https://") && URL.canParse(clientId) ? new URL(clientId).host : undefined;
}

/** Characters of other scripts, digits and signs that look like a Latin letter, each before that letter. */
const ALIKE = new Map(
  "аa еe оo рp сc уy хx іi јj ѕs ԁd һh ӏl бb кk мm нh тt вb αa οo νv ιi κk ρp τt υu βb εe ζz ηn μm χx γy ωw ϲc ϳj 0o 1l |l"
    .split(" ")
    .map(([alike = "", letter = ""]) => [alike, letter] as const),
);

/** Returns a form of a name that is equal for names that look alike. */
export function toSkeleton(name: string): string {
  const letters = plain(name, Number.MAX_SAFE_INTEGER).normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return [...letters]
    .map((letter) => ALIKE.get(letter) ?? letter)
    .join("")
    .replace(/[^\p{L}\p{N}]/gu, "")
    .replaceAll("i", "l")
    .replaceAll("rn", "m");
}

/** A client that the user has allowed before. */
export interface ApprovedClient {
  readonly id: string;
  readonly name?: string | undefined;
  /** A redirect URI that was used. */
  readonly redirectUri: string;
}

/**
 * Returns the host of an allowed client that has the same name, as it looks, but returns to another host. The consent page
 * then warns the user.
 */
export function findLookAlike(
  client: ShownClient,
  redirectUri: string,
  allowed: readonly ApprovedClient[],
): string | undefined {
  const own = toSkeleton(client.name ?? "");
  const place = toPlace(redirectUri);
  const others = allowed.filter(({ id, name }) => own !== "" && id !== client.id && toSkeleton(name ?? "") === own);
  // A client that registers itself again has another id, and the same host.
  if (others.some((other) => toPlace(other.redirectUri) === place)) return undefined;
  return others.map((other) => findDestination(other.redirectUri)?.host).find((host) => host !== undefined);
}

/** Returns what stays the same about a redirect URI: programs on this computer use any port. */
function toPlace(redirectUri: string): string | undefined {
  const destination = findDestination(redirectUri);
  return destination?.kind === "loopback" ? "loopback" : destination?.host;
}

/** The shortest name of a service that counts as contained in a client's name. */
const SERVICE_MIN = 4;

/** Whether the name of a client contains that of the service, as it looks. */
export function isImitation(client: ShownClient, service: string): boolean {
  const own = toSkeleton(service);
  return client.isVerified !== true && own.length >= SERVICE_MIN && toSkeleton(client.name ?? "").includes(own);
}
