/**
 * Reads the bodies of HTTP responses, up to a maximum size: Server-Sent Events, and text.
 *
 * @module
 */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { ClientError } from "../basics/errors.ts";

/** How long a stream may take to end after its last event, in milliseconds, so that its connection can be reused. */
const DRAIN_MS = 1_000;

export interface EventReceiver {
  /** Receives an event. Returns true if no other event is needed; the rest of the stream is then discarded. */
  event(event: EventSourceMessage): boolean;
  /** Receives the pause before a reconnection that the server asks for, in milliseconds. */
  retry(ms: number): void;
  /** Resolves when the next part of the stream may be read. */
  ready?(): Promise<void>;
}

/**
 * Reads events until the stream ends, or until the receiver needs no other event.
 *
 * @throws {ClientError} `message-too-large`.
 * @throws {unknown} the network error if the connection breaks.
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

/** Reads and discards the rest of a stream. Cancelling the stream would prevent its connection from being reused. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), DRAIN_MS);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The connection broke, but everything that was needed had arrived.
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
