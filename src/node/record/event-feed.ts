/**
 * The stream of changes that the page of the recorder reads.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { LiveEntry } from "../../recorder/assemble/live-entry.ts";
import type { Recorder } from "../../recorder/recorder.ts";

/** Milliseconds for which changes are collected. An entry that changes more often is sent once. */
const COLLECT_MS = 50;

/** A reader that is behind by more bytes gets no changes until it has read them. It then asks for all since the last one. */
const BEHIND_BYTES_MAX = 1024 * 1024;

/** Milliseconds between two comments, by which a lost connection is noticed. */
const HEARTBEAT_MS = 20_000;

interface Reader {
  readonly response: ServerResponse;
  /** The number of the last change that was sent, and whether later ones were left out. */
  sentSeq: number;
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

  /** Answers with a stream of `summary` events. Their ids are the numbers of the changes, so that a reader can resume. */
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

  /** Tells readers that all entries were removed. */
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
