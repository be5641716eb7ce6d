/**
 * Inspects the content of a file while it is streamed, and records what it reveals about the media type.
 *
 * @module
 */
import { encodeText } from "../core/basics/bytes.ts";
import { detectMediaType } from "../safe/media.ts";

/** What the content of a file shows. Plain data, which is stored with the file. */
export interface ContentFacts {
  /** The media type that the first bytes show. */
  readonly detected?: string | undefined;
  /** Whether the whole content is UTF-8 without control characters other than tabs, line breaks and form feeds. */
  readonly isText: boolean;
  /** Whether it seems to be text in another encoding than UTF-8: UTF-16 with a byte order mark, or one such as Latin-1. */
  readonly isForeignText?: boolean | undefined;
  /**
   * How the content begins. Text: `html`, `svg`, `xml` or `json`, or `tag` for any other element. A ZIP archive: `office` if its first
   * entry belongs to an Office document, or the media type that its first entry contains (OpenDocument, EPUB). `blank` if only white
   * space has been read so far.
   */
  readonly form?: string | undefined;
}

/**
 * The number of bytes at the start of a file that show its format. A file that they already show to be of a wrong type is
 * refused before the rest is read.
 * @limit internal
 */
export const HEAD_MAX = 512;

/** Elements with which browsers recognise HTML. */
const HTML =
  /^<(!doctype html|!--|(html|head|body|script|iframe|h1|div|font|table|a|style|title|b|br|p|img|form|meta|link|object|embed)\b)/i;
/** SVG may contain scripts too. */
const SVG = /^(<\?xml[^>]{0,200}>\s*)?(<!doctype\s+svg\b|<svg\b)/i;
/** Text in UTF-16 begins with one of these byte order marks, if it has one. */
const UTF_16 = ["\xff\xfe", "\xfe\xff"];
const JSON_START = /^([[{"]|-?\d|(true|false|null)\b)/;
/** The first entries of documents that Office programs and libraries write. */
const OFFICE_ENTRY = /^(\[Content_Types\]\.xml|_rels\/|docProps\/|word\/|xl\/|ppt\/|customXml\/)/;

/** White space, and the bytes of a byte order mark in UTF-8. */
const BLANK = [...encodeText(" \t\n\f\r\ufeff")];

/** Control characters after ASCII. Some terminals run them as escape sequences. U+0085 is a line break. */
const CONTROL = /[\u0080-\u0084\u0086-\u009f]/;

/** Collects the {@link ContentFacts} of a file from its chunks. */
export class ContentReader {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  #head = new Uint8Array(0);
  /** The first bytes after leading white space, which browsers skip, whatever its length. */
  #start = new Uint8Array(0);
  #hasControls = false;
  #isUtf8 = true;

  /** Reads the next chunk. */
  push(chunk: Uint8Array): void {
    this.#head = extend(this.#head, chunk);
    const first = this.#start.length > 0 ? 0 : chunk.findIndex((byte) => !BLANK.includes(byte));
    if (first !== -1) this.#start = extend(this.#start, chunk.subarray(first));
    this.#hasControls ||= hasControls(chunk);
    this.#decode(chunk, true);
  }

  /**
   * Returns the facts about the content so far, as if it continued. If they do not fit a type, the facts about the whole content
   * do not fit it either.
   */
  peek(): ContentFacts {
    return this.#show("blank");
  }

  #show(blank: "blank" | undefined): ContentFacts {
    const isText = this.#isUtf8 && !this.#hasControls;
    const isUtf16 = UTF_16.includes(String.fromCharCode(...this.#head.subarray(0, 2)));
    const detected = detectMediaType(this.#head);
    const text = this.#start.length > 0 ? textForm(this.#start) : blank;
    const form = detected === "application/zip" ? zipForm(this.#head) : isText ? text : undefined;
    const isForeignText = isUtf16 || !(this.#isUtf8 || this.#hasControls || detected);
    return { ...(detected && { detected }), isText, ...(isForeignText && { isForeignText }), ...(form && { form }) };
  }

  /** Returns the facts about the whole content. Call it once, at the end. */
  end(): ContentFacts {
    this.#decode(new Uint8Array(0), false);
    return this.#show(undefined);
  }

  #decode(chunk: Uint8Array, stream: boolean): void {
    if (this.#hasControls || !this.#isUtf8) return;
    try {
      this.#hasControls = CONTROL.test(this.#decoder.decode(chunk, { stream }));
    } catch {
      this.#isUtf8 = false;
    }
  }
}

/** Adds bytes to the first ones, up to their maximum. */
function extend(head: Uint8Array<ArrayBuffer>, chunk: Uint8Array): Uint8Array<ArrayBuffer> {
  if (head.length >= HEAD_MAX) return head;
  const more = chunk.subarray(0, HEAD_MAX - head.length);
  const longer = new Uint8Array(head.length + more.length);
  longer.set(head);
  longer.set(more, head.length);
  return longer;
}

/** Returns the facts about bytes. */
export function readFacts(bytes: Uint8Array): ContentFacts {
  const reader = new ContentReader();
  reader.push(bytes);
  return reader.end();
}

/** Whether a part of a text has control characters. In UTF-8, these bytes have no other meaning. */
function hasControls(chunk: Uint8Array): boolean {
  // A loop without calls: the content may have 100 million bytes.
  for (let at = 0; at < chunk.length; at += 1) {
    const byte = chunk[at] as number;
    if (byte < 0x20 ? byte < 9 || byte > 13 || byte === 11 : byte === 0x7f) return true;
  }
  return false;
}

function textForm(head: Uint8Array): string | undefined {
  const start = new TextDecoder().decode(head).trimStart();
  if (SVG.test(start)) return "svg";
  if (HTML.test(start)) return "html";
  if (/^<[?!]/.test(start)) return "xml";
  if (/^<[a-z]/i.test(start)) return "tag";
  return JSON_START.test(start) ? "json" : undefined;
}

/** Reads the name of the first entry of a ZIP archive, and for "mimetype" its content, which is not compressed. */
function zipForm(head: Uint8Array): string | undefined {
  const at = (index: number) => (head[index] ?? 0) + ((head[index + 1] ?? 0) << 8);
  const [nameLength, extraLength] = [at(26), at(28)];
  const text = (start: number, end: number) => String.fromCharCode(...head.subarray(start, end));
  const name = text(30, 30 + nameLength);
  if (OFFICE_ENTRY.test(name)) return "office";
  const start = 30 + nameLength + extraLength;
  return name === "mimetype" ? /^[a-z]+\/[\w.+-]+/.exec(text(start, start + 100))?.[0]?.replace(/PK$/, "") : undefined;
}
