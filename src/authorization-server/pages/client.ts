/**
 * How clients are displayed. Their own claims are never trusted, and the destination of the browser is always shown.
 *
 * @module
 * @see MCP 2026-07-28, basic/authorization, "Client ID Metadata Documents"; RFC 8252, section 8
 */
import { isLoopback } from "../../http/origin.ts";
import { isAppScheme } from "../clients/redirects.ts";
import { plain } from "./html.ts";

/** A client as the pages display it. */
export interface ShownClient {
  /** The client id. If it is an `https:` URL, its host is shown as the publisher of the client's metadata. */
  readonly id: string;
  /** The name of the client. */
  readonly name?: string | undefined;
  /** Whether the name was set by the author of the server instead of the client. @default false */
  readonly isVerified?: boolean | undefined;
}

/** The destination of the browser after the user's decision. */
export interface Destination {
  /** An HTTPS site, a program on this computer, or an app that opens links with a private-use scheme. */
  readonly kind: "site" | "loopback" | "scheme";
  /** The host in ASCII, with its port unless it is the default port. For `scheme`, the scheme, such as `cursor:`. */
  readonly host: string;
}

/**
 * Returns the destination of a redirect URI. Returns undefined if it must not be used: over plain HTTP, others could read the code
 * on its way to another machine, and some schemes do not lead to an app.
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

/** Returns the host that publishes the metadata of a client. Returns undefined if the client id is not a URL. */
export function findPublisher(clientId: string): string | undefined {
  return clientId.startsWith("https://") && URL.canParse(clientId) ? new URL(clientId).host : undefined;
}

/** Characters of other scripts, digits and symbols that look like a Latin letter, each followed by that letter. */
const ALIKE = new Map(
  "аa еe оo рp сc уy хx іi јj ѕs ԁd һh ӏl бb кk мm нh тt вb αa οo νv ιi κk ρp τt υu βb εe ζz ηn μm χx γy ωw ϲc ϳj 0o 1l |l"
    .split(" ")
    .map(([alike = "", letter = ""]) => [alike, letter] as const),
);

/** Returns a form of a name that is equal for names that look alike (a skeleton). */
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
  /** The redirect URI of the grant. */
  readonly redirectUri: string;
}

/**
 * Returns the host of an allowed client whose name looks the same but whose redirect URI has another host. The consent page then
 * warns the user.
 */
export function findLookAlike(
  client: ShownClient,
  redirectUri: string,
  allowed: readonly ApprovedClient[],
): string | undefined {
  const own = toSkeleton(client.name ?? "");
  const place = toPlace(redirectUri);
  const others = allowed.filter(({ id, name }) => own !== "" && id !== client.id && toSkeleton(name ?? "") === own);
  // A client that has registered itself again has another id but the same host.
  if (others.some((other) => toPlace(other.redirectUri) === place)) return undefined;
  return others.map((other) => findDestination(other.redirectUri)?.host).find((host) => host !== undefined);
}

/** Returns the part of a redirect URI that identifies the client. Programs on this computer can use any port. */
function toPlace(redirectUri: string): string | undefined {
  const destination = findDestination(redirectUri);
  return destination?.kind === "loopback" ? "loopback" : destination?.host;
}

/** The minimum length of the name of a service that is searched for in the names of clients. */
const SERVICE_MIN = 4;

/** Returns whether the name of a client seems to contain the name of the service. */
export function isImitation(client: ShownClient, service: string): boolean {
  const own = toSkeleton(service);
  return client.isVerified !== true && own.length >= SERVICE_MIN && toSkeleton(client.name ?? "").includes(own);
}
