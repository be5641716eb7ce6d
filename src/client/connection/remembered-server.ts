/**
 * The facts of an earlier connection (`serverFacts`): they are used at once, and discarded if they prove wrong. Loaded on demand.
 *
 * @module
 */
import { McpError } from "../../core/protocol/errors.ts";
import type { SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import { ClientError } from "../basics/errors.ts";
import type { ServerFacts } from "../requests/results.ts";
import type { Negotiation } from "./negotiate.ts";

export interface RememberedServerParts {
  readonly negotiation: Negotiation;
  facts(): ServerFacts;
  use(facts: ServerFacts): void;
  /** Connects, and uses the facts that the server states. */
  negotiate(isLegacy?: boolean): Promise<void>;
  /** Starts to listen on the connection. */
  listen(): void;
}

export class RememberedServer {
  readonly #parts: RememberedServerParts;
  /** Whether no answer has confirmed the facts yet. */
  isOpen = false;
  /** The detection of the era after a failure. Requests wait for it. */
  pending: Promise<boolean> | undefined;

  constructor(parts: RememberedServerParts) {
    this.#parts = parts;
  }

  /** Uses the facts of an earlier connection. Returns false if they cannot be used. */
  async assume(known: ServerFacts): Promise<boolean> {
    const { negotiation, use, negotiate, listen } = this.#parts;
    const { sender, versions, open } = negotiation;
    const isKnown = ({ version }: SpokenVersion) => version === known.protocolVersion;
    const rules = versions.modern.find(isKnown);
    try {
      if (rules) {
        await sender.start(await open());
        sender.link.rules = rules;
        use(known);
        this.isOpen = true;
      } else if (versions.legacy.some(isKnown)) await negotiate(true);
      else return false;
      listen();
      return true;
    } catch (error) {
      if (!McpError.is(error) && !(ClientError.is(error) && error.code === "http-status")) throw error;
      return false;
    }
  }

  /** Detects the era again after a failure. Returns whether the assumption was wrong, so that the request was refused. */
  disprove(): Promise<boolean> {
    this.pending ??= this.#detectAgain().catch((error) => {
      // The next request that fails tries again.
      this.isOpen = true;
      this.pending = undefined;
      throw error;
    });
    return this.pending;
  }

  async #detectAgain(): Promise<boolean> {
    this.isOpen = false;
    const { facts, negotiate, listen } = this.#parts;
    const before = facts().protocolVersion;
    await negotiate();
    listen();
    return facts().protocolVersion !== before;
  }
}
