/**
 * The events that a client has received of one stream, over all its connections, and the rule for them: every event
 * once and in order. If the server has dropped notifications it says how many, and exactly so many are missing.
 */
import type { StreamEvent } from "../../src/testing/http-stream.ts";
import { isMembers, type Members } from "../http/messages.ts";
import type { Tally, Violation } from "./tally.ts";

export interface Place {
  readonly tag: string;
  readonly stream: number;
  readonly seq: number;
}

export class Ledger {
  readonly name: string;
  readonly #tally: Tally;
  /** When the client began to wait for events; all of them are younger. */
  readonly sinceMs: number = Date.now();
  /** The text of each event, by its number. */
  readonly texts = new Map<number, string>();
  /** The last event id received, from which the client resumes. */
  lastId: string | undefined;
  /** The first event id. */
  firstId: string | undefined;
  place: Place | undefined;
  /** Number of events that the server reported as dropped. */
  pruned = 0;
  #announced = 0;

  constructor(name: string, tally: Tally) {
    this.name = name;
    this.#tally = tally;
  }

  /** Called for a new connection, which continues after the last event id. */
  connected(): void {
    this.#announced = 0;
  }

  /** Records one event; returns its message if it carries a new one. */
  take({ id, data, event }: StreamEvent): Members | undefined {
    if (event !== undefined && event !== "message") this.#violate("broken", `an event named ${event}`);
    const message = data === "" ? undefined : this.#parse(data);
    if (id === undefined) {
      this.#announced += forgotten(message);
      return message;
    }
    const place = this.#placeOf(id);
    if (!place) return undefined;
    this.firstId ??= id;
    const last = this.place?.seq ?? 0;
    if (data === "") {
      if (place.seq !== last) this.#violate("broken", `a response begins at ${place.seq}, after ${last} was received`);
      this.lastId = id;
      this.place = place;
      return undefined;
    }
    this.#tally.count("events");
    if (place.seq <= last) {
      this.#violate("duplicated", `event ${place.seq} came after ${last}`);
      return undefined;
    }
    const missing = place.seq - last - 1;
    if (missing !== this.#announced) {
      const why = `event ${place.seq} came after ${last}; ${this.#announced} were said to be forgotten`;
      this.#violate("lost", why, Math.max(1, missing - this.#announced));
    }
    this.pruned += this.#announced;
    this.#tally.count("pruned", this.#announced);
    this.#announced = 0;
    this.lastId = id;
    this.place = place;
    this.texts.set(place.seq, data);
    return message;
  }

  #placeOf(id: string): Place | undefined {
    const [, tag = "", stream = "", seq = ""] = /^([0-9a-z]+)-([0-9a-z]+)-([0-9a-z]+)$/.exec(id) ?? [];
    const place = { tag, stream: Number.parseInt(stream, 36), seq: Number.parseInt(seq, 36) };
    if (tag === "" || (this.place && (this.place.tag !== tag || this.place.stream !== place.stream))) {
      this.#violate("broken", `event id ${id} on the stream of ${this.lastId}`);
      return undefined;
    }
    return place;
  }

  #parse(data: string): Members | undefined {
    try {
      const value: unknown = JSON.parse(data);
      if (isMembers(value)) return value;
    } catch {
      // Reported below.
    }
    this.#violate("broken", `no message: ${data.slice(0, 100)}... (${data.length})`);
    return undefined;
  }

  #violate(violation: Violation, what: string, by = 1): void {
    this.#tally.violate(violation, `${this.name}: ${what}`, by);
  }
}

/** The number of earlier messages that the server reports as dropped. */
export function forgotten(message: Members | undefined): number {
  const { params } = message ?? {};
  if (!isMembers(params) || params.logger !== "mcp-edge") return 0;
  return Number(/^(\d+) earlier/.exec(String(params.data))?.[1] ?? 0);
}
