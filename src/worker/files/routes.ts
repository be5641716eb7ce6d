/**
 * The route of links: uploads, downloads, and the page on which a person chooses a file.
 *
 * @module
 */
import { McpError } from "../../core/protocol/errors.ts";
import type { Execution } from "../../core/protocol/execution.ts";
import { cleanFileName, contentDisposition } from "../../files/file-name.ts";
import { formatBytes } from "../../files/format-bytes.ts";
import { chooseType, withExtension } from "../../files/media-types.ts";
import { streamOf } from "../../files/store.ts";
import { retryOnReset } from "../retry-on-reset.ts";
import { findSealed, type Link } from "./links.ts";
import { type FilePage, showPage } from "./page.ts";
import { IDLE_MS, largestFile, type Outcome, objectOf, type Place, REST_BYTES_MAX, useBucket } from "./place.ts";
import { findRange } from "./range.ts";
import { receive } from "./receive.ts";

/** A request for a link. */
export interface LinkRequest {
  readonly request: Request;
  readonly env: unknown;
  readonly execution: Execution | undefined;
}

/** The endpoint of the links. */
export interface LinkRoute {
  readonly place: Place;
  readonly page: Pick<FilePage, "brand" | "server">;
}

/** Serves a request for a link. Never rejects. */
export async function serveLink(route: LinkRoute, received: LinkRequest): Promise<Response> {
  try {
    const { place } = route;
    const { request, env } = received;
    const { pathname } = new URL(request.url);
    const { sealed, name } = findSealed(pathname, place.settings.path);
    const link = await place.links.open(sealed, env);
    if (!link) return say(404, "There is no such link. Check that it was copied completely, or ask for a new one.");
    if (link.untilMs <= Date.now()) return gone(route, link, request);
    return link.kind === "download"
      ? await download(route, link, received)
      : await serveUpload(route, link, received, { sealed, name });
  } catch (error) {
    console.error("mcp-edge: a link of files() could not be served", error);
    // The platform has refused a call of the object or of the bucket.
    if (McpError.is(error)) return say(503, error.message, { "Retry-After": "5" });
    return say(500, "The file could not be served. Try again.");
  }
}

/** The headers of every response: nothing of a file may be shown, guessed or stored by a browser. */
const SAFE: Readonly<Record<string, string>> = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

function say(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(`${text}\n`, {
    status,
    headers: { ...SAFE, "Content-Type": "text/plain; charset=utf-8", ...headers },
  });
}

function gone({ page }: LinkRoute, link: Link, request: Request): Response {
  if (link.kind === "upload" && isRead(request))
    return showPage({ ...page, link, bytesMax: 0, sealed: "", state: "ended" });
  return say(410, `The link has ended. ${link.kind === "upload" ? "Ask for a new one." : AGAIN}`);
}

const AGAIN = "Ask the assistant to create the file again.";
const DELETED = `The file was deleted. ${AGAIN}`;

function isRead({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}

async function download({ place }: LinkRoute, link: Link, { request, env }: LinkRequest): Promise<Response> {
  if (!isRead(request)) return say(405, "This link is for a download.", { Allow: "GET, HEAD" });
  // A file has no other version that a client could name, and HEAD has no ranges (RFC 9110, 13.1.5 and 14.2).
  const isPart = request.method === "GET" && !request.headers.has("If-Range");
  const asked = isPart ? request.headers.get("Range") : null;
  const wanted = asked === null ? "all" : { range: asked };
  const object = () => objectOf(place, link.owner, env);
  const found = await retryOnReset(() =>
    place.objects.call(object(), "find", link.id, request.method === "HEAD" ? "none" : wanted),
  );
  if (!found) return say(410, DELETED);
  const { bytes, type, name, body, key } = found;
  const range = findRange(asked, bytes);
  if (range === "unsatisfiable") return say(416, "The file is shorter.", { "Content-Range": `bytes */${bytes}` });
  const { offset, length } = range ?? { offset: 0, length: bytes };
  const headers = {
    ...SAFE,
    "Accept-Ranges": "bytes",
    "Content-Disposition": contentDisposition(name),
    "Content-Length": String(length),
    "Content-Type": type,
    ...(range ? { "Content-Range": `bytes ${offset}-${offset + length - 1}/${bytes}` } : {}),
  };
  const init = { status: range ? 206 : 200, headers };
  if (request.method === "HEAD") return new Response(null, init);
  if (key === undefined) return new Response(fixed(streamOf(body ?? new Uint8Array(0)), length), init);
  const stored = await useBucket(async () => place.settings.bucket(env)?.get(key, { range: { offset, length } }));
  return stored ? new Response(fixed(stored.body, length), init) : say(410, DELETED);
}

/** Gives a stream a length, so that the response has a Content-Length, and a client notices if the content ends before. */
function fixed(body: ReadableStream<Uint8Array>, length: number): ReadableStream<Uint8Array> {
  const { readable, writable } = new FixedLengthStream(length);
  // If the reader leaves, both ends are closed.
  void body.pipeTo(writable).catch(() => undefined);
  return readable;
}

/** The parts of the path of a link. */
interface LinkPath {
  readonly sealed: string;
  /** The name of the file. Empty if the path has none. */
  readonly name: string;
}

async function serveUpload(
  route: LinkRoute,
  link: Link,
  received: LinkRequest,
  { sealed, name }: LinkPath,
): Promise<Response> {
  const { request, env, execution } = received;
  const { place, page } = route;
  const bytesMax = Math.min(link.bytesMax ?? Infinity, largestFile(place, env));
  if (isRead(request)) {
    const isFree = await retryOnReset(() => place.objects.call(objectOf(place, link.owner, env), "isFree", link.id));
    return showPage({ ...page, link, bytesMax, sealed, state: isFree ? "open" : "used" });
  }
  if (request.method !== "PUT")
    return say(405, "Send the file with PUT, or open the link in a browser.", { Allow: "GET, HEAD, PUT" });
  const problem = findProblem(request, bytesMax);
  if (problem) return problem;
  const work = upload(place, link, request, { name, env, bytesMax });
  // After a disconnect, what was stored of the upload is still deleted.
  execution?.waitUntil(work.catch(() => undefined));
  return work;
}

/** Returns the refusal of an upload whose headers show that it cannot be stored. */
function findProblem({ headers, body }: Request, bytesMax: number): Response | undefined {
  const length = headers.get("Content-Length") ?? "";
  if (!/^\d{1,15}$/.test(length)) return say(411, "Send Content-Length with the number of bytes of the file.");
  if ((headers.get("Content-Encoding") ?? "identity") !== "identity")
    return say(415, "Send the file as it is, without Content-Encoding.");
  if (Number(length) === 0 || !body) return say(422, "The file is empty.");
  if (Number(length) > bytesMax) return say(413, tooLarge(bytesMax));
  return undefined;
}

function tooLarge(bytesMax: number): string {
  return `The file is too large: at most ${formatBytes(bytesMax)}.`;
}

interface Upload {
  readonly name: string;
  readonly env: unknown;
  readonly bytesMax: number;
}

async function upload(place: Place, link: Link, request: Request, { name, env, bytesMax }: Upload): Promise<Response> {
  const { owner, id, untilMs: linkUntilMs, types } = link;
  const bytes = Number(request.headers.get("Content-Length"));
  const declared = request.headers.get("Content-Type") ?? undefined;
  const cleaned = cleanFileName(decode(name));
  const outcome = await receive(
    place,
    {
      owner,
      id,
      bytes,
      body: request.body as ReadableStream<Uint8Array>,
      linkUntilMs,
      idleMs: IDLE_MS,
      restMax: REST_BYTES_MAX,
      judge: (facts) => {
        const chosen = chooseType({ facts, declared, name: cleaned, types });
        return "problem" in chosen ? chosen : { name: withExtension(cleaned, chosen.type), type: chosen.type };
      },
    },
    env,
  );
  if (outcome.kind !== "stored") return refuse(outcome, bytesMax, id);
  const stored = { file: id, name: outcome.name, type: outcome.type, bytes };
  const headers = { ...SAFE, "Content-Type": "application/json" };
  return new Response(`${JSON.stringify(stored)}\n`, { status: 201, headers });
}

function refuse(outcome: Exclude<Outcome, { readonly kind: "stored" }>, bytesMax: number, id: string): Response {
  switch (outcome.kind) {
    case "refused":
      return say(415, `The file was refused: ${outcome.problem}.`);
    case "used":
      return say(409, `The link has been used: a file has arrived as ${id}. For another file, ask for a new link.`);
    case "busy":
      return say(409, "Another upload with this link has not ended. Wait until it has.");
    case "full":
      return say(507, "There is no room for another file. Wait until older files have been deleted.");
    case "overloaded":
      return say(503, "The server is receiving too many files. Try again in a few seconds.", { "Retry-After": "5" });
    case "no-bucket":
      return say(413, tooLarge(bytesMax));
    case "slow":
      return say(408, "The upload took too long, or stopped for too long. Upload the file again.");
    case "interrupted":
      return say(400, "The upload did not arrive completely. Upload the file again.");
  }
}

/** Decodes the last segment of the path. Anything else than UTF-8 stays as it is. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
