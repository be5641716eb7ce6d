/**
 * Reads the bodies of HTTP responses: Server-Sent Events, and texts of a bounded size.
 *
 * @module
 */
import { ClientError } from "./errors.ts";

/** The time that a finished stream has to end by itself, so that its connection can be used again. */
const DRAIN_MS = 1_000;

/** An event of a stream. */
export interface StreamEvent {
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  readonly data: string;
}

export interface EventReceiver {
  /** Receives an event. Returns true if it is the last one that matters; the rest of the stream is discarded. */
  event(event: StreamEvent): boolean;
  /** Receives the time, in milliseconds, that the server wants to pass before a reconnection. */
  retry(ms: number): void;
}

/**
 * Reads events until the stream ends, or until the receiver has seen its last one.
 *
 * @throws {ClientError} `message-too-large`.
 * @throws {unknown} the error of the connection when it breaks.
 */
export async function readEvents(body: ReadableStream<Uint8Array>, charsMax: number, to: EventReceiver): Promise<void> {
  let isDone = false;
  const event = (each: StreamEvent): boolean => {
    isDone ||= to.event(each);
    return isDone;
  };
  const parse = eventParser(charsMax, { event, retry: (ms) => to.retry(ms) });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parse(decoder.decode(value, { stream: true }));
      if (isDone) return;
    }
  } finally {
    if (isDone) void drain(reader);
    else reader.cancel().catch(() => undefined);
  }
}

/**
 * Returns a function that takes the text of a stream piece by piece. An event without data is none, and its id is
 * forgotten.
 *
 * @throws {ClientError} `message-too-large`, from the function.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function eventParser(charsMax: number, to: EventReceiver): (text: string) => void {
  /** The line that has not ended. */
  let rest = "";
  let id: string | undefined;
  let event: string | undefined;
  let data: string | undefined;
  const take = (line: string): void => {
    const [, name, value = ""] = /^([^:]*)(?:: ?)?(.*)$/s.exec(line) ?? [];
    if (line === "") {
      if (data !== undefined) to.event({ id, event, data });
      id = event = data = undefined;
    } else if (name === "data") data = data === undefined ? value : `${data}\n${value}`;
    else if (name === "event") event = value || undefined;
    else if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "retry" && /^\d+$/.test(value)) to.retry(Number(value));
  };
  return (text) => {
    // A long line is searched only once for its end. A CR at the end of a piece may be half of a line break.
    const hasEnd = /[\r\n]/.test(text) || rest.endsWith("\r");
    rest += text;
    if (hasEnd) {
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      lines.forEach(take);
    }
    if (rest.length + (data?.length ?? 0) > charsMax) throw messageTooLarge(charsMax);
  };
}

/** Reads to the end of a stream without its content. A connection that is broken off cannot be used again. */
async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), DRAIN_MS);
  try {
    while (!(await reader.read()).done);
  } catch {
    // The connection broke after everything that matters.
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
