/**
 * The protected resource metadata of the server.
 *
 * @module
 * @see RFC 9728; MCP 2026-07-28, basic/authorization
 */
import { discoverIssuer } from "../../../client/oauth/discovery.ts";
import { findObject, type Net, request } from "../../../client/oauth/guard.ts";
import type { JsonObject } from "../../../core/protocol/jsonrpc.ts";
import { PROFILES } from "../../host-profiles/profiles.ts";
import type { Diagnosis } from "./diagnosis.ts";
import { throwIfLimited } from "./exchange.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

const BASE = { step: "sign-in", severity: "breaks", fault: "server" } as const;

/** The metadata, and where it was found. */
export interface FoundMetadata {
  readonly metadata: JsonObject | undefined;
  /** Whether the metadata is at one of the well-known locations. */
  readonly isWellKnown: boolean;
}

/** Reads the metadata at all its locations, and adds what is wrong with the locations. */
export async function findMetadata(
  net: Net,
  announced: string | undefined,
  diagnosis: Diagnosis,
): Promise<FoundMetadata> {
  const { origin, pathname, search } = net.server;
  const path = pathname === "/" ? "" : pathname;
  const root = `${origin}${WELL_KNOWN}`;
  const atPath = path === "" ? undefined : await read(net, `${root}${path}${search}`);
  const atRoot = await read(net, root);
  if (announced !== undefined) {
    if (!URL.canParse(announced)) {
      const what = `resource_metadata in the WWW-Authenticate header is not an absolute URL: ${announced}.`;
      diagnosis.add({ ...BASE, id: "metadata-unreachable", what, fix: "Write the absolute URL of the metadata." });
      return { metadata: atPath ?? atRoot, isWellKnown: true };
    }
    const found = await read(net, announced);
    if (!isSameHost(net.server, announced) && !isSameHost(net.server, found?.resource)) {
      addOtherHost(net.server, announced, diagnosis);
      return { metadata: atPath ?? atRoot, isWellKnown: true };
    }
    if (found) return { metadata: found, isWellKnown: atPath !== undefined || atRoot !== undefined };
    diagnosis.add({
      ...BASE,
      id: "metadata-unreachable",
      what: `The WWW-Authenticate header names the metadata ${announced}, where there is no JSON object.`,
      fix: "Serve the protected resource metadata there, without a token and without a redirect.",
    });
    return { metadata: atPath ?? atRoot, isWellKnown: atPath !== undefined || atRoot !== undefined };
  }
  const rootReaders = PROFILES.filter(({ readsRootMetadata }) => readsRootMetadata?.value);
  if (atPath && !atRoot) {
    diagnosis.add({
      ...BASE,
      id: "metadata-root",
      severity: "degrades",
      hosts: rootReaders.map(({ name }) => name),
      what: `The metadata is only at the path of the endpoint, and neither announced nor at ${root}.`,
      fix: 'Announce it in the WWW-Authenticate header: Bearer resource_metadata="...".',
    });
  }
  if (!atPath && !atRoot) await addMissing(net, diagnosis);
  return { metadata: atPath ?? atRoot, isWellKnown: true };
}

async function read(net: Net, place: string): Promise<JsonObject | undefined> {
  try {
    const response = await request(net, "The metadata of the MCP server", place);
    return response.ok ? await findObject(response) : undefined;
  } catch (error) {
    throwIfLimited(error);
    // An address that cannot be requested has no metadata. The caller reports that.
    return undefined;
  }
}

/** Whether an address is on the server that the user entered. */
function isSameHost({ protocol, host }: URL, address: unknown): boolean {
  if (typeof address !== "string" || !URL.canParse(address)) return false;
  const url = new URL(address);
  return url.protocol === protocol && url.host === host;
}

/** Adds that the metadata is elsewhere, and is not about the URL that the user entered. Metadata elsewhere about this URL is correct. */
function addOtherHost(server: URL, announced: string, diagnosis: Diagnosis): void {
  diagnosis.add({
    ...BASE,
    id: "metadata-host",
    fault: "configuration",
    what: `The server was called as ${server.origin}, and announces its metadata at ${new URL(announced).origin}, which has none about this address. A proxy changes the host or ends TLS.`,
    fix: "Let the proxy forward Host and X-Forwarded-Proto, or configure the public URL of the server.",
    ours: oursFor(server),
  });
}

function oursFor(server: URL): string {
  return `Write resource: ${JSON.stringify(withoutHash(server))} in the options of bearer().`;
}

function withoutHash({ origin, pathname, search }: URL): string {
  return origin + pathname + search;
}

async function addMissing(net: Net, diagnosis: Diagnosis): Promise<void> {
  const isOld = await discoverIssuer(net, net.server.origin, false).then(
    () => true,
    (error) => {
      throwIfLimited(error);
      return false;
    },
  );
  diagnosis.add({
    ...BASE,
    id: "metadata-missing",
    severity: isOld ? "degrades" : "breaks",
    what: `There is no protected resource metadata at ${WELL_KNOWN}${isOld ? ", as before 2025-06-18" : ", so clients cannot find out where to sign in"}.`,
    fix: "Serve it, with resource and authorization_servers.",
    ours: "Use bearer() of mcp-edge/worker/auth in the option use of edge(), which serves it.",
  });
}

/** Compares `resource` in the metadata with the URL that the user entered. */
export function checkResource(server: URL, resource: unknown, diagnosis: Diagnosis): void {
  const base = { ...BASE, fault: "configuration", ours: oursFor(server) } as const;
  if (typeof resource !== "string" || !URL.canParse(resource)) {
    const what = "The protected resource metadata has no resource, which must be the URL of the server.";
    diagnosis.add({
      ...base,
      id: "resource-missing",
      what,
      fix: `Write "resource": ${JSON.stringify(server.href)}.`,
    });
    return;
  }
  const found = new URL(resource);
  if (found.href === new URL(withoutHash(server)).href) return;
  const says = `The protected resource metadata is about ${resource}, and the user enters ${server.href}.`;
  if (found.host !== server.host || found.protocol !== server.protocol) {
    const isScheme = found.host === server.host;
    diagnosis.add({
      ...base,
      id: isScheme ? "resource-scheme" : "resource-host",
      what: `${says} ${isScheme ? "A proxy ends TLS, and the server sees http:" : "A proxy changes the host"}. Clients refuse such metadata.`,
      fix: "Let the proxy forward Host and X-Forwarded-Proto, or configure the public URL of the server.",
    });
    return;
  }
  const exact = PROFILES.filter(({ requiresExactResource }) => requiresExactResource?.value);
  const above = found.pathname.replace(/\/$/, "");
  const isAbove = `${server.pathname}/`.startsWith(`${above}/`) && found.search === "";
  const isSlash = above === server.pathname.replace(/\/$/, "");
  diagnosis.add({
    ...base,
    id: "resource-path",
    severity: isSlash ? "degrades" : "breaks",
    hosts: isAbove ? exact.map(({ name }) => name) : undefined,
    what: isAbove ? `${says} The host requires both to be equal.` : `${says} Clients refuse metadata of another path.`,
    fix: `Write the URL that users enter: "resource": ${JSON.stringify(withoutHash(server))}.`,
    ...(isAbove && exact[0]?.requiresExactResource ? { source: exact[0].requiresExactResource.source } : {}),
  });
}
