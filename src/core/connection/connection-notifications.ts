/**
 * The notifications of one connection: the notifications that a legacy client gets without a request, and the listen
 * requests of modern clients.
 *
 * @module
 */

import type { Registry } from "../define/registry.ts";
import { type ChangeSource, compileFilter, LIST_KINDS } from "../protocol/change-notifications.ts";
import type { ClientFacts } from "../protocol/client-facts.ts";
import type { ErrorReporter } from "../protocol/error-reports.ts";
import { BusyError } from "../protocol/errors.ts";
import type { JSONRPCNotification, JSONRPCRequest } from "../protocol/jsonrpc.ts";
import type { Limits } from "../protocol/limits.ts";
import type { LoggingLevel } from "../protocol/logging.ts";
import type { Era } from "../protocol/versions.ts";
import type { MethodTable } from "../run/request-context.ts";
import {
  listenMethods,
  localNotifications,
  readElicitationId,
  releaseUris,
  subscribeMethods,
  toNotification,
} from "../serve/subscriptions.ts";

export interface ConnectionNotificationsOptions {
  /** Sends a notification to the legacy client of this connection. */
  readonly send: (notification: JSONRPCNotification) => void;
  readonly env: unknown;
  readonly onError: ErrorReporter;
  readonly limits: Limits;
}

export class ConnectionNotifications {
  readonly #registry: Registry;
  readonly #options: ConnectionNotificationsOptions;
  readonly #elicitations = new Set<string>();
  readonly #end = new AbortController();
  #client: ClientFacts | undefined;
  #uris: readonly string[] = [];
  /** The number of open listen requests. */
  #listens = 0;
  /** The level that the client set with `logging/setLevel`. Modern requests never read it. */
  logLevel: LoggingLevel | undefined;

  constructor(registry: Registry, options: ConnectionNotificationsOptions) {
    this.#registry = registry;
    this.#options = options;
  }

  /** Returns the methods of an era that deliver notifications. */
  methods(era: Era): MethodTable {
    if (era === "modern") return listenMethods(this.#source());
    const [read, keep] = [
      () => this.#uris,
      (uris: readonly string[]) => {
        this.#uris = uris;
      },
    ];
    return subscribeMethods({ read, keep });
  }

  /** Begins to send notifications to a legacy client. */
  start(client: ClientFacts): void {
    if (this.#client) return;
    this.#client = client;
    const stop = this.#registry.changes.subscribe((notifications) => {
      const { logLevel } = this;
      const elicitations = client.rules.elicitationModes ? [...this.#elicitations] : [];
      const admits = compileFilter({ lists: LIST_KINDS, uris: this.#uris, elicitations, logLevel });
      for (const notification of notifications.filter(admits)) {
        this.#options.send(toNotification(notification));
      }
    });
    this.#end.signal.addEventListener("abort", stop);
  }

  /** Stores the URL elicitation of a question, so that the client is notified of its completion. */
  watch(message: JSONRPCNotification | JSONRPCRequest): void {
    const id = readElicitationId(message);
    if (id !== undefined) this.#elicitations.add(id);
  }

  /** Stores the URL elicitations of an error, so that the client is notified of their completion. */
  await(ids: readonly string[]): void {
    for (const id of ids) this.#elicitations.add(id);
  }

  /** Ends all notifications. Each listen request gets its result, which shows the client that the end was intended. */
  end(): void {
    if (this.#end.signal.aborted) return;
    this.#end.abort();
    const { env, onError } = this.#options;
    const client = this.#client;
    if (client) void releaseUris(this.#registry, this.#uris, { env, principal: undefined, client }, onError);
  }

  /** The notifications of this process until the connection ends. */
  #source(): ChangeSource {
    const local = localNotifications(this.#registry.changes);
    const { signal } = this.#end;
    const ended = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    return {
      open: async (filter, listener, claim) => {
        const { listensPerPrincipalMax } = this.#options.limits;
        if (this.#listens >= listensPerPrincipalMax) {
          throw new BusyError(
            `${this.#listens} of ${listensPerPrincipalMax} listen requests are open (limits.listensPerPrincipalMax)`,
          );
        }
        this.#listens += 1;
        const tap = await local.open(filter, listener, claim);
        const stop = () => {
          this.#listens -= 1;
          tap.stop();
        };
        return { ...tap, stop, ended: signal.aborted ? Promise.resolve() : ended };
      },
    };
  }
}
