/**
 * The stream of changes for the page of the recorder.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { LiveEntry } from "../../recorder/assemble/live-entry.ts";
import type { Recorder } from "../../recorder/recorder.ts";

/** How long changes are collected, in milliseconds. An entry that changes repeatedly in this time is sent once. */
const COLLECT_MS = 50;

/** The maximum number of buffered bytes of a reader. A slower reader receives further changes once it has caught up. */
const BEHIND_BYTES_MAX = 1024 * 1024;

/** The interval between keepalive comments, in milliseconds, which detect lost connections. */
const HEARTBEAT_MS = 20_000;

interface Reader {
  readonly response: ServerResponse;
  /** The `seq` of the last change that was sent. */
  sentSeq: number;
  /** Whether later changes were skipped. */
  isBehind: boolean;
}

export class EventFeed {
  readonly #recorder: Recorder;
  readonly #readers = new Set<Reader>();
  readonly #changed = new Set<LiveEntry>();
  #timer: NodeJS.Timeout | undefined;

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
    recorder.onChange((entry) => {
      if (this.#readers.size === 0) return;
      this.#changed.add(entry);
      this.#timer ??= setTimeout(() => this.#flush(), COLLECT_MS).unref();
    });
  }

  /** Responds with a stream of `summary` events. Their ids are the `seq` of the entries, so that a reader can resume. */
  add(request: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
    });
    response.write("retry: 1000\n\n");
    const reader: Reader = { response, sentSeq: Number(request.headers["last-event-id"] ?? 0) || 0, isBehind: false };
    if (reader.sentSeq > 0) this.#catchUp(reader);
    this.#readers.add(reader);
    const heartbeat = setInterval(() => response.write(": keepalive\n\n"), HEARTBEAT_MS).unref();
    response.on("drain", () => {
      if (reader.isBehind) this.#catchUp(reader);
    });
    response.on("close", () => {
      clearInterval(heartbeat);
      this.#readers.delete(reader);
    });
  }

  /** Notifies readers that all entries were removed. */
  cleared(): void {
    this.#changed.clear();
    for (const { response } of this.#readers) response.write("event: clear\ndata: {}\n\n");
  }

  #flush(): void {
    this.#timer = undefined;
    const entries = [...this.#changed].sort((one, other) => one.seq - other.seq);
    this.#changed.clear();
    const events = entries.map((entry) => formatSummary(this.#recorder.summarize(entry)));
    const text = events.join("");
    const seq = entries.at(-1)?.seq ?? 0;
    for (const reader of this.#readers) {
      if (reader.response.writableLength > BEHIND_BYTES_MAX) {
        reader.isBehind = true;
        continue;
      }
      reader.response.write(text);
      if (!reader.isBehind) reader.sentSeq = seq;
    }
  }

  #catchUp(reader: Reader): void {
    reader.isBehind = false;
    const summaries = this.#recorder.summaries(reader.sentSeq).sort((one, other) => one.seq - other.seq);
    reader.response.write(summaries.map(formatSummary).join(""));
    reader.sentSeq = summaries.at(-1)?.seq ?? reader.sentSeq;
  }
}

function formatSummary(summary: { readonly seq: number }): string {
  return `event: summary\nid: ${summary.seq}\ndata: ${JSON.stringify(summary)}\n\n`;
}
