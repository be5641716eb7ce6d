/**
 * What the recorder shows of one exchange. Everything here is JSON, and nothing here contains a secret: values are redacted before
 * they get this form.
 *
 * @module
 */

/** What was exchanged. `alarm` and `scheduled` are work of the Worker that no exchange caused. */
export type EntryKind =
  | "request"
  | "notification"
  | "answer"
  | "stream"
  | "delete"
  | "page"
  | "other"
  | "alarm"
  | "scheduled";

/** How an exchange ended. */
export type EntryOutcome =
  | "running"
  | "ok"
  | "tool-error"
  | "error"
  | "refused"
  | "input-required"
  | "cut-by-client"
  | "cut-by-server"
  | "cut-on-purpose"
  | "timeout";

/** Something about an entry that a list points out. */
export type Mark = "progress" | "question" | "replay" | "resumed" | "log" | "exception" | "slow" | "suspicious";

/** What Cloudflare bills for an exchange, apart from the request to the Worker itself. */
export interface Counts {
  /** Calls and upgrades to Durable Objects. */
  readonly objectRequests: number;
  /** WebSocket messages into objects, which are billed as a twentieth of a request each. */
  readonly messages: number;
  readonly rowsRead: number;
  /** Rows written by SQL, by each write under a key, and by each setting of an alarm. */
  readonly rowsWritten: number;
  readonly alarmsSet: number;
  readonly alarmsRun: number;
  /** Objects that were not in memory before. Inferred from the time since their last invocation. */
  readonly wakeUps: number;
}

/** What a list shows of one recorded exchange. */
export interface Summary {
  /** An increasing number, as text. */
  readonly id: string;
  /** Changes each time the entry changes. */
  readonly seq: number;
  /** When it began, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Milliseconds until the last byte. Undefined while it runs. */
  readonly ms?: number;
  readonly kind: EntryKind;
  readonly http?: { readonly method: string; readonly path: string; readonly status?: number };
  readonly client?: { readonly name: string; readonly version: string };
  /** The protocol version. */
  readonly version?: string;
  readonly era?: "legacy" | "modern";
  /** The method of the first message, such as `tools/call`. */
  readonly method?: string;
  /** What the method names: a tool, a prompt or a URI. */
  readonly target?: string;
  /** The first 8 hexadecimal digits of a hash of the caller's issuer and subject, or of the token. */
  readonly principal?: string;
  /** The first 8 hexadecimal digits of a hash of the session id. */
  readonly session?: string;
  readonly outcome: EntryOutcome;
  /** One line: code and reason, or status. */
  readonly outcomeText?: string;
  readonly counts: Counts;
  /** The price of a million of these exchanges, in US dollars. */
  readonly dollarsPerMillion: number;
  readonly marks: readonly Mark[];
}

/** A JSON-RPC message in either direction, redacted. */
export interface RecordedMessage {
  readonly atMs: number;
  readonly from: "client" | "server";
  /** A short hash of the id of the event in which it arrived. */
  readonly eventId?: string;
  readonly message: unknown;
}

/** Another entry that belongs to an entry. */
export interface Related {
  readonly id: string;
  readonly why: "answer" | "resumes" | "task" | "round" | "same-call";
}

/** Something in an entry that is probably a fault. */
export interface Finding {
  /** What was found, as a sentence. */
  readonly what: string;
  /** The place: an object, a statement, a host, a header, or a line of the source. */
  readonly where: string;
  /** Why it matters, and what to do. */
  readonly why: string;
}

/** A part of an invocation, such as one SQL statement. */
export interface Span {
  /** As workerd names it, without `durable_object_storage_`: `exec`, `kv_get`, `setAlarm`, `fetch`, `d1_all`. */
  readonly name: string;
  readonly startedAtMs: number;
  readonly endedAtMs?: number;
  /** The SQL statement, the key, or the URL without its query. */
  readonly text?: string;
  readonly table?: string;
  readonly rowsRead?: number;
  readonly rowsWritten?: number;
  /** When the alarm that was set is due. */
  readonly dueAtMs?: number;
  readonly databaseBytes?: number;
}

/** A line that was written with `console`. */
export interface LogLine {
  readonly atMs: number;
  readonly level: string;
  readonly text: string;
}

/** An exception that was not caught, or that was logged. */
export interface RecordedException {
  readonly atMs: number;
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  /** The code of an error of mcp-edge, such as `replay-diverged`. */
  readonly code?: string;
  /** The reference that the client received in place of the message. */
  readonly reference?: string;
}

/** One invocation of the Worker or of an object. */
export interface Invocation {
  readonly id: string;
  /** The invocation that caused it. */
  readonly parent?: string;
  readonly place: "worker" | "object";
  /** The class of the object. */
  readonly className?: string;
  /** The first 8 hexadecimal digits of the object's id. */
  readonly object?: string;
  /** The role of an object of an endpoint, such as `session`. */
  readonly role?: string;
  readonly cause: "fetch" | "jsrpc" | "alarm" | "websocket" | "scheduled" | "other";
  /** The method of the class that was called. */
  readonly method?: string;
  /** Whether the object was not in memory before. Inferred. */
  readonly woken?: boolean;
  /** The code with which a WebSocket was closed. */
  readonly closeCode?: number;
  readonly startedAtMs: number;
  /** When it had answered and no work was left. */
  readonly endedAtMs?: number;
  /** When it answered. Work may go on. */
  readonly answeredAtMs?: number;
  readonly outcome?: string;
  readonly status?: number;
  readonly spans: readonly Span[];
  readonly logs: readonly LogLine[];
  readonly exceptions: readonly RecordedException[];
}

/** One recorded exchange. */
export interface Entry extends Summary {
  /** Headers and body of the request, redacted. The body is absent if it consists of the messages. */
  readonly request?: { readonly headers: readonly Header[]; readonly body?: unknown };
  readonly response?: { readonly headers: readonly Header[] };
  readonly messages: readonly RecordedMessage[];
  readonly invocations: readonly Invocation[];
  readonly related: readonly Related[];
  readonly findings: readonly Finding[];
  /** What was left out because an entry is bounded. */
  readonly omitted?: { readonly messages: number; readonly spans: number; readonly logs: number };
}

/** A header with its name as it was sent. */
export type Header = readonly [name: string, value: string];
