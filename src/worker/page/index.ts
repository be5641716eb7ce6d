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
import { createPage, type PageForm, pageForm } from "../../http/page.ts";
import { findExecution } from "../execution.ts";
import type { HonoEnv, PagePart, Part } from "../parts.ts";

/** Options of {@link page}. */
export interface PageOptions {
  /**
   * Whether `/` also shows the page if nothing else responds there. Your own route for `/`, static assets, and a Hono app
   * in which the endpoint is mounted take precedence.
   *
   * @default true
   */
  readonly root?: boolean;
}

const OPTIONS: OptionTable<PageOptions> = { root: null };

/**
 * Serves a small page to a browser that opens the URL of the endpoint. It shows what the server offers, and a line to paste
 * for curl, the MCP Inspector and Claude Code. With `Accept: text/plain`, the same content is served as plain text. The
 * page is not shown to a caller that is refused, and its counts apply to the caller that opens it. Requests of MCP clients
 * are not affected. The page contains no scripts, and its Content-Security-Policy forbids them.
 *
 * @throws {KitError} `options-invalid` for an option that does not exist.
 * @example
 * ```ts
 * export default edge(server, { use: [page()] });
 * ```
 */
export function page(options: PageOptions = {}): Part {
  checkOptions("page(): ", options, OPTIONS);
  const { root = true } = options;
  const part: PagePart = {
    slot: "page",
    mount: (app, { endpoint, path }) => {
      // If the path has variables, the URL of the endpoint is not known at `/`.
      if (root && !/[:*]/.test(path)) showAtRoot(app, endpoint, path);
      return (request, env, execution) => {
        const form = pageForm(request);
        return form && respondWithPage(endpoint, form, request, { env, execution });
      };
    },
  };
  return part;
}

function showAtRoot<Env>(app: Hono<HonoEnv<Env>>, endpoint: Endpoint, path: string): void {
  app.notFound(async (context) => {
    const { raw } = context.req;
    const form = new URL(raw.url).pathname === "/" ? pageForm(raw) : undefined;
    // The request has the URL of the endpoint, so that rules of plugins for its path apply here too.
    const request = new Request(new URL(path, raw.url), raw);
    const { env } = context;
    const response =
      form && (await respondWithPage(endpoint, form, request, { env, execution: findExecution(context) }));
    // If the endpoint refuses the page, `/` returns 404.
    return response?.ok ? response : context.text("404 Not Found", 404);
  });
}

/** Returns the page, or the refusal of the endpoint. */
function respondWithPage(
  endpoint: Endpoint,
  form: PageForm,
  request: Request,
  { env, execution }: { readonly env: unknown; readonly execution: Execution | undefined },
): Response | Promise<Response> {
  const { origin, pathname } = new URL(request.url);
  const route: Route = {
    allow: "GET, HEAD",
    respond: ({ registry }) => createPage(registry, origin + pathname, form),
  };
  return endpoint.handleRoute(route, withoutSite(request), env, execution);
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
