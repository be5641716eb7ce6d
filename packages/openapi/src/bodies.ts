/**
 * The bodies of requests and responses.
 *
 * @module
 */
import type { Description } from "./document.ts";
import { readStyles, type Style } from "./parameters.ts";
import { listOf, treeOf } from "./tree.ts";

/** The body of a request. */
export interface Body {
  readonly type: "json" | "form" | "text";
  readonly mediaType: string;
  readonly schema: unknown;
  readonly isRequired: boolean;
  /** How members of a form are written, if they differ from the default. */
  readonly styles: ReadonlyMap<string, Style>;
}

/** A successful response. */
export interface Answer {
  /** The schema of the response if it is JSON. */
  readonly response: unknown;
  /** Whether a successful response is JSON or text, or has no content. */
  readonly isReadable: boolean;
}

/** A media type that can be sent as a header. */
const MEDIA_TYPE = /^[\w.+-]{1,80}\/[\w.+-]{1,80}$/;
/** Matches media types of streams, which never end or contain several values. */
const STREAM = /event-stream|jsonl|ndjson|json-seq/i;

/**
 * Reads the body of a request. Returns the reason if it cannot be sent. An optional body is ignored only for methods that usually have
 * none, because other requests would do nothing without a body.
 */
export function readBody(description: Description, given: unknown, method: string): Body | undefined | string {
  const resolved = description.resolve(given);
  if (resolved === undefined) return undefined;
  const content = Object.entries(treeOf(resolved.value.content)).map(([type, media]): [string, unknown] => {
    return [(type.split(";")[0] ?? "").trim(), media];
  });
  const isRequired = resolved.value.required === true;
  const find = (pattern: RegExp) => content.find(([type]) => pattern.test(type) && !STREAM.test(type));
  const body = (type: Body["type"], [mediaType, media]: [string, unknown]): Body | string => {
    const { schema, encoding } = treeOf(media);
    if (!MEDIA_TYPE.test(mediaType)) return "the media type of its body is not valid";
    // The library that converts version 2.0 does not mark a form as required.
    const hasRequired = type === "form" && listOf(description.tree(schema).required).length > 0;
    return { type, mediaType, schema, isRequired: isRequired || hasRequired, styles: readStyles(encoding) };
  };
  const json = find(/^application\/json$/i) ?? find(/^[\w./-]+\+json$/i) ?? find(/^(application\/)?\*\/?\*?$/);
  if (json !== undefined) return body("json", [json[0].includes("*") ? "application/json" : json[0], json[1]]);
  const form = find(/^application\/x-www-form-urlencoded$/i);
  if (form !== undefined) return body("form", form);
  const text = find(/^text\/(plain|markdown|html|csv)$/i);
  if (text !== undefined) return body("text", text);
  const [other] = content;
  if (other === undefined) return undefined;
  if (!isRequired && !/^(?:POST|PUT|PATCH)$/.test(method)) return undefined;
  return `its body is ${other[0].slice(0, 60)}, which is neither JSON nor a form`;
}

/** Reads the response. */
export function readResponse(description: Description, given: unknown): Answer {
  const all = Object.entries(treeOf(description.tree(given).content));
  const content = all.filter(([type]) => !STREAM.test(type));
  const json = content.find(([type]) => /[/+]json/i.test(type) || type.startsWith("*/*"));
  if (json !== undefined) return { response: treeOf(json[1]).schema, isReadable: true };
  const isReadable = all.length === 0 || content.some(([type]) => /^text\/|xml|yaml/i.test(type));
  return { response: undefined, isReadable };
}
