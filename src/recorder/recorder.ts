/**
 * The recorder. It assembles entries from the exchanges that a proxy observes and the events of the tail Worker, and stores them.
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

export interface RecorderOptions {
  /** Whether arguments, results and log lines are recorded without redaction. */
  readonly contents: boolean;
  /** The path of the endpoint. */
  readonly endpointPath: string;
  /** Returns a keyed hash of at least 16 hexadecimal digits. */
  readonly hash: (text: string) => string;
  /** The name of the Worker, if several run in the same process. */
  readonly workerName?: string;
  /** Returns a stack with positions in the source. @default returns the stack unchanged */
  readonly mapStack?: (stack: string) => string;
  readonly limits?: Partial<StoreLimits>;
  /**
   * Whether a proxy adds exchange ids to requests. Without a proxy, exchange ids and the paths of the recorder are not trusted,
   * because a client could use them to avoid being recorded. @default true
   */
  readonly isProxied?: boolean;
  /** The id of the last entry of an earlier recorder, whose numbering this recorder continues. @default 0 */
  readonly lastId?: number;
  /** The thresholds of findings. @default THRESHOLDS */
  readonly thresholds?: Partial<Thresholds>;
  /** Returns the JSON Pointer of a value that violates a JSON Schema. @default results are not checked */
  readonly checkOutput?: (schema: unknown, value: unknown) => string | undefined;
}

export interface BeginOptions {
  /** The id that the proxy adds to the request to the Worker. */
  readonly exchangeId?: string;
  /** Whether the exchange is read, because it describes the server, but is not shown. */
  readonly isHidden?: boolean;
}

/** Called when an entry has changed. */
export type ChangeListener = (entry: LiveEntry) => void;

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
  /** The entries of exchanges, by the id that the proxy adds to the request. */
  readonly #exchanges: BoundedMap<LiveEntry> = new BoundedMap(LINKS_MAX);

  constructor(options: RecorderOptions) {
    this.redactor = new Redactor(options.contents);
    this.#isProxied = options.isProxied ?? true;
    this.#store = new EntryStore((entry) => this.#traces.remove(entry), options.limits, options.lastId);
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

  /** Reads a batch of events of the tail Worker. */
  takeTail(events: readonly TailEvent[]): void {
    for (const event of events) this.#traces.take(event);
  }

  /** Ends all running invocations, because workerd has exited. */
  runtimeEnded(atMs: number): void {
    this.#traces.endAll(atMs, "killed");
  }

  /** Marks an object as not in memory, because it was evicted or aborted. */
  objectLeft(objectId: string): void {
    const activity = this.#traces.objects.get(objectId);
    if (activity) Object.assign(activity, { open: 0, lastAtMs: 0 });
  }

  /** Returns the summaries of entries with a `seq` above a number, oldest first. */
  summaries(after = 0): Summary[] {
    return [...this.#store.all()].filter(({ seq }) => seq > after).map((entry) => this.summarize(entry));
  }

  /** Returns the summary of an entry. Secrets that became known after it was recorded are redacted too. */
  summarize(entry: LiveEntry): Summary {
    const summary = entry.toSummary();
    const { target, outcomeText } = summary;
    return {
      ...summary,
      ...(target === undefined ? {} : { target: this.redactor.redactAgain(target) }),
      ...(outcomeText === undefined ? {} : { outcomeText: this.redactor.redactAgain(outcomeText) }),
    };
  }

  entry(id: string): Entry | undefined {
    const found = this.#store.get(id);
    return found && this.#show(found);
  }

  /** Returns all entries, oldest first. */
  *entries(): IterableIterator<Entry> {
    for (const entry of this.#store.all()) yield this.#show(entry);
  }

  #show(entry: LiveEntry): Entry {
    return this.redactor.redactAgain(entry.toEntry((objectId) => this.roles.get(objectId)));
  }

  /** Returns the recent activity of an object. */
  activityOf(objectId: string): ObjectActivity | undefined {
    return this.#traces.objects.get(objectId);
  }

  /** Returns whether the tail Worker has reported the end of the Worker's invocation for an entry. */
  isSettled(entry: LiveEntry): boolean {
    return this.#traces.isSettled(entry);
  }

  /** Updates the findings immediately. Otherwise, they are updated after a short delay. */
  examine(nowMs: number): void {
    this.#examiner.examine(nowMs);
  }

  /** Adds the entries of a file. Returns their new ids. */
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

  /** Removes all entries. Running exchanges are recorded again from their next event. */
  clear(): void {
    this.#store.clear();
    this.#links.clear();
  }

  /** Calls a function on each change of an entry. Returns a function that removes the listener. */
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
      // If the client sent the header too, the values are joined.
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

  /** Returns the facts in the headers of a modern request. Without a proxy, its message is unknown. */
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

  /** Ends an entry without an exchange when its last invocation ends. */
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
