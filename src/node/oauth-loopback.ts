import { spawn } from "node:child_process";
import { lookup } from "node:dns/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { OpenRedirect, RedirectHandler } from "../client/oauth/redirect.ts";

/** The options of {@link loopbackRedirect}. */
export interface LoopbackOptions {
  /** Shows the page of the authorization server to the user. @default prints its URL to stderr and opens the browser */
  readonly open?: ((url: string) => void | Promise<void>) | undefined;
  /**
   * The port to listen on. If it is taken, any free port is used.
   *
   * @default the port of an earlier registration, or any free port
   */
  readonly port?: number | undefined;
  /** The path of the redirect URL, which begins with a slash. @default "/callback" */
  readonly path?: string | undefined;
  /** The host of the redirect URL. Some authorization servers accept only "localhost". @default "127.0.0.1" */
  readonly host?: "127.0.0.1" | "localhost" | undefined;
}

/**
 * Returns a redirect handler for programs on the machine of the user. During a sign-in, it shows the page to the user, and
 * listens on 127.0.0.1 for the answer.
 *
 * @see RFC 8252, section 7.3
 */
export function loopbackRedirect(options: LoopbackOptions = {}): RedirectHandler {
  const { open = printAndOpen, port, path = "/callback", host = "127.0.0.1" } = options;
  return {
    url: `http://${host}${port === undefined ? "" : `:${port}`}${path}`,
    async open(known) {
      const server = createServer();
      await listen(server, port ?? readPort(known));
      return new Loopback(server, `http://${host}:${(server.address() as AddressInfo).port}${path}`, open);
    },
  };
}

/** Prints a URL to stderr, and opens it in the browser of the user. */
export async function printAndOpen(url: string): Promise<void> {
  console.error(`Sign in at: ${url}`);
  await openBrowser(url);
}

/**
 * Opens a URL in the browser of the user: the program that the variable `BROWSER` names, or else the system's. Does nothing if
 * there is none.
 */
export async function openBrowser(url: string): Promise<void> {
  const { BROWSER } = process.env;
  const [command = "", ...args] = BROWSER ? [BROWSER] : (OPENERS[process.platform] ?? ["xdg-open"]);
  await new Promise<void>((resolve) => {
    // The whole URL begins with its scheme, so the program cannot take it for an option.
    const child = spawn(command, [...args, new URL(url).href], { stdio: "ignore", detached: true });
    // Without a desktop there is no such command.
    child.on("error", () => resolve());
    child.on("spawn", () => {
      child.unref();
      resolve();
    });
  });
}

/** Commands that open the URL in their last argument. No shell interprets it. */
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/**
 * Looks up the addresses of a host. Pass it to `oauth()` as `resolve`, so that the name of a public server cannot lead the
 * client to an address in its own network. The request looks the name up again; if the address may change in between, use
 * `createPinnedFetch()` as well.
 *
 * @throws {Error} of `node:dns` if the name cannot be looked up.
 */
export async function resolveHost(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname.replaceAll(/[[\]]/g, ""), { all: true });
  return found.map(({ address }) => address);
}

class Loopback implements OpenRedirect {
  readonly url: string;
  readonly #server: Server;
  readonly #show: (url: string) => void | Promise<void>;

  constructor(server: Server, url: string, show: (url: string) => void | Promise<void>) {
    this.#server = server;
    this.url = url;
    this.#show = show;
  }

  async authorize(page: string, signal: AbortSignal): Promise<string> {
    const state = new URL(page).searchParams.get("state");
    const arrived = new Promise<string>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
      this.#server.on("request", (request: IncomingMessage, response: ServerResponse) => {
        const answer = toAnswer(request, this.url, state);
        respond(response, answer);
        // The browser receives its page before the server closes.
        if (answer) response.on("close", () => resolve(answer.href));
      });
    });
    // If `show` rejects, a later rejection of `arrived` must not count as unhandled.
    arrived.catch(() => undefined);
    await this.#show(page);
    return arrived;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** Returns the URL of a request if it is the answer of this sign-in. Other pages and programs can send requests, too. */
function toAnswer({ method, url, headers }: IncomingMessage, redirect: string, state: string | null): URL | undefined {
  const own = new URL(redirect);
  if (method !== "GET" || headers.host !== own.host || !URL.canParse(url ?? "", redirect)) return undefined;
  const address = new URL(url ?? "", redirect);
  return address.pathname === own.pathname && address.searchParams.get("state") === state ? address : undefined;
}

function respond(response: ServerResponse, answer: URL | undefined): void {
  const text = answer
    ? answer.searchParams.has("error")
      ? "The sign-in failed. The program says why. You can close this page."
      : "You are signed in. You can close this page."
    : "This is not the answer of an open sign-in.";
  response.writeHead(answer ? 200 : 404, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  response.end(text);
}

function readPort(known: string | undefined): number {
  return known === undefined ? 0 : Number(new URL(known).port);
}

/** Listens on a port or, if that is taken, on any free one. */
async function listen(server: Server, port: number): Promise<void> {
  const attempt = (candidate: number) =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(candidate, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });
  try {
    await attempt(port);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || port === 0) throw error;
    await attempt(0);
  }
}
