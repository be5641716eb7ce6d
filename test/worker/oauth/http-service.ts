/** A service on a real socket of this machine, for identity providers that tests change and break. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The fields of a form. */
  readonly fields: URLSearchParams;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as it is, everything else as JSON. */
  readonly body?: unknown;
}

export class HttpService implements AsyncDisposable {
  readonly #server: Server;
  /** The requests so far. */
  readonly asked: Asked[] = [];
  /** Responses that replace the usual responses, by path. */
  readonly faults = new Map<string, Reply>();

  protected constructor(answer: (asked: Asked) => Reply | Promise<Reply>) {
    this.#server = createServer(async (request, response) => {
      const body = (await request.toArray()).join("");
      const asked: Asked = {
        method: request.method ?? "",
        url: new URL(request.url ?? "", this.origin),
        headers: request.headers,
        fields: new URLSearchParams(body),
      };
      this.asked.push(asked);
      const { status = 200, headers = {}, body: sent } = this.faults.get(asked.url.pathname) ?? (await answer(asked));
      const isText = typeof sent === "string" || sent === undefined;
      const type = isText ? "text/html" : "application/json; charset=utf-8";
      response.writeHead(status, { "content-type": type, ...headers }).end(isText ? sent : JSON.stringify(sent));
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The number of times that a path was requested. */
  timesAsked(path: string): number {
    return this.asked.filter(({ url }) => url.pathname === path).length;
  }

  protected async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
