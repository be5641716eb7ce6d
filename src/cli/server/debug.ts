/**
 * `--debug`: logs every message of a connection to standard error, with secrets redacted.
 *
 * @module
 */
import { createParser } from "eventsource-parser";
import type { FetchFunction, Transport } from "../../client/index.ts";
import type { ReopenableTransport } from "../../client/transports/pipe-opener.ts";
import { isObject, type JSONRPCMessage } from "../../core/protocol/jsonrpc.ts";
import { hasEnvelope } from "../../core/protocol/lifecycle.ts";
import { isPausable } from "../relay/back-pressure.ts";
import { redact, redactHeader, redactQuery } from "../terminal/redact.ts";
import { oneLine, toJson } from "../terminal/terminal.ts";

type Log = (line: string) => void;

/** The maximum number of characters of a message in the log. Longer messages are cut, but their full size is logged. */
const SHOWN_MAX = 2_000;
const startMs = performance.now();

/** Formats a message: time since the start, direction, era, method, id, size and content. */
export function describeMessage(direction: "->" | "<-", text: string): string {
  const time = `${((performance.now() - startMs) / 1000).toFixed(3)}s`;
  const head = `[debug] ${time} ${direction}`;
  try {
    return describeValue(head, text, JSON.parse(text));
  } catch (error) {
    // Logging must not change the outcome. If a message is nested too deeply, the client refuses it.
    const reason = error instanceof SyntaxError ? "are not JSON" : "cannot be displayed";
    return `${head} ${text.length} characters that ${reason}`;
  }
}

function describeValue(head: string, text: string, value: unknown): string {
  const facts = [value].flat().map(listFacts).join(", ");
  const shown = toJson(redact(value));
  const cut = shown.length > SHOWN_MAX ? `${shown.slice(0, SHOWN_MAX)}…` : shown;
  return `${head} ${facts} ${new TextEncoder().encode(text).length}B ${cut}`;
}

function listFacts(message: unknown): string {
  if (!isObject(message)) return "not a message";
  const { id, method, params, error } = message;
  const era = isObject(params) && hasEnvelope(params) ? "modern " : "";
  const what = typeof method === "string" ? method : error === undefined ? "result" : "error";
  const name = id === undefined ? "" : `#${typeof id === "string" ? id : JSON.stringify(id)}`;
  return oneLine(`${era}${what}${name}`);
}

/** Returns a transport that logs the messages of an inner transport. */
export function watchTransport(inner: Transport, log: Log): Transport {
  const outer: Transport = {
    start() {
      inner.onmessage = (message) => {
        log(describeMessage("<-", toText(message)));
        outer.onmessage?.(message);
      };
      inner.onclose = () => outer.onclose?.();
      inner.onerror = (error) => outer.onerror?.(error);
      inner.onunreadable = (problem) => outer.onunreadable?.(problem);
      return inner.start();
    },
    send(message: JSONRPCMessage) {
      log(describeMessage("->", toText(message)));
      return inner.send(message);
    },
    close: () => inner.close(),
  };
  if (isPausable(inner)) Object.assign(outer, { pause: () => inner.pause(), resume: () => inner.resume() });
  const { reopen } = inner as Partial<ReopenableTransport>;
  if (!reopen) return outer;
  return Object.assign(outer, { reopen: () => watchTransport(reopen.call(inner), log) });
}

function toText(message: JSONRPCMessage): string {
  try {
    return JSON.stringify(message);
  } catch {
    return "";
  }
}

/** Returns a `fetch` that logs requests, headers, and messages in both directions. */
export function watchFetch(log: Log): FetchFunction {
  return async (url, init) => {
    const { method = "GET", body } = init;
    log(`[debug] ${method} ${redactQuery(url)} ${headersText(new Headers(init.headers))}`);
    if (typeof body === "string") log(describeMessage("->", body));
    const response = await fetch(url, init);
    log(`[debug] HTTP ${response.status} ${headersText(response.headers)}`);
    if (!response.body) return response;
    const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream") === true;
    const watched = response.body.pipeThrough(isStream ? watchEvents(log) : watchWhole(log));
    return withBody(response, watched);
  };
}

/** The members to copy from the original response. The constructor of Response rejects some values that servers send. */
const COPIED = ["status", "statusText", "ok", "headers", "url", "redirected"] as const;

/** Returns a copy of a response with a different body. */
function withBody(response: Response, body: ReadableStream<Uint8Array>): Response {
  const members = COPIED.map((name) => [name, { value: response[name] }] as const);
  return Object.defineProperties(new Response(body), Object.fromEntries(members));
}

function headersText(headers: Headers): string {
  return [...headers].map(([name, value]) => `${name}: ${redactHeader(name, value)}`).join("; ");
}

function watchEvents(log: Log): TransformStream<Uint8Array, Uint8Array> {
  const parser = createParser({
    onEvent: ({ data, event }) => {
      // The `endpoint` event of HTTP+SSE contains the secret URL of the session. Events without data only set the event id.
      if (event === "endpoint") log("[debug] <- endpoint");
      else if (data !== "") log(describeMessage("<-", data));
    },
  });
  const decoder = new TextDecoder();
  return new TransformStream({
    transform(chunk, controller) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      controller.enqueue(chunk);
    },
  });
}

function watchWhole(log: Log): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let text = "";
  return new TransformStream({
    transform(chunk, controller) {
      text += decoder.decode(chunk, { stream: true });
      controller.enqueue(chunk);
    },
    flush() {
      if (text !== "") log(describeMessage("<-", text));
    },
  });
}
