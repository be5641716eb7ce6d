/**
 * The notifications that the client of one session receives: list changes, updates of subscribed resources, completed URL
 * elicitations, and log messages. The selection is part of the stored state of the session.
 *
 * @module
 */

import { type ChangeFilter, LIST_KINDS } from "../../core/protocol/change-notifications.ts";
import type { JSONRPCNotification, JSONRPCRequest } from "../../core/protocol/jsonrpc.ts";
import type { LoggingLevel } from "../../core/protocol/logging.ts";
import { readElicitationId, releaseUris } from "../../core/serve/subscriptions.ts";
import { unavailable } from "../bindings.ts";
import type { SessionHost } from "./session-host.ts";
import { type Caller, type SessionState, type StoredState, toClient } from "./session-state.ts";
import type { SessionStreams } from "./session-streams.ts";

/** The session, which stores the selection in its state. */
interface StateStore {
  store(state: StoredState, caller: Caller): Promise<void>;
}

/**
 * The maximum number of URL elicitations whose completion is reported to a client. When it is exceeded, the oldest is
 * dropped.
 * @limit count URL elicitations whose completion is reported to a client. When it is exceeded, the oldest is dropped.
 */
const ELICITATIONS_MAX = 32;

export class WantedNotifications {
  readonly #host: SessionHost;
  readonly #state: SessionState;
  readonly #streams: SessionStreams;
  readonly #session: StateStore;

  constructor(host: SessionHost, state: SessionState, streams: SessionStreams, session: StateStore) {
    this.#host = host;
    this.#state = state;
    this.#streams = streams;
    this.#session = session;
  }

  get filter(): ChangeFilter {
    const { uris = [], elicitations = [], logLevel } = this.#state.get();
    return { lists: LIST_KINDS, uris, elicitations, logLevel };
  }

  /** Stores a change of the selection. Resolves once it is in effect. @throws {McpError} if it cannot be stored. */
  async want(state: StoredState, caller: Caller): Promise<void> {
    await this.#session.store(state, caller).catch((error: unknown) => {
      throw unavailable(error);
    });
    await this.#streams.tell(this.filter);
  }

  /** Sets the log level. Some clients set it before each call, so an unchanged level is not written again. */
  async setLevel(logLevel: LoggingLevel, caller: Caller): Promise<void> {
    if (logLevel !== this.#state.get().logLevel) await this.want({ logLevel }, caller);
  }

  /** If a message is a URL elicitation, stores its id, so that the client is notified of its completion. */
  watch(message: JSONRPCNotification | JSONRPCRequest, caller: Caller): void {
    const id = readElicitationId(message);
    if (id !== undefined) this.#host.ctx.waitUntil(this.awaitElicitations([id], caller));
  }

  /** Stores ids of URL elicitations. Resolves when the subscription to their completion is in effect. */
  async awaitElicitations(ids: readonly string[], caller: Caller): Promise<void> {
    const { elicitations: known = [] } = this.#state.get();
    if (!toClient(caller).rules.elicitationModes) return;
    if (!this.#host.services.hasNotifications || ids.every((id) => known.includes(id))) return;
    const elicitations = [...new Set([...known, ...ids])].slice(-ELICITATIONS_MAX);
    await this.want({ elicitations }, caller);
  }

  /** Calls `onUnsubscribe` for resources to which this session is no longer subscribed. */
  async release(uris: readonly string[], caller: Caller): Promise<void> {
    if (uris.length === 0) return;
    const { env, services } = this.#host;
    const { principal } = caller;
    const registry = await services.serverFor(undefined, env, principal);
    await releaseUris(registry, uris, { env, principal, client: toClient(caller) }, services.onError);
  }
}
