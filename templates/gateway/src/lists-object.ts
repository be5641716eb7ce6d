/**
 * Stores the lists of one server in a Durable Object, which listens for changes. While the gateway is in use, an alarm runs regularly,
 * because the platform may end the object and its connection at any time.
 */
import { DurableObject } from "cloudflare:workers";
import { announce, server } from "./gateway.ts";
import { type Kept, UpstreamLists } from "./lists.ts";
import { type ListSource, prefixUri, readUpstreams, tokenFor } from "./upstreams.ts";

const WATCH_MS = 5 * 60_000;
/** The number of alarms without a request after which the object stops listening. */
const IDLE_ALARMS_MAX = 12;

export class ListsObject extends DurableObject<Env> {
  #lists: UpstreamLists | undefined;
  #isUsed = false;

  // Only these methods can be called over RPC.
  async lists(source: ListSource, known?: string): Promise<string | undefined> {
    const listing = await (await this.#use(source)).get();
    return listing.version === known ? undefined : JSON.stringify(listing);
  }
  async subscribe(source: ListSource, uri: string): Promise<void> {
    await (await this.#use(source)).subscribe(uri);
  }
  async unsubscribe(source: ListSource, uri: string): Promise<void> {
    await (await this.#use(source)).unsubscribe(uri);
  }

  override async alarm(): Promise<void> {
    const { kv } = this.ctx.storage;
    const source = kv.get<ListSource>("source");
    const idle = this.#isUsed ? 0 : (kv.get<number>("idle") ?? 0) + 1;
    this.#isUsed = false;
    if (!source || idle > IDLE_ALARMS_MAX) {
      await this.#lists?.close();
      this.#lists = undefined;
      return this.ctx.storage.deleteAll();
    }
    kv.put("idle", idle);
    await this.ctx.storage.setAlarm(Date.now() + WATCH_MS);
    // If the object was ended meanwhile, this reads the lists again, and notifies the clients of changes.
    await this.#open(source)?.get();
  }

  async #use(source: ListSource): Promise<UpstreamLists> {
    this.#isUsed = true;
    const lists = this.#lists ?? this.#open(source);
    if (!lists) throw new Error(`There is no server "${source.upstream}".`);
    if ((await this.ctx.storage.getAlarm()) === null) {
      this.ctx.storage.kv.put("source", source);
      await this.ctx.storage.setAlarm(Date.now() + WATCH_MS);
    }
    return lists;
  }

  #open(source: ListSource): UpstreamLists | undefined {
    const { kv } = this.ctx.storage;
    const upstream = readUpstreams(this.env).find(({ name }) => name === source.upstream);
    if (!upstream) return undefined;
    this.#lists ??= new UpstreamLists(upstream, () => tokenFor(upstream, this.env, source.subject), {
      load: () => kv.get<Kept>("kept"),
      save: (kept) => kv.put("kept", kept),
      changed: announce,
      updated: (uri) => server.resourceUpdated(prefixUri(upstream.name, uri)),
    });
    return this.#lists;
  }
}
