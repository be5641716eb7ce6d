/**
 * The recorded form of one exchange, as JSON. It contains no secrets, because values are redacted before they are stored.
 *
 * @module
 */

/** The kind of an entry. `alarm` and `scheduled` are work of the Worker that was not caused by an exchange. */
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

/** A property of an entry that the list highlights. */
export type Mark = "progress" | "question" | "replay" | "resumed" | "log" | "exception" | "slow" | "suspicious";

/** The usage that Cloudflare bills for an exchange, apart from the request to the Worker itself. */
export interface Counts {
  /** RPC calls, fetches and WebSocket upgrades to Durable Objects. */
  readonly objectRequests: number;
  /** WebSocket messages to objects, each of which is billed as a twentieth of a request. */
  readonly messages: number;
  readonly rowsRead: number;
  /** Rows written by SQL. Each write of a key and each `setAlarm()` counts as one row. */
  readonly rowsWritten: number;
  readonly alarmsSet: number;
  readonly alarmsRun: number;
  /** Invocations of objects that were not in memory. Inferred from the time since their last invocation. */
  readonly wakeUps: number;
}

/** The members of an entry that lists show. */
export interface Summary {
  /** An increasing number, as a string. */
  readonly id: string;
  /** Increases with each change of the entry. */
  readonly seq: number;
  /** When it began, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The time until the last byte, in milliseconds. Undefined while the exchange is running. */
  readonly ms?: number;
  readonly kind: EntryKind;
  readonly http?: { readonly method: string; readonly path: string; readonly status?: number };
  readonly client?: { readonly name: string; readonly version: string };
  /** The protocol version. */
  readonly version?: string;
  readonly era?: "legacy" | "modern";
  /** The method of the first message, such as `tools/call`. */
  readonly method?: string;
  /** The target of the method: the name of a tool or prompt, or a URI. */
  readonly target?: string;
  /** The first 8 hexadecimal digits of a hash of the caller's issuer and subject, or of the token. */
  readonly principal?: string;
  /** The first 8 hexadecimal digits of a hash of the session id. */
  readonly session?: string;
  readonly outcome: EntryOutcome;
  /** One line that describes the outcome: code and reason, or status. */
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

/** A probable fault in an entry. */
export interface Finding {
  /** A sentence that describes the finding. */
  readonly what: string;
  /** The location: an object, a statement, a host, a header, or a line of the source. */
  readonly where: string;
  /** Why the finding matters, and how to fix it. */
  readonly why: string;
}

/** A part of an invocation, such as one SQL statement. */
export interface Span {
  /** The name that workerd gives it, without `durable_object_storage_`: `exec`, `kv_get`, `setAlarm`, `fetch`, `d1_all`. */
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
  /** The status that another server responded with. */
  readonly status?: number;
}

/** A line that was logged with `console`. */
export interface LogLine {
  readonly atMs: number;
  readonly level: string;
  readonly text: string;
}

/** An exception that was uncaught or logged. */
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
  /** The id of the invocation that caused it. */
  readonly parent?: string;
  readonly place: "worker" | "object";
  /** The class of the object. */
  readonly className?: string;
  /** The first 8 hexadecimal digits of the object's id. */
  readonly object?: string;
  /** The role of an object of an endpoint, such as `session`. */
  readonly role?: string;
  readonly cause: "fetch" | "jsrpc" | "alarm" | "websocket" | "scheduled" | "other";
  /** The RPC method that was called. */
  readonly method?: string;
  /** Whether the object was not in memory before. Inferred from the time since its last invocation. */
  readonly woken?: boolean;
  /** The code with which a WebSocket was closed. */
  readonly closeCode?: number;
  readonly startedAtMs: number;
  /** When it had returned its response and all its work was done. */
  readonly endedAtMs?: number;
  /** When it returned its response. Work may continue after that. */
  readonly answeredAtMs?: number;
  readonly outcome?: string;
  readonly status?: number;
  readonly spans: readonly Span[];
  readonly logs: readonly LogLine[];
  readonly exceptions: readonly RecordedException[];
}

/** One recorded exchange. */
export interface Entry extends Summary {
  /** Headers and body of the request, redacted. The body is absent if its JSON-RPC messages are in `messages`. */
  readonly request?: { readonly headers: readonly Header[]; readonly body?: unknown };
  readonly response?: { readonly headers: readonly Header[] };
  readonly messages: readonly RecordedMessage[];
  readonly invocations: readonly Invocation[];
  readonly related: readonly Related[];
  readonly findings: readonly Finding[];
  /** The numbers of messages, spans and log lines that were omitted because the size of an entry is limited. */
  readonly omitted?: { readonly messages: number; readonly spans: number; readonly logs: number };
}

/** A header. Its name is spelled as it was sent. */
export type Header = readonly [name: string, value: string];
