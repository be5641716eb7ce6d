/**
 * The object that stores the last calls.
 *
 * | stored | where | written | deleted |
 * | --- | --- | --- | --- |
 * | a call that has ended, as JSON | table `call` | one row, when the call has not changed for a second | after `keepMs`, or when `callsMax` newer calls exist |
 *
 * Calls that have not ended are only in memory. If the object is evicted, they are not recorded.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import type { LiveEntry } from "../assemble/live-entry.ts";
import type { Entry, Summary } from "../entry.ts";
import { Recorder } from "../recorder.ts";
import { toRecording } from "../recording/file.ts";
import type { TailEvent } from "../tail/tail-event.ts";
import type { CheckedOptions } from "./recording-options.ts";
import { StoredCalls } from "./stored-calls.ts";

/** How long events are collected, in milliseconds. Events of an object can arrive before those of the calling Worker. */
const COLLECT_MS = 1_000;

/** The maximum number of collected events. Additional events are dropped. @limit internal */
const EVENTS_MAX = 20_000;

/** The limits of the calls in memory, which have not ended or are not stored yet. */
const IN_MEMORY = { entriesMax: 500, charactersMax: 8 * 1024 * 1024 };

/** The maximum size of an exported recording, in characters. @limit internal */
const EXPORT_CHARACTERS_MAX = 4 * 1024 * 1024;

/** The class that the Worker exports. */
export interface McpRecorderClass {
  /** The prototype of its objects. */
  readonly prototype: McpRecorder;
  /** Called by the platform. */
  new (ctx: DurableObjectState, env: unknown): McpRecorder;
}

/** Creates the class for a Worker. */
export function createRecorderClass(options: CheckedOptions): McpRecorderClass {
  return class extends McpRecorder {
    constructor(ctx: DurableObjectState, env: unknown) {
      super(ctx, env, options);
    }
  };
}

/** The object that stores the last calls of another Worker. `recorder()` creates the class to export. */
export class McpRecorder extends DurableObject<unknown> {
  readonly #calls: StoredCalls;
  readonly #recorder: Recorder;
  #waiting: TailEvent[] = [];
  /** Calls that are not stored yet. A call is stored once it has not changed for one interval. */
  readonly #unsaved = new Map<LiveEntry, "changed" | "quiet">();
  #timer: unknown;

  /**
   * Called by the class that `recorder()` creates.
   *
   * @internal
   */
  constructor(ctx: DurableObjectState, env: unknown, options: CheckedOptions) {
    super(ctx, env);
    this.#calls = new StoredCalls(ctx.storage, options);
    this.#recorder = new Recorder({
      contents: options.contents,
      endpointPath: "",
      isProxied: false,
      // Sessions, tokens and events are only hashed if a proxy sees them.
      hash: () => "",
      limits: IN_MEMORY,
      lastId: this.#calls.lastId,
    });
    this.#recorder.onChange((entry) => {
      if (this.#unsaved.size < IN_MEMORY.entriesMax || this.#unsaved.has(entry)) this.#unsaved.set(entry, "changed");
    });
  }

  /**
   * Receives a batch of tail events.
   *
   * @internal
   */
  async take(events: readonly TailEvent[]): Promise<void> {
    this.#waiting.push(...events.slice(0, EVENTS_MAX - this.#waiting.length));
    this.#schedule();
  }

  /**
   * Returns the newest calls, or the newest calls before a call.
   *
   * @internal
   */
  async list(max: number, before?: number): Promise<readonly Summary[]> {
    return this.#calls.list(max, before);
  }

  /** @internal */
  async show(id: number): Promise<Entry | undefined> {
    return this.#calls.find(id);
  }

  /**
   * Returns the newest calls as a file that the page of `mcp-edge dev` can import.
   *
   * @internal
   */
  async exportFile(): Promise<string> {
    const endpoint = { url: "", path: "" };
    const info = {
      mode: "record" as const,
      endpoint,
      contents: this.#recorder.redactor.contents,
      faults: false,
      version: "",
    };
    return JSON.stringify(toRecording(this.#calls.newest(EXPORT_CHARACTERS_MAX), info, Date.now()));
  }

  /** Called by the platform when calls may have expired. */
  override async alarm(): Promise<void> {
    await this.#calls.deleteExpired();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#work();
    }, COLLECT_MS);
  }

  #work(): void {
    const events = this.#waiting;
    this.#waiting = [];
    this.#recorder.takeTail(inOrder(events));
    let isPending = false;
    for (const [live, state] of [...this.#unsaved]) {
      const entry = this.#recorder.entry(live.id);
      if (!entry || live.isControl) this.#unsaved.delete(live);
      else if (live.outcome === "running") this.#unsaved.set(live, "quiet");
      else if (state === "changed") {
        this.#unsaved.set(live, "quiet");
        isPending = true;
      } else {
        this.#calls.save(entry);
        this.#unsaved.delete(live);
      }
    }
    if (isPending || this.#waiting.length > 0) this.#schedule();
  }
}

/** Sorts events by time. The onset of a root invocation precedes other events of the same time. */
function inOrder(events: readonly TailEvent[]): TailEvent[] {
  const isFirst = ({ event, span }: TailEvent) => event.type === "onset" && span === undefined;
  return events.toSorted((one, other) => one.atMs - other.atMs || Number(isFirst(other)) - Number(isFirst(one)));
}
