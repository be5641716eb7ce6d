/** Helpers for the tests: a simulated web site, clients, and a user who answers questions. */
import { type Client, type ClientOptions, connect } from "mcp-edge/client";
import { clientTasks } from "mcp-edge/client/tasks";

export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";

/** A simulated web site that responds to the Worker's requests. */
export class Site {
  readonly origin = `https://${crypto.randomUUID()}.example.com`;
  /** The paths of all requests, in order. */
  readonly requests: string[] = [];
  /** Called before each response. If it returns a response, that is sent instead of the page. */
  before: ((path: string) => Response | undefined | Promise<Response | undefined>) | undefined;
  readonly #pages: number;

  /** @param pages The number of pages. The first page links to all others. */
  constructor(pages: number) {
    this.#pages = pages;
  }

  async answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname;
    this.requests.push(path);
    const own = await this.before?.(path);
    if (own) return own;
    const page = path === "/" ? 0 : Number(/^\/page-(\d+)$/.exec(path)?.[1] ?? Number.NaN);
    if (!(page < this.#pages)) return new Response("none", { status: 404 });
    const numbers = page === 0 ? Array.from({ length: this.#pages - 1 }, (_, at) => at + 1) : [];
    return html(`Page ${page}`, ...numbers.map((number) => `/page-${number}`));
  }

  /** The number of requests for each path. */
  get counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const path of this.requests) counts.set(path, (counts.get(path) ?? 0) + 1);
    return counts;
  }
}

export function html(title: string, ...links: readonly string[]): Response {
  const body = `<title>${title}</title>${links.map((link) => `<a class="x" href="${link}">link</a>`).join("\n")}`;
  return new Response(body, { headers: { "Content-Type": "text/html; charset=utf-8" } });
}

/** The sites of the running tests, by host. */
export class Sites {
  readonly #sites = new Map<string, Site>();

  add(pages: number): Site {
    const site = new Site(pages);
    this.#sites.set(site.origin, site);
    return site;
  }

  readonly answer = (request: Request): Response | Promise<Response> =>
    this.#sites.get(new URL(request.url).origin)?.answer(request) ?? new Response("no such site", { status: 404 });
}

export function open(target: Parameters<typeof connect>[0], version: string, options: Partial<ClientOptions> = {}) {
  return connect(target, {
    name: "test",
    version: "1.0.0",
    protocolVersions: [version],
    use: [clientTasks()],
    onEvent: () => {},
    ...options,
  });
}

/** Calls a tool. Returns its text, which begins with "Error: " if the tool failed. */
export async function call(client: Client, tool: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content, isError } = await client.callTool(tool, args);
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return isError ? `Error: ${text}` : text;
}

export interface SeenJob {
  readonly id: string;
  readonly site: string;
  readonly status: string;
  readonly checked: number;
  readonly uri: string;
  readonly report?: unknown;
}

/** Reads the job of a site from the list that all callers without a sign-in share. */
export async function readJob(client: Client, site: Site): Promise<SeenJob> {
  const { contents } = await client.readResource("jobs://list");
  const jobs = JSON.parse((contents[0] as { text: string }).text) as SeenJob[];
  const found = jobs.filter((job) => job.site === `${site.origin}/`);
  if (found.length !== 1) throw new Error(`There are ${found.length} jobs of the site.`);
  return found[0] as SeenJob;
}
