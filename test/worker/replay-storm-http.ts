/** A minimal client with little overhead, because many of them run in one process. A lost reply rejects. */
import { Agent, type IncomingMessage, request } from "node:http";
import { createParser, type EventSourceMessage } from "eventsource-parser";

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1_000 });

export type SentHeaders = Readonly<Record<string, string>>;

/** Sends one request. Resolves with the head of the response, whose body has not been read. */
export function send(url: string, headers: SentHeaders, message?: unknown): Promise<IncomingMessage> {
  const body = message === undefined ? undefined : Buffer.from(JSON.stringify(message));
  return new Promise((resolve, reject) => {
    const method = body ? "POST" : "GET";
    const length = body ? { "content-length": body.length } : {};
    const sent = request(url, { agent, method, headers: { ...headers, ...length } }, resolve);
    sent.on("error", reject);
    sent.end(body);
  });
}

export async function textOfReply(reply: IncomingMessage): Promise<string> {
  reply.setEncoding("utf8");
  let text = "";
  for await (const chunk of reply) text += chunk as string;
  return text;
}

/** Passes on the events of a stream until it ends; rejects if it is lost. */
export async function readEvents(reply: IncomingMessage, onEvent: (event: EventSourceMessage) => void): Promise<void> {
  const parser = createParser({ onEvent });
  reply.setEncoding("utf8");
  for await (const chunk of reply) parser.feed(chunk as string);
}
