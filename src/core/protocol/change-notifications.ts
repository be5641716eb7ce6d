/**
 * Notifications of changes: published anywhere in the program, delivered to the clients that asked for them.
 *
 * @module
 */
import type { Principal } from "./client-facts.ts";
import { type LoggingLevel, passesLevel } from "./logging.ts";
import { uriKey } from "./uri.ts";

/** A notification of a change, or a log message. */
export type ChangeNotification =
  | { readonly kind: ListKind }
  /** The contents of a resource changed. */
  | { readonly kind: "resource"; readonly uri: string }
  /** A URL elicitation was completed. */
  | { readonly kind: "elicitation"; readonly id: string }
  /** The status of a task changed. The notification does not contain the status; its receiver reads the task again. */
  | { readonly kind: "task"; readonly id: string }
  | { readonly kind: "log"; readonly level: LoggingLevel; readonly data: unknown; readonly logger?: string };

/** The lists whose changes are reported. Resource templates are in the list of resources. */
export const LIST_KINDS = ["tools", "prompts", "resources"] as const;

export type ListKind = (typeof LIST_KINDS)[number];

/** The notifications that one client receives. It is plain data, because it is sent to Durable Objects. */
export interface ChangeFilter {
  readonly lists: readonly ListKind[];
  /** The resources to which the client is subscribed. */
  readonly uris: readonly string[];
  /** Ids of the URL elicitations that the client was sent. */
  readonly elicitations?: readonly string[] | undefined;
  /** Ids of the tasks that the client listens to. */
  readonly tasks?: readonly string[] | undefined;
  readonly logLevel?: LoggingLevel | undefined;
}

export type ChangeListener = (notification: ChangeNotification) => void;

/** The owner and the size of a stream, so that a source can enforce its limits. */
export interface Claim {
  /**
   * The principal that opened the stream; undefined for an anonymous client, and for a session, which has only one
   * stream.
   */
  readonly principal: Principal | undefined;
  /** The number of characters that stay in memory while the stream is open; see {@link computeSize}. */
  readonly size: number;
}

/** The memory that a URI takes in addition to its characters, in characters. */
const URI_OVERHEAD = 64;

/** Estimates the memory that a subscription takes, in characters. */
export function computeSize(kept: unknown, uris: readonly string[]): number {
  return JSON.stringify(kept).length + uris.length * URI_OVERHEAD;
}

/** A source of notifications: this process, or a hub that connects all processes. */
export interface ChangeSource {
  /**
   * Resolves once every later notification will be delivered. Rejects if the source cannot be reached, and with
   * `BusyError` if there are too many streams.
   */
  open(filter: ChangeFilter, listener: ChangeListener, claim: Claim): Promise<ChangeSubscription>;
}

/** One open subscription to a source. */
export interface ChangeSubscription {
  /** Resolves once the new filter is in effect. */
  update(filter: ChangeFilter): Promise<void>;
  /** Ends the subscription at once; the listener is not called again. */
  stop(): void;
  /** Resolves when the source ends the subscription. */
  readonly ended: Promise<void>;
}

/** Whether a notification announces a change. Equal notifications that the client has not read yet are merged. */
export function isChange({ method }: { readonly method: string }): boolean {
  return /\/(list_changed|updated)$/.test(method);
}

/** Returns a function that checks whether a filter admits a notification. */
export function compileFilter({
  lists,
  uris,
  elicitations,
  tasks,
  logLevel,
}: ChangeFilter): (notification: ChangeNotification) => boolean {
  const admitted = { resource: new Set(uris.map(uriKey)), elicitation: new Set(elicitations), task: new Set(tasks) };
  return (notification) => {
    if ("id" in notification) return admitted[notification.kind].has(notification.id);
    if ("uri" in notification) return admitted.resource.has(uriKey(notification.uri));
    return "level" in notification ? passesLevel(notification.level, logLevel) : lists.includes(notification.kind);
  };
}

/**
 * Passes each notification to every listener of this process in a microtask. Equal notifications of one turn are
 * merged.
 */
export class ChangeBus {
  readonly #listeners = new Map<unknown, (notifications: readonly ChangeNotification[]) => void>();
  readonly #waiting = new Map<unknown, ChangeNotification>();
  readonly #failed: (error: unknown) => void;

  /** @param failed Receives what a listener throws. All other listeners are still called. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  publish(notification: ChangeNotification): void {
    if (this.#listeners.size === 0) return;
    if (this.#waiting.size === 0) queueMicrotask(() => this.#deliver());
    // Log messages are never merged.
    this.#waiting.set(notification.kind === "log" ? notification : JSON.stringify(notification), notification);
  }

  /**
   * Returns a function that ends the subscription.
   *
   * @param key A second subscription with the same key replaces the first, so that nothing is delivered twice.
   */
  subscribe(listener: (notifications: readonly ChangeNotification[]) => void, key: unknown = listener): () => void {
    this.#listeners.set(key, listener);
    return () => this.#listeners.delete(key);
  }

  #deliver(): void {
    const notifications = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const listener of [...this.#listeners.values()]) {
      try {
        listener(notifications);
      } catch (error) {
        this.#failed(error);
      }
    }
  }
}
