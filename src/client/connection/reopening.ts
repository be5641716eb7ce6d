import { pause } from "../../core/basics/pause.ts";
import { McpError } from "../../core/protocol/errors.ts";
import { ClientError, toText } from "../basics/errors.ts";
import type { EventHook } from "../basics/events.ts";
import { backoffMs, LASTING_MS } from "../transports/backoff.ts";
import type { Link } from "../transports/link.ts";
import type { Subscriptions } from "./subscriptions.ts";

export interface ReopeningParts {
  readonly subscriptions: Subscriptions;
  readonly reconnectsMax: number;
  /** Aborts when the client closes. */
  readonly signal: AbortSignal;
  readonly report: EventHook;
  /** Opens a connection in place of the present one. */
  negotiate(isLegacy: boolean): Promise<void>;
}

/**
 * Opens a new session when the server no longer knows the current one, and a new channel when the current one has closed. Loaded on
 * demand.
 */
export class Reopening {
  readonly #parts: ReopeningParts;
  /** The number of attempts since a channel lasted. A server that always ends at once must not be started forever. */
  #attempts = 0;
  #openedAtMs = 0;

  constructor(parts: ReopeningParts) {
    this.#parts = parts;
  }

  /** @throws {ClientError} `session-lost` if no session can be opened; `closed` if no channel can be opened. */
  async run(link: Link, lost: unknown): Promise<void> {
    if (!ClientError.is(lost) || lost.code !== "session-lost") return this.#reconnect(link, lost);
    try {
      await this.#open(link, "session-reopened");
    } catch (cause) {
      const { code, message, mayHaveRun, response } = lost;
      throw new ClientError(code, `${message} A new session could not be opened.`, { mayHaveRun, response, cause });
    }
  }

  async #reconnect(link: Link, lost: unknown): Promise<void> {
    const { reconnectsMax, signal, report } = this.#parts;
    if (Date.now() - this.#openedAtMs > LASTING_MS) this.#attempts = 0;
    let failure = lost;
    while (this.#attempts < reconnectsMax) {
      this.#attempts += 1;
      const delayMs = backoffMs(this.#attempts, undefined);
      report({ type: "reconnecting", attempt: this.#attempts, delayMs, error: failure as Error | undefined });
      await pause(delayMs, signal);
      signal.throwIfAborted();
      try {
        await this.#open(link, "reconnected");
        this.#openedAtMs = Date.now();
        return;
      } catch (error) {
        failure = error;
      }
    }
    const reason = failure === undefined ? "" : ` ${toText(failure)}`;
    const text = `The connection has closed, and ${this.#attempts} attempts to open it again failed or did not last (reconnectsMax).`;
    throw new ClientError("closed", text + reason, { cause: failure });
  }

  /** Detects the era of a server that has refused to open a session. */
  async #detectEra(refusal: unknown): Promise<boolean> {
    const isAnswer = McpError.is(refusal) || (ClientError.is(refusal) && refusal.response?.status === 400);
    if (!isAnswer) throw refusal;
    await this.#parts.negotiate(false);
    return false;
  }

  /** Opens a connection, and restores the subscriptions and the log level. */
  async #open(old: Link, type: "session-reopened" | "reconnected"): Promise<void> {
    const { subscriptions, report, negotiate } = this.#parts;
    const isLegacy = old.rules?.era === "legacy";
    // The server may have been replaced by a server of the other era.
    const isStillLegacy =
      isLegacy &&
      (await negotiate(true).then(
        () => true,
        (error) => this.#detectEra(error),
      ));
    if (!isLegacy) await negotiate(false);
    old.retire();
    report({ type });
    subscriptions.start();
    if (isStillLegacy) await subscriptions.restore();
    // Notifications of changes may have been lost with the old connection.
    subscriptions.assumeChanges();
  }
}
