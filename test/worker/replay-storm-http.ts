/** A minimal client with little overhead, because many of them run in one process. A lost reply rejects. */
import { Agent, type IncomingMessage, request } from "node:http";
import type { Reply, SentHeaders } from "./replay-storm-clients.ts";

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1_000 });

/** Sends a message by POST; without one, a GET. Resolves with the head of the response. */
export function send(url: string, headers: SentHeaders, message?: unknown): Promise<Reply> {
  const body = message === undefined ? undefined : Buffer.from(JSON.stringify(message));
  return new Promise((resolve, reject) => {
    const method = body ? "POST" : "GET";
    const length = body ? { "content-length": body.length } : {};
    const options = { agent, method, headers: { ...headers, ...length } };
    const sent = request(url, options, (response) => resolve(new NodeReply(response)));
    sent.on("error", reject);
    sent.end(body);
  });
}

class NodeReply implements Reply {
  readonly #response: IncomingMessage;

  constructor(response: IncomingMessage) {
    this.#response = response;
  }

  get status(): number {
    return Number(this.#response.statusCode);
  }

  header(name: string): string | undefined {
    return this.#response.headers[name]?.toString();
  }

  async text(): Promise<string> {
    let text = "";
    for await (const chunk of this.chunks()) text += chunk;
    return text;
  }

  async *chunks(): AsyncGenerator<string, void, undefined> {
    this.#response.setEncoding("utf8");
    for await (const chunk of this.#response) yield chunk as string;
  }
}
