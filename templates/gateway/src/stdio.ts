/** The gateway over standard input and output, for clients that start it as a process. All state is in memory. */
import { serveStdio } from "mcp-edge/node";
import { announce, server } from "./gateway.ts";
import { HeldCall } from "./held-call.ts";
import { type Kept, UpstreamLists } from "./lists.ts";
import { type GatewayEnv, type ListSource, prefixUri, readUpstreams, tokenFor } from "./upstreams.ts";

const lists = new Map<string, UpstreamLists>();
const calls = new Map<string, HeldCall>();

function findLists({ upstream: name }: ListSource): UpstreamLists {
  const upstream = readUpstreams(process.env).find((each) => each.name === name);
  if (!upstream) throw new Error(`There is no server "${name}".`);
  let kept: Kept | undefined;
  const found =
    lists.get(name) ??
    new UpstreamLists(upstream, () => tokenFor(upstream, process.env, undefined), {
      load: () => kept,
      save: (value) => {
        kept = value;
      },
      changed: announce,
      updated: (uri) => server.resourceUpdated(prefixUri(name, uri)),
    });
  lists.set(name, found);
  return found;
}

const env: GatewayEnv = {
  ...(process.env as Pick<GatewayEnv, "UPSTREAMS">),
  LISTS: {
    getByName: () => ({
      lists: async (source, known) => {
        const listing = await findLists(source).get();
        return listing.version === known ? undefined : JSON.stringify(listing);
      },
      subscribe: (source, uri) => findLists(source).subscribe(uri),
      unsubscribe: (source, uri) => findLists(source).unsubscribe(uri),
    }),
  },
  CALLS: {
    getByName: (id) => {
      const call = calls.get(id) ?? new HeldCall();
      calls.set(id, call);
      const settled = async (outcome: ReturnType<HeldCall["answer"]>) => {
        if (!(await outcome).questions) calls.delete(id);
        return JSON.stringify(await outcome);
      };
      return {
        begin: (text, onProgress) => settled(call.begin(JSON.parse(text), onProgress)),
        answer: (text, onProgress) => settled(call.answer(JSON.parse(text), onProgress)),
        cancel: async () => call.cancel(),
      };
    },
  },
};

await serveStdio(server, { env });
await Promise.all([...lists.values()].map((each) => each.close().catch(() => undefined)));
