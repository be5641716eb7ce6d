/**
 * Reads the bodies of requests and responses for the recorder: JSON, Server-Sent Events, or only their size.
 *
 * The proxied bytes are not changed. Compressed bodies are decompressed in a copy, because wrangler compresses responses for
 * clients that accept it.
 *
 * @module
 */
import {
  brotliDecompressSync,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  gunzipSync,
  inflateSync,
} from "node:zlib";
import { createParser, type EventSourceParser } from "eventsource-parser";
import { headerOf, type MessageHead } from "./http-reader.ts";

/** The maximum size of a body that is read as JSON, and of an event, in bytes. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;

/** The maximum total size of buffered bodies in bytes, so that many incomplete bodies cannot exhaust memory. */
const HELD_BYTES_MAX = 64 * 1024 * 1024;

let held = 0;

/** Returns the total size of the buffered bodies, in bytes. */
export function heldBytes(): number {
  return held;
}

/** A complete body. */
export type ReadBody =
  | { readonly kind: "json"; readonly json: unknown; readonly bytes: number }
  | { readonly kind: "other"; readonly bytes: number };

/** Reads one body. */
export interface BodyReader {
  read(data: Buffer): void;
  /** Calls a function when the body has been read: immediately, unless a stream is being decompressed. */
  end(done: (body: ReadBody) => void): void;
  /** Releases the memory of an incomplete body. */
  discard(): void;
}

const DECOMPRESS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => gunzipSync(bytes, { maxOutputLength: BODY_BYTES_MAX }),
  deflate: (bytes) => inflateSync(bytes, { maxOutputLength: BODY_BYTES_MAX }),
  br: (bytes) => brotliDecompressSync(bytes, { maxOutputLength: BODY_BYTES_MAX }),
};

/** Returns a reader for a body that is not a stream of events. */
export function readBody(head: MessageHead): BodyReader {
  let bytes = 0;
  const decompress = DECOMPRESS[encodingOf(head)];
  const isJson = /\bjson\b/i.test(headerOf(head, "content-type") ?? "");
  let chunks: Buffer[] | undefined = isJson && decompress ? [] : undefined;
  let own = 0;
  const discard = () => {
    chunks = undefined;
    held -= own;
    own = 0;
  };
  return {
    discard,
    read(data) {
      bytes += data.length;
      if (bytes > BODY_BYTES_MAX || held + data.length > HELD_BYTES_MAX) discard();
      if (!chunks) return;
      chunks.push(data);
      own += data.length;
      held += data.length;
    },
    end(done) {
      const json = chunks && bytes > 0 && decompress ? parseBytes(Buffer.concat(chunks), decompress) : undefined;
      discard();
      done(json === undefined ? { kind: "other", bytes } : { kind: "json", json, bytes });
    },
  };
}

/** Receives the events of a stream. */
export interface EventReceiver {
  message(json: unknown, characters: number, eventId: string | undefined): void;
  event(eventId: string): void;
}

/** Returns a reader for Server-Sent Events. It stops at an event that is too large. */
export function readEvents(head: MessageHead, receiver: EventReceiver): BodyReader {
  let bytes = 0;
  const decoder = new TextDecoder();
  let parser: EventSourceParser | undefined = createEvents(receiver, () => {
    parser = undefined;
  });
  const feed = (data: Buffer) => parser?.feed(decoder.decode(data, { stream: true }));
  const stream = decompressing(encodingOf(head), feed);
  return {
    read(data) {
      bytes += data.length;
      if (stream === "identity") feed(data);
      else stream?.write(data);
    },
    end(done) {
      if (stream === "identity" || stream === undefined || stream.destroyed) done({ kind: "other", bytes });
      else {
        stream.once("close", () => done({ kind: "other", bytes }));
        stream.end();
      }
    },
    discard() {
      parser = undefined;
      if (stream !== "identity") stream?.destroy();
    },
  };
}

/** Returns a decompressing stream. Undefined for an unknown encoding. */
function decompressing(encoding: string, take: (data: Buffer) => void) {
  if (encoding === "identity") return "identity" as const;
  const create = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress }[encoding];
  const stream = create?.();
  stream?.on("data", take);
  // The compressed data is incomplete, because the connection was lost.
  stream?.on("error", () => stream.destroy());
  return stream;
}

function createEvents(receiver: EventReceiver, giveUp: () => void): EventSourceParser {
  return createParser({
    maxBufferSize: BODY_BYTES_MAX,
    onEvent: ({ id, data }) => {
      const json = data === "" ? undefined : parseJson(data);
      // The first event of a stream has only an id. The `endpoint` event of 2024-11-05 contains a path, not JSON.
      if (json === undefined) {
        if (id !== undefined) receiver.event(id);
      } else receiver.message(json, data.length, id);
    },
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") giveUp();
    },
  });
}

function encodingOf(head: MessageHead): string {
  return (headerOf(head, "content-encoding") ?? "identity").trim().toLowerCase();
}

function parseBytes(bytes: Buffer, decompress: (bytes: Buffer) => Buffer): unknown {
  try {
    return parseJson(decompress(bytes).toString("utf8"));
  } catch {
    // The body is incomplete or too large.
    return undefined;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The body is not JSON, despite its Content-Type.
    return undefined;
  }
}
