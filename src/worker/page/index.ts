/**
 * A human-readable page for browsers that open the URL of the endpoint.
 *
 * @module
 */
import type { Hono } from "hono/tiny";
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import type { Execution } from "../../core/protocol/execution.ts";
import type { Endpoint } from "../../http/endpoint.ts";
import type { Route } from "../../http/endpoint-types.ts";
import { createPage, createRefusal, createText, type PageForm, pageForm } from "../../http/page.ts";
import { type Brand, checkBrand } from "../../look/brand.ts";
import { findExecution } from "../execution.ts";
import type { HonoEnv, PagePart, Part } from "../parts.ts";

/** Options of {@link page}. */
export interface PageOptions extends Brand {
  /** The name on the page. @default the title of the server, or else its name */
  readonly name?: string;
  /** Your logo: an `https:` URL, a path of this host that begins with "/", or a `data:image/` URL. @default the icon of the server */
  readonly logo?: string;
  /**
   * Whether `/` also shows the page if nothing else responds there. Your own route for `/`, static assets, and a Hono app
   * in which the endpoint is mounted take precedence.
   *
   * @default true
   */
  readonly root?: boolean;
}

const OPTIONS: OptionTable<PageOptions> = { name: null, logo: null, accent: null, root: null };

/**
 * Answers a browser that opens the endpoint's URL with a page: what the server is, how to connect to it, and what it offers to
 * this caller. It has links that add the server to Cursor and VS Code, and lines to copy for Claude Code, the MCP Inspector and
 * curl. A browser that the endpoint refuses gets the reason as a page, which does not say what the server offers.
 *
 * `Accept: text/plain` gets a summary as text. Requests of MCP clients are not affected. The page works without scripts; the
 * buttons that copy need one, which is the only one that the Content-Security-Policy admits.
 *
 * Definitions with `_meta: { "mcp-edge/group": "Reports" }` are listed after the others, folded, under the name of their group.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * export default edge(server, { use: [page({ accent: "#0f766e" })] });
 * ```
 */
export function page(options: PageOptions = {}): Part {
  checkOptions("page(): ", options, OPTIONS);
  checkBrand("page(): ", options);
  const { root = true } = options;
  const part: PagePart = {
    slot: "page",
    mount: (app, { endpoint, path }) => {
      const show = pageOf(endpoint, options);
      // If the path has variables, the URL of the endpoint is not known at `/`.
      if (root && !/[:*]/.test(path)) showAtRoot(app, show, path);
      return (request, env, execution) => {
        const form = pageForm(request);
        if (!form) return undefined;
        const shown = show(request, env, execution, form);
        return form === "text" ? shown : withRefusal(shown, request.url, options);
      };
    },
  };
  return part;
}

type Show = (request: Request, env: unknown, execution: Execution | undefined, form: PageForm) => Promise<Response>;

function showAtRoot<Env>(app: Hono<HonoEnv<Env>>, show: Show, path: string): void {
  app.notFound(async (context) => {
    const { raw } = context.req;
    const form = new URL(raw.url).pathname === "/" ? pageForm(raw) : undefined;
    // The request has the URL of the endpoint, so that rules of plugins for its path apply here too.
    const request = new Request(new URL(path, raw.url), raw);
    const response = form && (await show(request, context.env, findExecution(context), form));
    // If the endpoint refuses the page, `/` returns 404.
    return response?.ok ? response : context.text("404 Not Found", 404);
  });
}

/** Where `mcp-edge dev` serves its page. It marks the requests that it passes on. */
const INSPECTOR = { header: "mcp-edge-record", path: "/__mcp-edge/" };

/** Returns the function that serves the page of an endpoint. */
function pageOf(endpoint: Endpoint, brand: Brand): Show {
  return async (request, env, execution, form) => {
    const { origin, pathname } = new URL(request.url);
    const inspector = request.headers.has(INSPECTOR.header) ? INSPECTOR.path : undefined;
    const route: Route = {
      allow: "GET, HEAD",
      respond: ({ registry }) =>
        form === "text"
          ? createText(registry, origin + pathname)
          : createPage(registry, origin + pathname, brand, inspector),
    };
    return endpoint.handleRoute(route, withoutSite(request), env, execution);
  };
}

/** Shows a person why the endpoint refuses the page. Responses of hooks that are not JSON-RPC errors stay as they are. */
async function withRefusal(shown: Promise<Response>, url: string, brand: Brand): Promise<Response> {
  const response = await shown;
  if (response.ok || !response.headers.get("Content-Type")?.startsWith("application/json")) return response;
  const { error } = (await response.clone().json().catch(Object)) as {
    readonly error?: { readonly message?: unknown };
  };
  return typeof error?.message === "string" ? createRefusal(response, error.message, url, brand) : response;
}

/**
 * Removes the header by which the endpoint recognizes cross-site requests, if the request is a navigation. Users may follow
 * a link from another site to the page, because that site cannot read the page.
 */
function withoutSite(request: Request): Request {
  if (request.headers.get("Sec-Fetch-Mode") !== "navigate") return request;
  const headers = new Headers(request.headers);
  headers.delete("Sec-Fetch-Site");
  return new Request(request, { headers });
}
