import type { Client } from "../api/client.ts";
import type { ClientExtension, ExtensionContext } from "../api/extensions.ts";
import type { ClientEvent } from "../basics/events.ts";
import type { ServerFacts } from "../requests/results.ts";

/** A request that is waiting for its result. */
export interface RequestState {
  /** Its method, such as `tools/call`. */
  readonly method: string;
  /** How long it has been waiting, in milliseconds. */
  readonly ageMs: number;
}

/** What a client is doing. */
export interface ConnectionState {
  /** Whether the connection is being opened, is open, is being opened again, or is closed. */
  readonly phase: "connecting" | "connected" | "reconnecting" | "closed";
  /** The transport; undefined while the first connection is being opened. */
  readonly transport: ServerFacts["transport"] | undefined;
  /** The protocol version; undefined while the first connection is being opened. */
  readonly protocolVersion: string | undefined;
  /** Whether the server has opened a session, which only legacy servers over Streamable HTTP do. */
  readonly hasSession: boolean;
  /** The requests that are waiting for their results, the oldest first. The client has no queue: each was sent, or waits for the connection. */
  readonly requests: readonly RequestState[];
  /** Broken streams that are being resumed: the method of their request, or undefined for the stream of messages outside requests. */
  readonly resuming: readonly (string | undefined)[];
  /** The last failure of a request or of the connection, with its time in epoch milliseconds. */
  readonly lastError: { readonly error: unknown; readonly atMs: number } | undefined;
  /** The last event that the client reported, with its time in epoch milliseconds. */
  readonly lastEvent: { readonly event: ClientEvent; readonly atMs: number } | undefined;
}

/** The request whose stream brings the notifications of a modern server. */
const LISTEN = "subscriptions/listen";

const states = new WeakMap<Client, Tracked>();

/** Tracks what a client is doing, for {@link getConnectionState}. Put it first in `use`, so that it sees every request. */
export function trackState(): ClientExtension {
  return (context) => {
    const tracked = new Tracked(context);
    states.set(context.client, tracked);
    return {
      onRequest: async (request, next) => {
        const entry = { method: request.method, sinceMs: Date.now() };
        tracked.requests.add(entry);
        try {
          return await next(request);
        } catch (error) {
          tracked.note(error);
          throw error;
        } finally {
          tracked.requests.delete(entry);
        }
      },
      onEvent: (event) => tracked.take(event),
    };
  };
}

/** Returns what a client is doing now; undefined if it does not use {@link trackState}. */
export function getConnectionState(client: Client): ConnectionState | undefined {
  return states.get(client)?.read();
}

class Tracked {
  readonly requests = new Set<{ readonly method: string; readonly sinceMs: number }>();
  readonly #context: ExtensionContext;
  readonly #resuming = new Set<string | undefined>();
  #broken: "reconnecting" | "closed" | undefined;
  #lastError: ConnectionState["lastError"];
  #lastEvent: ConnectionState["lastEvent"];

  constructor(context: ExtensionContext) {
    this.#context = context;
  }

  note(error: unknown): void {
    this.#lastError = { error, atMs: Date.now() };
  }

  take(event: ClientEvent): void {
    this.#lastEvent = { event, atMs: Date.now() };
    if ("error" in event && event.error !== undefined) this.note(event.error);
    if (event.type === "stream-reconnecting") this.#resuming.add(event.method);
    if (event.type === "stream-resumed") this.#resuming.delete(event.method);
    // The stream of notifications has no method; that of a modern server has the method of its request.
    if (event.type === "stream-lost") for (const each of [undefined, LISTEN]) this.#resuming.delete(each);
    if (event.type === "reconnecting" || event.type === "closed") this.#broken = event.type;
    if (event.type === "reconnected") this.#broken = undefined;
  }

  read(): ConnectionState {
    const { client, hasSession } = this.#context;
    // Before the first connection there are no facts about the server.
    const facts = client.server as ServerFacts | undefined;
    const requests = [...this.requests].map(({ method, sinceMs }) => ({ method, ageMs: Date.now() - sinceMs }));
    // A stream whose request has failed is given up.
    const isWanted = (method: string | undefined) =>
      method === undefined || method === LISTEN || requests.some((each) => each.method === method);
    return {
      phase: this.#phaseOf(facts),
      transport: facts?.transport,
      protocolVersion: facts?.protocolVersion,
      hasSession: hasSession(),
      requests,
      resuming: [...this.#resuming].filter(isWanted),
      lastError: this.#lastError,
      lastEvent: this.#lastEvent,
    };
  }

  #phaseOf(facts: ServerFacts | undefined): ConnectionState["phase"] {
    if (this.#context.signal.aborted) return "closed";
    return this.#broken ?? (facts ? "connected" : "connecting");
  }
}
