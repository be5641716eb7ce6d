/**
 * Receives batches of events from the tail Worker.
 *
 * @module
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { isObject } from "../../core/protocol/jsonrpc.ts";
import type { TailEvent } from "../../recorder/tail/tail-event.ts";

/** The maximum size of a batch, in bytes. */
const REPORT_BYTES_MAX = 32 * 1024 * 1024;

/** The server to which the tail Worker sends its batches. */
export interface Collector {
  readonly url: string;
  readonly secret: string;
  close(): void;
}

/** Starts a server on the loopback address. */
export async function startCollector(take: (events: readonly TailEvent[]) => void): Promise<Collector> {
  const secret = randomBytes(24).toString("base64url");
  const server = createServer((request, response) => {
    if (!isExpected(request, secret)) {
      response.writeHead(403).end();
      return;
    }
    readReport(request).then(
      (events) => {
        // The tail Worker does not wait until the events are processed.
        response.writeHead(204).end();
        try {
          take(events);
        } catch (error) {
          console.error("mcp-edge: some events could not be recorded", error);
        }
      },
      () => response.writeHead(400).end(),
    );
  });
  await listen(server);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    secret,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve());
  });
}

function isExpected({ method, headers }: IncomingMessage, secret: string): boolean {
  const [given, expected] = [headers.authorization ?? "", `Bearer ${secret}`].map((text) => Buffer.from(text));
  return method === "POST" && given?.length === expected?.length && timingSafeEqual(given ?? EMPTY, expected ?? EMPTY);
}

const EMPTY = Buffer.alloc(0);

async function readReport(request: IncomingMessage): Promise<TailEvent[]> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > REPORT_BYTES_MAX) throw new Error("The report is too large.");
    chunks.push(chunk);
  }
  return readEvents(JSON.parse(Buffer.concat(chunks).toString("utf8")));
}

/** Returns the events of a batch. Invalid elements are omitted. */
export function readEvents(report: unknown): TailEvent[] {
  if (!Array.isArray(report)) return [];
  return report.filter(
    (each): each is TailEvent => isObject(each) && isObject(each.event) && typeof each.invocation === "string",
  );
}
