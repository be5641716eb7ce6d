/** The gateway: a server that combines other servers. index.ts serves it as a Worker, stdio.ts on a desktop. */
import { type Definition, McpServer } from "mcp-edge";
import { createDefinitions, readResource } from "./definitions.ts";
import type { Listing } from "./lists.ts";
import {
  chooseSource,
  findLists,
  type GatewayEnv,
  prefixUri,
  readUpstreams,
  splitUri,
  type Upstream,
} from "./upstreams.ts";

export const server = new McpServer<GatewayEnv>({
  name: "gateway",
  title: "Gateway",
  version: "1.0.0",
  instructions:
    "Offers the tools, prompts and resources of several servers. Names begin with the name of the server: server__tool. If something is missing, call gateway_status.",
  // The servers may have these capabilities, although the gateway itself does not.
  capabilities: { prompts: { listChanged: true }, completions: {} },
  definitions: async ({ env, principal }) => {
    const known = await Promise.all(readUpstreams(env).map((upstream) => lookUp(upstream, env, principal?.subject)));
    return known.flatMap(({ definitions }) => definitions);
  },
  onSubscribe: async (uri, { env, principal }) => {
    const found = splitUri(readUpstreams(env), uri);
    if (!found) return false;
    const source = chooseSource(found.upstream, principal?.subject);
    return findLists(env, source)
      .subscribe(source, found.own)
      .then(() => true)
      .catch(() => false);
  },
  onUnsubscribe: async (uri, { env, principal }) => {
    const found = splitUri(readUpstreams(env), uri);
    if (!found) return;
    const source = chooseSource(found.upstream, principal?.subject);
    await findLists(env, source).unsubscribe(source, found.own);
  },
});

server.tool(
  "gateway_status",
  {
    title: "Status of the gateway",
    description: "Show the servers behind this gateway, what they offer, and which of them fail",
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  async (_, ctx) => {
    const upstreams = readUpstreams(ctx.env);
    const known = await Promise.all(upstreams.map((upstream) => lookUp(upstream, ctx.env, ctx.auth?.subject)));
    return known.map(({ upstream, listing }) => describe(upstream, listing)).join("\n");
  },
);

server.resourceProvider({
  list: async (ctx) => {
    const upstreams = readUpstreams(ctx.env);
    const known = await Promise.all(upstreams.map((upstream) => lookUp(upstream, ctx.env, ctx.auth?.subject)));
    return known.flatMap(({ upstream, listing }) =>
      listing.resources.map((resource) => ({ ...resource, uri: prefixUri(upstream.name, resource.uri) })),
    );
  },
  read: async (uri, ctx) => {
    const found = splitUri(readUpstreams(ctx.env), uri);
    if (!found) return undefined;
    const { listing } = await lookUp(found.upstream, ctx.env, ctx.auth?.subject);
    return readResource(found.upstream, listing.server, found.own, ctx);
  },
});

/** Notifies the clients of the gateway that a list of a server has changed. */
export function announce(list: "tools" | "prompts" | "resources"): void {
  if (list === "tools") server.toolsChanged();
  else if (list === "prompts") server.promptsChanged();
  else server.resourcesChanged();
}

interface Known {
  readonly upstream: Upstream;
  readonly listing: Listing;
  readonly definitions: readonly Definition<GatewayEnv>[];
}

/** What this process knows about each server. Definitions are compiled once for each version of the lists. */
const knowledge = new Map<string, Known>();
const KNOWN_MAX = 1_000;

/** Returns what is known about a server. The object that stores its lists reports whether they have changed. */
async function lookUp(upstream: Upstream, env: GatewayEnv, subject: string | undefined): Promise<Known> {
  const source = chooseSource(upstream, subject);
  const key = JSON.stringify([upstream.url, source]);
  const before = knowledge.get(key);
  const text = await findLists(env, source).lists(source, before?.listing.version);
  if (text === undefined && before) return before;
  const listing = JSON.parse(text ?? "{}") as Listing;
  const known = { upstream, listing, definitions: createDefinitions(upstream, listing) };
  if (knowledge.size >= KNOWN_MAX) knowledge.clear();
  knowledge.set(key, known);
  return known;
}

function describe(
  { name }: Upstream,
  { server: facts, failure, tools, prompts, resources, templates }: Listing,
): string {
  const version = facts
    ? `, ${facts.info?.name ?? "unnamed"} ${facts.info?.version ?? ""}, MCP ${facts.protocolVersion}`
    : "";
  const counts = `${tools.length} tools, ${prompts.length} prompts, ${resources.length} resources, ${templates.length} templates`;
  return `${name}: ${failure ?? "works"}${failure ? "" : "."}${version} ${counts}`;
}
