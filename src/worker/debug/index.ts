/**
 * A line in the log for each message of an endpoint, as middleware.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import { pause } from "../../core/basics/pause.ts";
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import { checkFunction } from "../../core/protocol/errors.ts";
import { isObject } from "../../core/protocol/jsonrpc.ts";
import { MessageLog } from "../../core/serve/message-log.ts";

/** Options of {@link debug}. */
export interface DebugOptions {
  /** Receives each line. Its exceptions are logged, and do not change the response. @default console.log */
  readonly to?: (line: string) => void;
}

const OPTIONS: OptionTable<DebugOptions> = { to: null };

/** The maximum length of a message that is read for the log. @limit bytes A message that `debug()` logs. A longer one is not logged. */
const READ_MAX = 1_048_576;

/**
 * Logs each message that clients and the endpoint exchange, as middleware in the option `use` of `edge()`: direction, kind,
 * era, method, tool or prompt, id, error code, size and time, and never the contents. Each message is a line of JSON with the
 * member `mcp`. For finding faults: it reads every body and every stream a second time.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * export default edge(server, { use: [debug()] });
 * ```
 */
export function debug(options: DebugOptions = {}): MiddlewareHandler {
  checkOptions("debug(): ", options, OPTIONS);
  checkFunction("debug(): to", options.to);
  const { to = console.log } = options;
  return async (context, next) => {
    const log = new MessageLog(to, reportLost);
    const { raw } = context.req;
    const body = raw.method === "POST" && raw.body ? readCopy(raw.clone()) : undefined;
    const received = body?.text.then((text) => text !== undefined && addText(log, "in", text));
    await next();
    const { res } = context;
    // The body of a refused request might never arrive.
    if (res.status >= 400) await Promise.race([received, pause(0)]);
    else await received;
    body?.cancel();
    context.res = observe(res, log);
  };
}

function reportLost(error: unknown): void {
  console.error("mcp-edge: a line of the debug log was lost", error);
}

function addText(log: MessageLog, direction: "in" | "out", text: string): void {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Logged as invalid.
  }
  // The other routes of the app, such as metadata and health(), respond with JSON that is not a message.
  if (direction === "out" && isObject(value) && !("jsonrpc" in value)) return;
  log.add(direction, value, text.length);
}

/** Reads a copy of a body. `text` resolves undefined if it is too long, is cut off, or is cancelled. */
function readCopy({ body }: { readonly body: ReadableStream<Uint8Array> | null }) {
  const reader = body?.getReader();
  const cancel = () => void reader?.cancel().catch(() => undefined);
  const read = async (): Promise<string | undefined> => {
    const decoder = new TextDecoder();
    let text = "";
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return text + decoder.decode();
      text += decoder.decode(value, { stream: true });
      if (text.length > READ_MAX) return undefined;
    }
  };
  return { text: read().catch(() => undefined), cancel };
}

/** Returns the response, whose messages are logged while it is sent. */
function observe(response: Response, log: MessageLog): Response {
  const type = response.headers.get("Content-Type") ?? "";
  if (!response.body || !/^(application\/json|text\/event-stream)\b/.test(type)) return response;
  const events = type.startsWith("text/event-stream") ? new EventLines((text) => addText(log, "out", text)) : undefined;
  const decoder = new TextDecoder();
  let text = "";
  const watched = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const part = decoder.decode(chunk, { stream: true });
      if (events) events.add(part);
      else if (text.length <= READ_MAX) text += part;
      controller.enqueue(chunk);
    },
    flush() {
      if (!events && text.length <= READ_MAX) addText(log, "out", text);
    },
  });
  return new Response(response.body.pipeThrough(watched), response);
}

/** Finds the data of the events of a stream. The endpoint writes each message on one line. */
class EventLines {
  readonly #found: (data: string) => void;
  #rest = "";

  constructor(found: (data: string) => void) {
    this.#found = found;
  }

  add(part: string): void {
    const lines = (this.#rest + part).split("\n");
    this.#rest = lines.pop() ?? "";
    // A line that is too long is cut off, and is then logged as invalid.
    if (this.#rest.length > READ_MAX) this.#rest = this.#rest.slice(0, "data: ".length);
    for (const line of lines) if (line.startsWith("data: {") || line.startsWith("data: [")) this.#found(line.slice(6));
  }
}
