/**
 * Back-pressure: while the host reads too slowly, neither the bodies of the server's responses nor the output of its process are
 * read, so that the server has to wait.
 *
 * @module
 */
import type { ClientOptions, FetchFunction, Transport } from "../../client/index.ts";
import type { ReopenableTransport } from "../../client/transports/pipe-opener.ts";

/** Controls when data may be read from a server. */
export interface Gate {
  /** Returns undefined if data may be read now, or else a promise that resolves when it may be. */
  opened(): Promise<void> | undefined;
}

/** The arguments of `connect()`. */
export interface ConnectArguments {
  readonly target: string | Transport;
  readonly options: ClientOptions;
}

/** Returns arguments for a connection that reads data from its server only while the gate is open. */
export function hold({ target, options }: ConnectArguments, gate: Gate): ConnectArguments {
  if (typeof target !== "string") return { target: holdTransport(target, gate), options };
  const send: FetchFunction = options.fetch ?? ((url, init) => fetch(url, init));
  return { target, options: { ...options, fetch: async (url, init) => holdBody(await send(url, init), gate) } };
}

function holdBody(response: Response, gate: Gate): Response {
  if (!response.body) return response;
  const reader = response.body.getReader();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    await gate.opened();
    const { done, value } = await reader.read();
    if (done) controller.close();
    else controller.enqueue(value);
  };
  const cancel = (reason: unknown) => reader.cancel(reason);
  return new Response(new ReadableStream<Uint8Array>({ pull, cancel }, { highWaterMark: 0 }), response);
}

/** A transport that can pause reading, such as the transport of a child process. */
type Pausable = Transport & { pause(): void; resume(): void };

/** Whether a transport can pause reading. */
export function isPausable(transport: Transport): transport is Pausable {
  return "pause" in transport && "resume" in transport;
}

function holdTransport(inner: Transport, gate: Gate): Transport {
  if (!isPausable(inner)) return inner;
  let isHeld = false;
  const wait = () => {
    const opened = isHeld ? undefined : gate.opened();
    if (!opened) return;
    isHeld = true;
    inner.pause();
    void opened.then(() => {
      isHeld = false;
      inner.resume();
    });
  };
  const outer: Transport = {
    start() {
      inner.onmessage = (message) => {
        outer.onmessage?.(message);
        wait();
      };
      inner.onclose = () => outer.onclose?.();
      inner.onerror = (error) => outer.onerror?.(error);
      inner.onunreadable = (problem) => outer.onunreadable?.(problem);
      return inner.start();
    },
    send: (message) => inner.send(message),
    close: () => inner.close(),
  };
  const { reopen } = inner as Partial<ReopenableTransport>;
  return reopen ? Object.assign(outer, { reopen: () => holdTransport(reopen.call(inner), gate) }) : outer;
}
