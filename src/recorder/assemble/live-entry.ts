/**
 * An entry while it is being recorded.
 *
 * @module
 */
import type {
  Counts,
  Entry,
  EntryKind,
  EntryOutcome,
  Finding,
  Header,
  Mark,
  RecordedMessage,
  Related,
  Summary,
} from "../entry.ts";
import { dollarsPerMillion } from "../price.ts";
import type { LiveInvocation } from "./live-invocation.ts";

/** The members of a summary that are read from the exchange. */
export interface EntryFacts {
  http?: { readonly method: string; readonly path: string; readonly status?: number };
  client?: { readonly name: string; readonly version: string };
  version?: string;
  era?: "legacy" | "modern";
  method?: string;
  target?: string;
  principal?: string;
  session?: string;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** The estimated size of an entry without its messages and invocations, in characters of JSON. */
const OWN_CHARACTERS = 600;

/** An entry that can still change. */
export class LiveEntry {
  readonly id: string;
  readonly startedAtMs: number;
  kind: EntryKind;
  seq = 0;
  ms: number | undefined;
  outcome: EntryOutcome = "running";
  outcomeText: string | undefined;
  facts: EntryFacts = {};
  readonly counts: Mutable<Counts> = {
    objectRequests: 0,
    messages: 0,
    rowsRead: 0,
    rowsWritten: 0,
    alarmsSet: 0,
    alarmsRun: 0,
    wakeUps: 0,
  };
  readonly marks: Set<Mark> = new Set();
  requestHeaders: readonly Header[] | undefined;
  requestBody: unknown;
  responseHeaders: readonly Header[] | undefined;
  readonly messages: RecordedMessage[] = [];
  readonly invocations: LiveInvocation[] = [];
  readonly related: Related[] = [];
  findings: readonly Finding[] = [];
  readonly omitted: { messages: number; spans: number; logs: number } = { messages: 0, spans: 0, logs: 0 };
  /** The estimated size of the entry, in characters of JSON. */
  characters: number = OWN_CHARACTERS;
  /** The questions that the server asked. A key is a hash of the question. */
  readonly questions: { readonly key: string; readonly method: string }[] = [];
  /** The id of the entry whose sealed state this request repeats. */
  continues: string | undefined;
  /** Claims of the access token. They are not verified. */
  token: { readonly audiences: readonly string[]; readonly isExpired: boolean } | undefined;
  /** The audiences that identify this endpoint: its origin and its URL, each with http and https. */
  endpoint: readonly string[] = [];
  /** How long `Retry-After` asked the caller to wait, and how long it waited. Set if it came back too early. */
  early: { readonly retryAfterMs: number; readonly waitedMs: number } | undefined;
  /** The number of sessions that the client has opened. Set if it opens one for each call. */
  sessionsOpened: number | undefined;
  /** The JSON Pointer of the value in the result that violates the output schema. */
  outputProblem: string | undefined;
  /** The ids of earlier entries for alarms of the same object. */
  alarmsBefore: readonly string[] = [];
  /** Whether the entry is work of the test harness. It is hidden unless the harness ran an alarm. */
  isControl = false;
  /** The entry as it was imported. Imported entries are complete and have no live invocations. */
  imported: Entry | undefined;
  /** The ids of its traces, which are removed with the entry. */
  readonly traces: Set<string> = new Set();
  /** The number of spans and log lines that are stored. */
  spans = 0;
  logs = 0;

  constructor(id: string, startedAtMs: number, kind: EntryKind) {
    this.id = id;
    this.startedAtMs = startedAtMs;
    this.kind = kind;
  }

  /** The price of a million of these exchanges, in US dollars. */
  get dollarsPerMillion(): number {
    const { objectRequests, messages, alarmsRun, rowsRead, rowsWritten } = this.counts;
    const workerRequests = this.facts.http ? 1 : 0;
    return dollarsPerMillion({
      workerRequests,
      requests: objectRequests,
      messages,
      alarms: alarmsRun,
      rowsRead,
      rowsWritten,
    });
  }

  addRelated(id: string, why: Related["why"]): void {
    if (id === this.id || this.related.some((each) => each.id === id && each.why === why)) return;
    if (this.related.length < RELATED_MAX) this.related.push({ id, why });
  }

  toSummary(): Summary {
    const { id, seq, startedAtMs, ms, kind, outcome, outcomeText, facts } = this;
    if (this.imported) return { ...summaryOf(this.imported), id, seq };
    return {
      id,
      seq,
      startedAtMs,
      ...(ms === undefined ? {} : { ms }),
      kind,
      ...facts,
      outcome,
      ...(outcomeText === undefined ? {} : { outcomeText }),
      counts: { ...this.counts },
      dollarsPerMillion: this.dollarsPerMillion,
      marks: [...this.marks],
    };
  }

  /** @param roleOf Returns the role of an object, which may become known only after its invocation. */
  toEntry(roleOf: (objectId: string) => string | undefined): Entry {
    const { id, seq, requestHeaders, requestBody, responseHeaders, omitted } = this;
    if (this.imported) return { ...this.imported, id, seq };
    const isBounded = omitted.messages + omitted.spans + omitted.logs > 0;
    const body = requestBody === undefined ? {} : { body: requestBody };
    return {
      ...this.toSummary(),
      ...(requestHeaders ? { request: { headers: requestHeaders, ...body } } : {}),
      ...(responseHeaders ? { response: { headers: responseHeaders } } : {}),
      messages: this.messages,
      invocations: this.invocations.map((each) => {
        const { objectId } = each.onset;
        return each.toInvocation(each.role ?? (objectId === undefined ? undefined : roleOf(objectId)));
      }),
      related: this.related,
      findings: this.findings,
      ...(isBounded ? { omitted: { ...omitted } } : {}),
    };
  }
}

/** The maximum number of related entries of an entry. */
const RELATED_MAX = 100;

/** Returns the summary of an entry. */
export function summaryOf(entry: Entry): Summary {
  const { request: _, response: __, messages: ___, invocations: ____, related, findings, omitted, ...summary } = entry;
  return summary;
}
