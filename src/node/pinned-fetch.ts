/**
 * A `fetch` for untrusted URLs that checks the IP addresses to which it connects.
 *
 * @module
 */
import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { isPublicAddress } from "../core/basics/addresses.ts";
import { checkOptions, type OptionTable } from "../core/protocol/check-options.ts";
import { createFetch, SAFE_FETCH, type SafeFetch, type SafeFetchOptions, type SentRequest } from "../safe/fetch.ts";
import { RefusedError } from "../safe/refused.ts";

/** Options of {@link createPinnedFetch}. */
export interface PinnedFetchOptions extends SafeFetchOptions {
  /** Resolves a host name to all of its IP addresses. @default the system's resolver */
  readonly resolve?: (hostname: string) => Promise<readonly LookupAddress[]>;
}

const OPTIONS: OptionTable<PinnedFetchOptions> = { ...SAFE_FETCH, resolve: null };

/**
 * Returns a `fetch` like `createSafeFetch()` in `mcp-edge/safe`, which also resolves the host name of each URL, refuses the request
 * unless all addresses are public, and connects only to one of the checked addresses. So a name that resolves to another address a
 * moment later (DNS rebinding) cannot bypass the check. Proxies from the environment are not used, and connections are not shared
 * with other requests.
 *
 * @throws {KitError} `options-invalid` naming the option.
 */
export function createPinnedFetch(options: PinnedFetchOptions = {}): SafeFetch {
  checkOptions("createPinnedFetch(): ", options, OPTIONS);
  const { resolve = resolveBySystem } = options;
  const [checked, unchecked] = [lookupFor(resolve, isPublicAddress), lookupFor(resolve, () => true)];
  return createFetch(options, (url, sent, isPrivate) => send(url, sent, isPrivate ? unchecked : checked));
}

function resolveBySystem(hostname: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}

/** Returns the lookup function of a socket. The socket connects to an address that it returns. */
function lookupFor(
  resolve: (hostname: string) => Promise<readonly LookupAddress[]>,
  isAllowed: (address: string) => boolean,
): LookupFunction {
  return (hostname, options, callback) => {
    const lookUp = async (): Promise<LookupAddress[]> => {
      const addresses = await resolve(hostname);
      if (addresses.length > 0 && addresses.every(({ address }) => isAllowed(address))) return [...addresses];
      throw new RefusedError("address", "The host was refused: its address is not public.");
    };
    lookUp().then(
      (addresses) => {
        const [first = { address: "", family: 4 }] = addresses;
        if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, "", 4),
    );
  };
}

/** Sends a request without following redirects. */
function send(url: URL, { method, headers, body, signal }: SentRequest, lookup: LookupFunction): Promise<Response> {
  const request = url.protocol === "https:" ? httpsRequest : httpRequest;
  // Compressed responses are not requested, but they are decoded below if the server sends one.
  const sent = { "accept-encoding": "identity", ...Object.fromEntries(headers) };
  return new Promise((resolve, reject) => {
    // `agent: false` prevents the reuse of a connection that other code opened to a private address.
    request(url.href, { method, headers: sent, lookup, signal, agent: false })
      .once("response", (message) => {
        try {
          resolve(toResponse(method, message));
        } catch (error) {
          message.destroy();
          reject(error);
        }
      })
      .once("error", reject)
      .end(body);
  });
}

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function toResponse(method: string, message: IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(message.headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const { statusCode: status = 0, statusMessage: statusText = "" } = message;
  if (method === "HEAD" || [204, 205, 304].includes(status)) {
    message.resume();
    return new Response(null, { status, statusText, headers });
  }
  // The types of Node's streams and web streams differ.
  const body = Readable.toWeb(
    decoded(message, headers.get("Content-Encoding")),
  ) as unknown as ReadableStream<Uint8Array>;
  return new Response(body, { status, statusText, headers });
}

/** @throws {RefusedError} `response` for an unknown encoding. */
function decoded(message: IncomingMessage, encoding: string | null): Readable {
  const name = encoding?.trim().toLowerCase() ?? "identity";
  if (name === "identity" || name === "") return message;
  const decoder = Object.hasOwn(DECODERS, name) ? DECODERS[name]?.() : undefined;
  if (!decoder) throw new RefusedError("response", "The response has an unknown Content-Encoding.");
  // An error on either stream destroys the other.
  message.on("error", (error) => decoder.destroy(error));
  decoder.on("close", () => message.destroy());
  return message.pipe(decoder);
}
