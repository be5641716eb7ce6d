/**
 * The recorder: makes entries of what a proxy sees on the wire and of what the tail Worker reports, and keeps them.
 *
 * @module
 */
import { RECORDER_PATH } from "./api.ts";
import type { Assembly } from "./assemble/assembly.ts";
import { BoundedMap } from "./assemble/bounded-map.ts";
import { Links } from "./assemble/links.ts";
import { LiveEntry } from "./assemble/live-entry.ts";
import type { LiveInvocation } from "./assemble/live-invocation.ts";
import { type ObjectActivity, TraceAssembler } from "./assemble/trace-assembler.ts";
import type { WireRequest } from "./assemble/wire.ts";
import { WireExchange } from "./assemble/wire-exchange.ts";
import type { Entry, Summary } from "./entry.ts";
import { Examiner } from "./findings/examiner.ts";
import type { Thresholds } from "./findings/thresholds.ts";
import { LINKS_MAX } from "./limits.ts";
import { Redactor } from "./redact/redactor.ts";
import { EntryStore, type StoreLimits } from "./store.ts";
import type { OnsetEvent, TailEvent } from "./tail/tail-event.ts";

/** What a recorder needs of its runtime. */
export interface RecorderOptions {
  /** Whether arguments, results and log lines are recorded as they are. */
  readonly contents: boolean;
  /** The path of the endpoint. */
  readonly endpointPath: string;
  /** Returns a keyed hash of at least 16 hexadecimal digits. */
  readonly hash: (text: string) => string;
  /** The name of the Worker, if it is one of several in the same process. */
  readonly workerName?: string;
  /** Returns a stack with places in the source. @default the stack as it is */
  readonly mapStack?: (stack: string) => string;
  readonly limits?: Partial<StoreLimits>;
  /**
   * Whether a proxy adds the ids of exchanges to requests. Without one, anyone could send such an id, or call a path of the
   * recorder, in order not to be recorded. @default true
   */
  readonly isProxied?: boolean;
  /** The id of the last entry of an earlier recorder, which this one continues. @default 0 */
  readonly lastId?: number;
  /** What is taken for a fault. @default THRESHOLDS */
  readonly thresholds?: Partial<Thresholds>;
  /** Returns the place at which a value does not fit a JSON Schema. @default nothing is checked */
  readonly checkOutput?: (schema: unknown, value: unknown) => string | undefined;
}

/** How an exchange is recorded. */
export interface BeginOptions {
  /** The id that the request carries to the Worker. */
  readonly exchangeId?: string;
  /** Whether it is read, for what it says about the server, but not shown. */
  readonly isHidden?: boolean;
}

/** Is called when entries have changed. */
export type ChangeListener = (entry: LiveEntry) => void;

/** Records exchanges. */
export class Recorder {
  readonly redactor: Redactor;
  /** The roles of objects, by their ids. */
  readonly roles: BoundedMap<string> = new BoundedMap(LINKS_MAX);
  readonly #store: EntryStore;
  readonly #isProxied: boolean;
  readonly #traces: TraceAssembler;
  readonly #assembly: Assembly;
  readonly #examiner: Examiner;
  readonly #links = new Links();
  readonly #listeners = new Set<ChangeListener>();
  /** Exchanges by the id that the proxy adds to their requests. */
  readonly #exchanges: BoundedMap<LiveEntry> = new BoundedMap(LINKS_MAX);

  constructor(options: RecorderOptions) {
    this.redactor = new Redactor(options.contents);
    this.#isProxied = options.isProxied ?? true;
    this.#store = new EntryStore((entry) => this.#traces.forget(entry), options.limits, options.lastId);
    this.#assembly = this.#createAssembly(options);
    this.#examiner = new Examiner({
      redactor: this.redactor,
      thresholds: options.thresholds,
      find: (id) => this.#store.get(id),
      changed: (entry) => this.#changed(entry),
    });
    this.#traces = new TraceAssembler(this.#assembly);
  }

  /** The name and version of the server, once a response has contained them. */
  server: { readonly name: string; readonly version: string } | undefined;

  /** The number of entries, and their size in characters. */
  get size(): { readonly entries: number; readonly characters: number } {
    return { entries: this.#store.size, characters: this.#store.characters };
  }

  /** Begins an exchange. */
  begin(request: WireRequest, { exchangeId, isHidden = false }: BeginOptions = {}): WireExchange {
    const entry = new LiveEntry(isHidden ? "" : this.#store.nextId(), request.atMs, kindOf(request));
    if (exchangeId !== undefined) this.#exchanges.set(exchangeId, entry);
    if (!isHidden) {
      this.#store.add(entry);
      this.#examiner.begun(entry);
    }
    return new WireExchange(entry, request, this.#assembly);
  }

  /** Reads a batch of the tail Worker. */
  takeTail(events: readonly TailEvent[]): void {
    for (const event of events) this.#traces.take(event);
  }

  /** Ends all invocations, because the process that ran them has ended. */
  runtimeEnded(atMs: number): void {
    this.#traces.endAll(atMs, "killed");
  }

  /** An object has left the memory, because it was evicted or aborted. */
  objectLeft(objectId: string): void {
    const activity = this.#traces.objects.get(objectId);
    if (activity) Object.assign(activity, { open: 0, lastAtMs: 0 });
  }

  /** Returns the summaries of entries that have changed since a number, the oldest entries first. */
  summaries(after = 0): Summary[] {
    return [...this.#store.all()].filter(({ seq }) => seq > after).map((entry) => this.summarize(entry));
  }

  /** Returns the summary of an entry, without secrets that became known later. */
  summarize(entry: LiveEntry): Summary {
    const summary = entry.toSummary();
    const { target, outcomeText } = summary;
    return {
      ...summary,
      ...(target === undefined ? {} : { target: this.redactor.again(target) }),
      ...(outcomeText === undefined ? {} : { outcomeText: this.redactor.again(outcomeText) }),
    };
  }

  entry(id: string): Entry | undefined {
    const found = this.#store.get(id);
    return found && this.#show(found);
  }

  /** All entries, the oldest first. */
  *entries(): IterableIterator<Entry> {
    for (const entry of this.#store.all()) yield this.#show(entry);
  }

  #show(entry: LiveEntry): Entry {
    return this.redactor.again(entry.toEntry((objectId) => this.roles.get(objectId)));
  }

  /** What is known of the activity of an object. */
  activityOf(objectId: string): ObjectActivity | undefined {
    return this.#traces.objects.get(objectId);
  }

  /** Whether the tail has reported the end of the Worker's work for an entry. */
  isSettled(entry: LiveEntry): boolean {
    return this.#traces.isSettled(entry);
  }

  /** Looks for findings now, and not a moment later. */
  examine(nowMs: number): void {
    this.#examiner.examine(nowMs);
  }

  /** Adds entries of a file. They get new ids. Returns the ids. */
  import(entries: readonly Entry[]): string[] {
    const ids = new Map(entries.map(({ id }) => [id, this.#store.nextId()]));
    for (const entry of entries) {
      const live = new LiveEntry(ids.get(entry.id) ?? this.#store.nextId(), entry.startedAtMs, entry.kind);
      const related = entry.related.flatMap(({ id, why }) => {
        const found = ids.get(id);
        return found === undefined ? [] : [{ id: found, why }];
      });
      live.imported = { ...entry, id: live.id, related };
      live.characters = JSON.stringify(entry).length;
      this.#store.add(live);
      this.#changed(live);
    }
    return [...ids.values()];
  }

  /** Removes all entries. Exchanges that are running are recorded again from their next event on. */
  clear(): void {
    this.#store.clear();
    this.#links.clear();
  }

  /** Calls a function for each change of an entry. Returns the function that ends it. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #createAssembly(options: RecorderOptions): Assembly {
    return {
      redactor: this.redactor,
      links: this.#links,
      roles: this.roles,
      endpointPath: options.endpointPath,
      workerName: options.workerName,
      hash: options.hash,
      mapStack: options.mapStack ?? ((stack) => stack),
      find: (id) => this.#store.get(id),
      touch: (entry) => this.#changed(entry),
      related: (entry) => {
        this.#examiner.changed(entry);
        this.#changed(entry);
      },
      grow: (entry, characters) => this.#store.grow(entry, characters),
      entryOfTrace: (onset, atMs) => this.#entryOfTrace(onset, atMs),
      markAsControl: (entry) => {
        entry.isControl = true;
        entry.kind = "alarm";
        entry.counts.objectRequests = 0;
      },
      invocationEnded: (entry, invocation) => this.#invocationEnded(entry, invocation),
      exchangeEnded: (entry) => {
        if (entry.id !== "") this.#examiner.ended(entry);
        this.#changed(entry);
      },
      checkOutput: options.checkOutput ?? (() => undefined),
      introduced: (server) => {
        this.server = server;
      },
    };
  }

  #entryOfTrace(onset: OnsetEvent, atMs: number): LiveEntry | undefined {
    const { exchange, cause, method, url } = onset;
    if (exchange !== undefined && this.#isProxied) {
      // If the client has sent the header too, the values are joined.
      const ids = exchange.split(/,\s*/).map((id) => this.#exchanges.get(id));
      return ids.find((found) => found !== undefined);
    }
    const path = pathOf(url ?? "");
    const isControl = this.#isProxied && path.startsWith(RECORDER_PATH);
    const kind = cause === "alarm" || cause === "scheduled" ? cause : "other";
    const entry = new LiveEntry(this.#store.nextId(), atMs, onset.message ? "request" : kind);
    entry.isControl = isControl;
    if (cause === "fetch" && !onset.isObject && !isControl) {
      const http = { method: method ?? "GET", path: this.redactor.path(path) };
      entry.facts = { http, ...this.#toFacts(onset.message) };
    }
    this.#store.add(entry);
    return entry;
  }

  /** Returns what the headers of a modern request say about its message, which no proxy has seen. */
  #toFacts(message: OnsetEvent["message"]): LiveEntry["facts"] {
    if (!message) return {};
    const { method, name, version } = message;
    const shown = (target: string) => (target.includes(":") ? this.redactor.uri(target) : this.redactor.name(target));
    return {
      method: this.redactor.name(method),
      ...(name === undefined ? {} : { target: shown(name) }),
      ...(version === undefined ? {} : { version: this.redactor.name(version) }),
      era: "modern",
    };
  }

  /** An entry without an exchange ends with its last invocation. */
  #invocationEnded(entry: LiveEntry, { onset, outcome, endedAtMs, status }: LiveInvocation): void {
    if (entry.id !== "") this.#examiner.changed(entry);
    if (this.#isOfExchange(entry)) return;
    if (entry.invocations.some((each) => each.endedAtMs === undefined)) return;
    if (entry.isControl && entry.counts.alarmsRun === 0) {
      this.#store.remove(entry);
      return;
    }
    entry.ms = Math.max(0, (endedAtMs ?? entry.startedAtMs) - entry.startedAtMs);
    entry.outcome = outcome === "ok" && !entry.marks.has("exception") ? "ok" : "error";
    if (outcome !== "ok" && outcome !== undefined) entry.outcomeText = outcome;
    const { http } = entry.facts;
    if (http && status !== undefined && !onset.isObject) entry.facts = { ...entry.facts, http: { ...http, status } };
    this.#changed(entry);
  }

  #isOfExchange(entry: LiveEntry): boolean {
    return entry.requestHeaders !== undefined;
  }

  #changed(entry: LiveEntry): void {
    if (entry.id === "") return;
    this.#store.touch(entry);
    for (const listener of this.#listeners) listener(entry);
  }
}

/** Returns the kind of an exchange before its body is known. */
function kindOf({ method, headers }: WireRequest): LiveEntry["kind"] {
  if (method === "DELETE") return "delete";
  if (method === "POST") return "request";
  const accept = headers.find(([name]) => name.toLowerCase() === "accept")?.[1] ?? "";
  if (method !== "GET") return "other";
  if (accept.includes("text/event-stream")) return "stream";
  return accept.includes("text/html") || accept.includes("text/plain") ? "page" : "other";
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : url;
}
