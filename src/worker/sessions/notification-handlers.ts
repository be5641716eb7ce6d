/**
 * Runs the handlers of custom notifications in a session, and listens for changes of the client's roots. These do not have
 * a stream of a call, so their messages are sent on a GET stream.
 *
 * @module
 */
import { unavailableAsker } from "../../core/ask/asker.ts";
import { ClientAsker } from "../../core/ask/client-asker.ts";
import type { PendingQuestions } from "../../core/ask/pending-questions.ts";
import type { Registry } from "../../core/define/registry.ts";
import type { JSONRPCNotification } from "../../core/protocol/jsonrpc.ts";
import type { RequestContext } from "../../core/run/request-context.ts";
import { RootsListener } from "../../core/serve/roots.ts";
import type { LegacyContext } from "../../http/legacy.ts";
import type { Refusal } from "../../http/refusal.ts";
import { tooMany } from "../../http/session-refusals.ts";
import type { SessionPost } from "../../http/sessions.ts";
import type { SessionHost } from "./session-host.ts";
import type { SessionStreams } from "./session-streams.ts";

export class NotificationHandlers {
  readonly #host: SessionHost;
  readonly #streams: SessionStreams;
  readonly #questions: PendingQuestions;
  readonly #roots = new RootsListener();
  #running = 0;

  constructor(host: SessionHost, streams: SessionStreams, questions: PendingQuestions) {
    this.#host = host;
    this.#streams = streams;
    this.#questions = questions;
  }

  get isRunning(): boolean {
    return this.#running > 0 || this.#roots.isRunning;
  }

  /** Counts a handler as running until its promise settles. */
  count(handled: Promise<unknown>): void {
    this.#running += 1;
    void handled.finally(() => {
      this.#running -= 1;
    });
  }

  /** Returns a refusal if a POST would cause more than `inFlightMax` handlers to run. */
  refuse({ messages }: SessionPost, { registry }: LegacyContext): Refusal | undefined {
    const { inFlightMax } = this.#host.caps;
    const asked = messages.filter(
      (parsed) => parsed.kind === "notification" && registry.notifications.has(parsed.message.method),
    );
    if (asked.length === 0 || this.#running + asked.length <= inFlightMax) return undefined;
    return tooMany(`${this.#running} of ${inFlightMax} notification handlers are running (sessions(): inFlightMax)`, 1);
  }

  /** Passes a notification to the listener for changes of the client's roots. */
  take(registry: Registry, message: JSONRPCNotification, context: LegacyContext): void {
    this.#roots.take(registry, message, () => this.#callOf(context));
  }

  #callOf({ logging, form, ...context }: LegacyContext): Omit<RequestContext, "request"> {
    const { client, limits } = context;
    const emit: RequestContext["emit"] = (message) => this.#streams.say(JSON.stringify(message), "wait");
    const asker = this.#streams.hasOwn
      ? new ClientAsker(this.#questions, { client, emit, limits })
      : unavailableAsker("the client has no GET stream open");
    return { ...context, ending: new AbortController(), logLevel: logging?.level, emit, asker };
  }
}
