/**
 * `mcp-edge bridge`: serves a host over stdio and forwards to a server.
 *
 * @module
 */
import { setTimeout } from "node:timers/promises";
import { connect } from "../client/index.ts";
import {
  ErrorCode,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  parseMessage,
  type RequestId,
} from "../core/protocol/jsonrpc.ts";
import { DEFAULT_LIMITS } from "../core/protocol/limits.ts";
import { StdioServerTransport } from "../node/index.ts";
import { Exit } from "./exit.ts";
import { checkCredentials, openTarget } from "./open-target.ts";
import type { ConnectionOptions } from "./options.ts";
import { redactText } from "./redact.ts";
import { HostOutput } from "./relay/host-output.ts";
import { Relay } from "./relay/relay.ts";
import { nameOf, readTarget } from "./target.ts";
import { createTerminal, oneLine } from "./terminal.ts";

/** How long requests may still take after the host has closed the input, in milliseconds. */
const IDLE_MS = 5_000;
/** How long closing may take, in milliseconds. A process of the server is ended within it. */
const CLOSE_MS = 6_000;
/** The largest message of the host, in bytes, which is that of a server. */
const LINE_BYTES_MAX = 32 * 1024 * 1024;
/** The longest line on standard error, in characters. */
const NOTE_CHARS_MAX = 1_000;

/** Runs the command until the host closes the input, and returns the exit code. */
export async function bridge(server: string, options: ConnectionOptions): Promise<number> {
  const terminal = createTerminal();
  const target = await readTarget(server, options);
  checkCredentials(target, options.header);
  const ending = new AbortController();
  const open = async (more: object) => {
    // A process is started anew for each connection.
    const opened = await openTarget(target, options, terminal, { signal: ending.signal, mayAsk: true });
    const { protocolVersions } = opened.options;
    const throttled = opened.options.fetch ? { fetch: output.throttle(opened.options.fetch) } : {};
    const all = { ...opened.options, ...throttled, ...more, ...(protocolVersions ? { protocolVersions } : {}) };
    return connect(opened.target, all);
  };
  const stdio = new StdioServerTransport();
  // A host may send what the server may answer.
  stdio.limits = { ...DEFAULT_LIMITS, bodyBytesMax: LINE_BYTES_MAX, bodyValuesMax: LINE_BYTES_MAX };
  const note = (text: string) => terminal.note(`mcp-edge bridge: ${oneLine(redactText(text), NOTE_CHARS_MAX)}`);
  const pauseInput = (isPaused: boolean) => void (isPaused ? process.stdin.pause() : process.stdin.resume());
  const output = new HostOutput(stdio, note, pauseInput);
  const send = (message: JSONRPCMessage) => output.send(message);
  const relay = new Relay(open, { send }, note);
  const host = new HostConnection(relay, send);
  stdio.onmessage = (message) => host.receive(message);
  stdio.onunreadable = ({ reason, message }) => {
    note(message);
    // The id cannot be known, so the error has none.
    send({
      jsonrpc: "2.0",
      error: { code: reason === "not-json" ? ErrorCode.ParseError : ErrorCode.InvalidRequest, message },
    });
  };
  await stdio.start();
  if (options.debug) note(`forwards to ${nameOf(target)}`);
  const signalled = untilSignal();
  await Promise.race([stdio.ended, signalled]);
  // Nobody waits for a sign-in any more.
  ending.abort();
  await Promise.race([host.idle(), signalled, setTimeout(IDLE_MS)]);
  await Promise.race([relay.close(), setTimeout(CLOSE_MS)]);
  return Exit.ok;
}

function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
}

/** A host on a channel that all messages share: answers are sent on it, and requests are cancelled by a notification. */
class HostConnection {
  readonly #relay: Relay;
  readonly #send: (message: JSONRPCMessage) => void;
  readonly #serving = new Map<RequestId, AbortController>();
  /** The requests that are answered before the end. */
  readonly #awaited = new Set<JSONRPCRequest>();
  #wake = () => {};

  constructor(relay: Relay, send: (message: JSONRPCMessage) => void) {
    this.#relay = relay;
    this.#send = send;
  }

  /** Takes a message of the host, or a batch of them (2025-03-26). */
  receive(value: unknown): void {
    if (Array.isArray(value)) {
      for (const each of value) this.receive(each);
      return;
    }
    const parsed = parseMessage(value);
    if (parsed.kind === "request") void this.#serve(parsed.message);
    else if (parsed.kind === "response") this.#relay.answer(parsed.message);
    else if (parsed.kind === "notification") this.#notice(parsed.message);
    else if (!parsed.isNotification) {
      const { id, problem } = parsed;
      this.#send({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error: { code: -32600, message: problem } });
    }
  }

  /**
   * Resolves when no request is left, except listens, which do not end by themselves. Requests that were piped in by hand
   * are answered before the end.
   */
  async idle(): Promise<void> {
    while (this.#awaited.size > 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async #serve(request: JSONRPCRequest): Promise<void> {
    const abort = new AbortController();
    this.#serving.set(request.id, abort);
    if (request.method !== "subscriptions/listen") this.#awaited.add(request);
    const answer = await this.#relay.serve(request, { send: this.#send }, abort.signal);
    this.#serving.delete(request.id);
    this.#awaited.delete(request);
    if (answer) this.#send(answer);
    this.#wake();
  }

  #notice(message: JSONRPCNotification): void {
    const { method, params = {} } = message;
    if (method === "notifications/cancelled") {
      this.#serving.get(params.requestId as RequestId)?.abort(new Error("The host cancelled the request."));
    }
    void this.#relay.notice(message);
  }
}
