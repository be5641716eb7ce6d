/** Sends one request over a real socket and reads the response as far as it matters. */
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import type { Input } from "./grammar.ts";

/** The response. */
export interface Exchange {
  /** 0 when the connection was lost before a status line. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Milliseconds until the response's headers were there. */
  readonly waitedMs: number;
  /** Whether the response ended by itself. False for a stream that was left. */
  readonly isComplete: boolean;
  readonly error: string | undefined;
}

/** Milliseconds a stream is listened to. */
const LISTEN_MS = 40;
/** How long to wait for a response, in milliseconds. */
const GIVE_UP_MS = 20_000;

export class Exchanger {
  readonly #origin: URL;
  readonly #agent: Agent;

  constructor(origin: string, connections: number) {
    this.#origin = new URL(origin);
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  close(): void {
    this.#agent.destroy();
  }

  send({ method, path, headers, body }: Input): Promise<Exchange> {
    const startedAtMs = performance.now();
    return new Promise((resolve) => {
      const { hostname, port } = this.#origin;
      const sent = request({
        agent: this.#agent,
        hostname,
        port,
        method,
        path,
        headers: { ...headers, ...lengthOf(body) },
      });
      const lost = (error: Error) => {
        const waitedMs = performance.now() - startedAtMs;
        resolve({ status: 0, headers: {}, body: "", waitedMs, isComplete: false, error: error.message });
      };
      sent.setTimeout(GIVE_UP_MS, () => sent.destroy(new Error("no answer")));
      sent.once("error", lost);
      sent.once("response", (response) => {
        const waitedMs = performance.now() - startedAtMs;
        const status = response.statusCode ?? 0;
        let text = "";
        const settle = (isComplete: boolean) => {
          clearTimeout(timer);
          resolve({ status, headers: response.headers, body: text, waitedMs, isComplete, error: undefined });
        };
        const isStream = response.headers["content-type"]?.startsWith("text/event-stream") ?? false;
        const timer = setTimeout(
          () => {
            settle(false);
            response.destroy();
          },
          isStream ? LISTEN_MS : GIVE_UP_MS,
        );
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
        });
        response.once("end", () => settle(true));
        response.once("error", () => settle(false));
      });
      sent.end(body);
    });
  }
}

function lengthOf(body: Buffer | undefined): Record<string, string> {
  return body === undefined ? {} : { "Content-Length": String(body.length) };
}
