/** A server on loopback that safe fetches request. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

/** A request that arrived. */
export interface Arrived {
  readonly method: string | undefined;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Upstream extends AsyncDisposable {
  /** Host and port. */
  readonly host: string;
  readonly origin: string;
  readonly arrived: Arrived[];
}

const ENCODERS = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync } as const;

/**
 * Starts a server. `/redirect/STATUS?to=URL` redirects, `/bytes/N` sends N bytes without Content-Length, `/length/N`
 * sends them with it, `/encoded/NAME/N` compressed, `/never` does not answer, `/stalls` sends one byte and no more,
 * `/status/N` has no body, and everything else answers with the request.
 */
export async function startUpstream(): Promise<Upstream> {
  const arrived: Arrived[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method, headers, url = "" } = request;
    arrived.push({ method, url, headers, body });
    const { pathname, searchParams } = new URL(url, "http://upstream");
    const [, what = "", first = "", second = ""] = pathname.split("/");
    if (what === "redirect") response.writeHead(Number(first), { Location: searchParams.get("to") ?? "" }).end("moved");
    else if (what === "bytes") response.writeHead(200).end(Buffer.alloc(Number(first)), () => undefined);
    else if (what === "length") response.writeHead(200, { "Content-Length": first }).end(Buffer.alloc(Number(first)));
    else if (what === "encoded") {
      const encode = ENCODERS[first as keyof typeof ENCODERS];
      response.writeHead(200, { "Content-Encoding": first }).end(encode?.(Buffer.alloc(Number(second), "a")) ?? "?");
    } else if (what === "status") response.writeHead(Number(first)).end();
    else if (what === "stalls") response.writeHead(200).write("a");
    else if (what !== "never") {
      response
        .writeHead(200, { "Content-Type": "application/json" })
        .end(JSON.stringify({ method, url, headers, body }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    origin: `http://${host}`,
    arrived,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
