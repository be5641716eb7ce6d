/** The lists of one server behind the gateway. They are stored, and read again when the server reports changes. */
import type { Client, Prompt, Resource, ResourceTemplate, ServerFacts, Tool } from "mcp-edge/client";
import { describeFailure, open } from "./connection.ts";
import type { Upstream } from "./upstreams.ts";

export interface Lists {
  readonly tools: readonly Tool[];
  readonly prompts: readonly Prompt[];
  readonly resources: readonly Resource[];
  readonly templates: readonly ResourceTemplate[];
}

/** What is known about a server. */
export interface Listing extends Lists {
  /** An id of this state of the lists. It changes whenever the lists change. */
  readonly version: string;
  /** Undefined until the server was reached for the first time. */
  readonly server?: ServerFacts | undefined;
  /** Why the server cannot be used at the moment. The lists are then the last known ones. */
  readonly failure?: string | undefined;
}

/** The stored state: the lists, and the number of subscribers of each subscribed resource. */
export interface Kept {
  readonly listing: Listing;
  readonly uris: Readonly<Record<string, number>>;
}

/** The environment of the lists in the gateway. */
export interface ListsPlace {
  load(): Kept | undefined;
  save(kept: Kept): void;
  /** Notifies the clients of the gateway that a list has changed. */
  changed(list: "tools" | "prompts" | "resources"): void;
  updated(uri: string): void;
}

/** The time limit of requests, in milliseconds. A server that does not respond must not delay the other servers. */
const TIMEOUT_MS = 5_000;
/** How long to wait before trying a failed server again, in milliseconds. */
const RETRY_MS = 10_000;
/** How long lists are used before they are read again, in milliseconds. Not every server reports changes. */
const MAX_AGE_MS = 5 * 60_000;

const EMPTY: Lists = { tools: [], prompts: [], resources: [], templates: [] };

export class UpstreamLists {
  readonly #upstream: Upstream;
  readonly #token: () => string | undefined;
  readonly #place: ListsPlace;
  #kept: Kept;
  #client: Client | undefined;
  /** The current or last attempt to read the lists. */
  #reading: Promise<void> | undefined;
  /** When the lists must be read again, in milliseconds since 1970. */
  #dueAtMs = 0;

  constructor(upstream: Upstream, token: () => string | undefined, place: ListsPlace) {
    this.#upstream = upstream;
    this.#token = token;
    this.#place = place;
    this.#kept = place.load() ?? { listing: { ...EMPTY, version: "" }, uris: {} };
  }

  /** Returns the lists. Reads them first if they are unknown or too old. Never rejects. */
  async get(): Promise<Listing> {
    if (Date.now() >= this.#dueAtMs) this.#readAgain();
    await this.#reading;
    return this.#kept.listing;
  }

  /** Subscribes to a resource. @throws {Error} if the server cannot be reached or does not support subscriptions. */
  async subscribe(uri: string): Promise<void> {
    await this.get();
    const { [uri]: count = 0 } = this.#kept.uris;
    if (count === 0) await this.#client?.subscribe(uri);
    this.#keep({ uris: { ...this.#kept.uris, [uri]: count + 1 } });
  }

  async unsubscribe(uri: string): Promise<void> {
    const { [uri]: count = 0, ...others } = this.#kept.uris;
    this.#keep({ uris: count > 1 ? { ...others, [uri]: count - 1 } : others });
    if (count === 1) await this.#client?.unsubscribe(uri);
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    this.#dueAtMs = 0;
    await client?.close();
  }

  #drop(): void {
    void this.#client?.close().catch(() => undefined);
    this.#client = undefined;
  }

  #readAgain(): void {
    this.#dueAtMs = Date.now() + MAX_AGE_MS;
    this.#reading = (this.#reading ?? Promise.resolve()).then(() => this.#read());
  }

  async #read(): Promise<void> {
    try {
      const client = this.#client ?? (await this.#connect());
      this.#client = client;
      const lists = await readLists(client);
      this.#take(lists, { server: client.server, failure: undefined });
    } catch (error) {
      const { message } = describeFailure(this.#upstream, error);
      console.warn(`gateway: ${message}`, error);
      this.#dueAtMs = Date.now() + RETRY_MS;
      this.#drop();
      this.#take(this.#kept.listing, { server: this.#kept.listing.server, failure: message });
    }
  }

  async #connect(): Promise<Client> {
    const reread = () => this.#readAgain();
    const client = await open(this.#upstream, this.#token(), {
      timeoutMs: TIMEOUT_MS,
      totalTimeoutMs: TIMEOUT_MS * 2,
      probeTimeoutMs: TIMEOUT_MS,
      onToolsChanged: reread,
      onPromptsChanged: reread,
      onResourcesChanged: reread,
      onResourceUpdated: (uri) => this.#place.updated(uri),
      onEvent: ({ type }) => {
        // The client has lost its stream of changes or the connection. Later requests open a new one.
        if (type !== "closed" && type !== "stream-lost") return;
        this.#dueAtMs = Math.min(this.#dueAtMs, Date.now() + RETRY_MS);
        this.#drop();
      },
    });
    // The server may have lost the subscriptions, and resources may no longer exist.
    for (const uri of Object.keys(this.#kept.uris)) await client.subscribe(uri).catch(() => undefined);
    return client;
  }

  /** Stores the lists, and notifies the clients of the gateway of changes. */
  #take(lists: Lists, about: Pick<Listing, "server" | "failure">): void {
    const before = this.#kept.listing;
    const differs = (list: keyof Lists) => JSON.stringify(before[list]) !== JSON.stringify(lists[list]);
    const changed = {
      tools: differs("tools"),
      prompts: differs("prompts"),
      resources: differs("resources") || differs("templates"),
    };
    const isSame =
      !Object.values(changed).includes(true) && JSON.stringify(before.failure) === JSON.stringify(about.failure);
    if (isSame && before.version !== "" && before.server?.protocolVersion === about.server?.protocolVersion) return;
    const { tools, prompts, resources, templates } = lists;
    this.#keep({ listing: { tools, prompts, resources, templates, ...about, version: crypto.randomUUID() } });
    for (const list of ["tools", "prompts", "resources"] as const) if (changed[list]) this.#place.changed(list);
  }

  #keep(changes: Partial<Kept>): void {
    this.#kept = { ...this.#kept, ...changes };
    this.#place.save(this.#kept);
  }
}

async function readLists(client: Client): Promise<Lists> {
  const { capabilities } = client.server;
  const options = { fresh: true };
  const [tools, prompts, resources, templates] = await Promise.all([
    capabilities.tools ? client.tools(options).all() : [],
    capabilities.prompts ? client.prompts(options).all() : [],
    capabilities.resources ? client.resources(options).all() : [],
    // Servers with resources do not need to have templates, and some return an error.
    capabilities.resources
      ? client
          .resourceTemplates(options)
          .all()
          .catch(() => [])
      : [],
  ]);
  return { tools, prompts, resources, templates };
}
