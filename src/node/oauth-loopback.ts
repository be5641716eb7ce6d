import { spawn } from "node:child_process";
import { lookup } from "node:dns/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { OpenRedirect, RedirectHandler } from "../client/oauth/redirect.ts";

/** The options of {@link loopbackRedirect}. */
export interface LoopbackOptions {
  /** Shows the authorization server's page to the user. @default prints its URL to stderr and opens the browser */
  readonly open?: ((url: string) => void | Promise<void>) | undefined;
  /**
   * The port to listen on. If it is in use, any free port is used.
   *
   * @default the port of an earlier registration, or any free port
   */
  readonly port?: number | undefined;
  /** The path of the redirect URL. It must begin with a slash. @default "/callback" */
  readonly path?: string | undefined;
  /** The host of the redirect URL. Some authorization servers accept only "localhost". @default "127.0.0.1" */
  readonly host?: "127.0.0.1" | "localhost" | undefined;
}

/**
 * Returns a redirect handler for programs on the user's machine. During a sign-in, it shows the authorization server's page to the
 * user, and listens on 127.0.0.1 for the redirect.
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

/** Prints a URL to stderr, and opens it in the user's browser. */
export async function printAndOpen(url: string): Promise<void> {
  console.error(`Sign in at: ${url}`);
  await openBrowser(url);
}

/**
 * Opens a URL in the user's browser: the program named by the environment variable `BROWSER`, or the system's default. Does nothing
 * if there is no browser.
 */
export async function openBrowser(url: string): Promise<void> {
  const { BROWSER } = process.env;
  const [command = "", ...args] = BROWSER ? [BROWSER] : (OPENERS[process.platform] ?? ["xdg-open"]);
  await new Promise<void>((resolve) => {
    // The URL begins with its scheme, so the program cannot interpret it as an option.
    const child = spawn(command, [...args, new URL(url).href], { stdio: "ignore", detached: true });
    // Without a desktop, the command may not exist.
    child.on("error", () => resolve());
    child.on("spawn", () => {
      child.unref();
      resolve();
    });
  });
}

/** Commands that open the URL given as their last argument. They do not use a shell. */
const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/**
 * Looks up the IP addresses of a host. Pass it to `oauth()` as `resolve`, so that the name of a public server cannot lead the client
 * to an address in its own network. The request looks up the name again; if the address could change in between (DNS rebinding),
 * use `createPinnedFetch()` as well.
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
        const redirect = toRedirect(request, this.url, state);
        respond(response, redirect);
        // Wait until the browser has received its page, before the server closes.
        if (redirect) response.on("close", () => resolve(redirect.href));
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

/** Returns the URL of a request if it is the redirect of this sign-in. Other web pages and programs can send requests too. */
function toRedirect({ method, url, headers }: IncomingMessage, base: string, state: string | null): URL | undefined {
  const own = new URL(base);
  if (method !== "GET" || headers.host !== own.host || !URL.canParse(url ?? "", base)) return undefined;
  const address = new URL(url ?? "", base);
  return address.pathname === own.pathname && address.searchParams.get("state") === state ? address : undefined;
}

function respond(response: ServerResponse, redirect: URL | undefined): void {
  const text = redirect
    ? redirect.searchParams.has("error")
      ? "The sign-in failed. The program shows the reason. You can close this page."
      : "You are signed in. You can close this page."
    : "This request does not belong to a sign-in in progress.";
  response.writeHead(redirect ? 200 : 404, {
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

/** Listens on a port or, if it is in use, on any free port. */
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
