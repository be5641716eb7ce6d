import type { Client } from "../api/client.ts";
import type { ClientExtension, ExtensionContext } from "../api/extensions.ts";
import type { ClientEvent } from "../basics/events.ts";
import type { ServerFacts } from "../requests/results.ts";

/** A request that is waiting for its result. */
export interface RequestState {
  /** Its method, such as `tools/call`. */
  readonly method: string;
  /** The time since the request was made, in milliseconds. */
  readonly ageMs: number;
}

/** The state of a client and its connection. */
export interface ConnectionState {
  /** Whether the connection is being opened, is open, is being opened again, or is closed. */
  readonly phase: "connecting" | "connected" | "reconnecting" | "closed";
  /** The transport; undefined while the first connection is being opened. */
  readonly transport: ServerFacts["transport"] | undefined;
  /** The protocol version; undefined while the first connection is being opened. */
  readonly protocolVersion: string | undefined;
  /** Whether the server has opened a session. Only legacy servers over Streamable HTTP do. */
  readonly hasSession: boolean;
  /** The requests that are waiting for their results, the oldest first. Each was sent, or waits until the connection is open. */
  readonly requests: readonly RequestState[];
  /** The methods of the requests whose streams are being resumed; undefined for the stream of messages that belong to no request. */
  readonly resuming: readonly (string | undefined)[];
  /** The last error of a request or of the connection, with its time in epoch milliseconds. */
  readonly lastError: { readonly error: unknown; readonly atMs: number } | undefined;
  /** The last event that the client reported, with its time in epoch milliseconds. */
  readonly lastEvent: { readonly event: ClientEvent; readonly atMs: number } | undefined;
}

/** The method of the request whose stream carries the notifications of a modern server. */
const LISTEN = "subscriptions/listen";

const states = new WeakMap<Client, Tracked>();

/** Tracks the state of a client, for {@link getConnectionState}. Put it first in `use`, so that it sees every request. */
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

/** Returns the current state of a client; undefined if the client does not use {@link trackState}. */
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
    // The stream of notifications has no method at a legacy server, and the method of its request at a modern server.
    if (event.type === "stream-lost") for (const each of [undefined, LISTEN]) this.#resuming.delete(each);
    if (event.type === "reconnecting" || event.type === "closed") this.#broken = event.type;
    if (event.type === "reconnected") this.#broken = undefined;
  }

  read(): ConnectionState {
    const { client, hasSession } = this.#context;
    // Undefined before the first connection.
    const facts = client.server as ServerFacts | undefined;
    const requests = [...this.requests].map(({ method, sinceMs }) => ({ method, ageMs: Date.now() - sinceMs }));
    // The stream of a request that has ended is no longer resumed.
    const isOpen = (method: string | undefined) =>
      method === undefined || method === LISTEN || requests.some((each) => each.method === method);
    return {
      phase: this.#findPhase(facts),
      transport: facts?.transport,
      protocolVersion: facts?.protocolVersion,
      hasSession: hasSession(),
      requests,
      resuming: [...this.#resuming].filter(isOpen),
      lastError: this.#lastError,
      lastEvent: this.#lastEvent,
    };
  }

  #findPhase(facts: ServerFacts | undefined): ConnectionState["phase"] {
    if (this.#context.signal.aborted) return "closed";
    return this.#broken ?? (facts ? "connected" : "connecting");
  }
}
