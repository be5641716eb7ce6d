/**
 * Reads the bodies of HTTP responses: Server-Sent Events, and texts of a bounded size.
 *
 * @module
 */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { ClientError } from "../basics/errors.ts";

/** The time that a finished stream has to end by itself, so that its connection can be used again. */
const DRAIN_MS = 1_000;

export interface EventReceiver {
  /** Receives an event. Returns true if it is the last one that matters; the rest of the stream is discarded. */
  event(event: EventSourceMessage): boolean;
  /** Receives the time, in milliseconds, that the server wants to pass before a reconnection. */
  retry(ms: number): void;
  /** Resolves when more may be read. */
  ready?(): Promise<void>;
}

/**
 * Reads events until the stream ends, or until the receiver has seen its last one.
 *
 * @throws {ClientError} `message-too-large`.
 * @throws {unknown} the error of the connection when it breaks.
 */
export async function readEvents(body: ReadableStream<Uint8Array>, charsMax: number, to: EventReceiver): Promise<void> {
  let isDone = false;
  let tooLarge: ClientError | undefined;
  const parser = createParser({
    maxBufferSize: charsMax,
    onEvent: (event) => {
      isDone ||= to.event(event);
    },
    onRetry: (ms) => to.retry(ms),
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") tooLarge = messageTooLarge(charsMax);
    },
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      await to.ready?.();
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      if (tooLarge) throw tooLarge;
      if (isDone) return;
    }
  } finally {
    if (isDone) void drain(reader);
    else reader.cancel().catch(() => undefined);
  }
}

/** Reads to the end of a stream without its content. A connection that is broken off cannot be used again. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), DRAIN_MS);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The connection broke after everything that matters had arrived.
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads a body as text.
 *
 * @throws {ClientError} `message-too-large`.
 */
export async function readText(response: Response, bytesMax: number): Promise<string> {
  if (!response.body) return "";
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > bytesMax) {
      reader.cancel().catch(() => undefined);
      throw messageTooLarge(bytesMax);
    }
    text += decoder.decode(value, { stream: true });
  }
}

function messageTooLarge(max: number): ClientError {
  return new ClientError(
    "message-too-large",
    `A message of the server is larger than ${max} bytes (messageBytesMax).`,
    {
      mayHaveRun: true,
    },
  );
}
