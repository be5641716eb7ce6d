/**
 * The facts about a server from an earlier connection (`serverFacts`). They are used at once, and the era is detected again if they
 * prove wrong. Loaded on demand.
 *
 * @module
 */
import { McpError } from "../../core/protocol/errors.ts";
import type { SpokenVersion } from "../../core/protocol/spoken-versions.ts";
import { ClientError } from "../basics/errors.ts";
import type { ServerFacts } from "../requests/results.ts";
import type { Negotiation } from "./negotiate.ts";

export interface AssumedServerParts {
  readonly negotiation: Negotiation;
  facts(): ServerFacts;
  use(facts: ServerFacts): void;
  /** Connects, and uses the facts from the server. */
  negotiate(isLegacy?: boolean): Promise<void>;
  /** Starts to receive notifications on the connection. */
  listen(): void;
}

export class AssumedServer {
  readonly #parts: AssumedServerParts;
  /** Whether no response has confirmed the facts yet. */
  isUnconfirmed = false;
  /** The detection of the era after a failure. Requests wait for it. */
  detection: Promise<boolean> | undefined;

  constructor(parts: AssumedServerParts) {
    this.#parts = parts;
  }

  /** Uses the facts from an earlier connection. Returns false if they cannot be used. */
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
        this.isUnconfirmed = true;
      } else if (versions.legacy.some(isKnown)) await negotiate(true);
      else return false;
      listen();
      return true;
    } catch (error) {
      if (!McpError.is(error) && !(ClientError.is(error) && error.code === "http-status")) throw error;
      return false;
    }
  }

  /** Detects the era again after a failure. Returns whether the facts were wrong, so that the server has refused the request. */
  detectAgain(): Promise<boolean> {
    this.detection ??= this.#detect().catch((error) => {
      // The next failed request tries again.
      this.isUnconfirmed = true;
      this.detection = undefined;
      throw error;
    });
    return this.detection;
  }

  async #detect(): Promise<boolean> {
    this.isUnconfirmed = false;
    const { facts, negotiate, listen } = this.#parts;
    const before = facts().protocolVersion;
    await negotiate();
    listen();
    return facts().protocolVersion !== before;
  }
}
