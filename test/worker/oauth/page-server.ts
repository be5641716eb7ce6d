/** Serves the responses of pages to a browser, and records what the browser sends. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

type Answer = (request: Request) => Response | undefined | Promise<Response | undefined>;

export class PageServer implements AsyncDisposable {
  readonly #server: Server;
  /** Handles every request. Undefined causes 404. */
  answer: Answer = () => undefined;
  readonly requests: Request[] = [];

  private constructor() {
    this.#server = createServer(async (incoming, outgoing) => {
      const body = Buffer.concat(await incoming.toArray());
      const { method = "GET", url = "" } = incoming;
      const headers = Object.entries(incoming.headers).flatMap(([name, value]) =>
        typeof value === "string" ? [[name, value] as [string, string]] : [],
      );
      const origin = `http://${incoming.headers.host}`;
      const request = new Request(origin + url, { method, headers, ...(method === "POST" ? { body } : {}) });
      this.requests.push(request.clone() as Request);
      const response = (await this.answer(request)) ?? new Response("not here", { status: 404 });
      outgoing.writeHead(response.status, [...response.headers].flat());
      outgoing.end(Buffer.from(await response.arrayBuffer()));
    });
  }

  static async start(): Promise<PageServer> {
    const started = new PageServer();
    await new Promise<void>((resolve) => started.#server.listen(0, "127.0.0.1", resolve));
    return started;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
