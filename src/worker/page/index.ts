/**
 * A page for people who open the endpoint in a browser.
 *
 * @module
 */
import type { Hono } from "hono/tiny";
import { checkOptions, type OptionTable } from "../../core/protocol/check-options.ts";
import type { Execution } from "../../core/protocol/execution.ts";
import type { Endpoint } from "../../http/endpoint.ts";
import type { Admitted } from "../../http/endpoint-types.ts";
import { createPage, type PageForm, pageForm } from "../../http/page.ts";
import { findExecution } from "../execution.ts";
import type { HonoEnv, PagePart, Part } from "../parts.ts";

/** Options of {@link page}. */
export interface PageOptions {
  /**
   * Whether `/` shows the page too, if nothing else answers there. Your own route for `/`, static assets, and a Hono
   * app in which the endpoint is mounted take precedence.
   *
   * @default true
   */
  readonly root?: boolean;
}

const OPTIONS: OptionTable<PageOptions> = { root: null };

/**
 * Answers a browser that opens the endpoint's URL with a small page: what the server offers, and a line to paste for
 * curl, the MCP Inspector and Claude Code. `Accept: text/plain` gets the same as text. A caller that is refused
 * does not see it, and the counts are those of the caller. Requests of MCP clients are not affected. The page has no
 * scripts, and its Content-Security-Policy admits none.
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
      // A path with variables does not give the URL of the endpoint.
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
    // As a request for the endpoint, so that a rule of a plugin for its path counts here too.
    const request = new Request(new URL(path, raw.url), raw);
    const { env } = context;
    const response =
      form && (await respondWithPage(endpoint, form, request, { env, execution: findExecution(context) }));
    // If the endpoint refuses the page, `/` answers 404.
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
  const show = ({ registry }: Admitted) => Promise.resolve(createPage(registry, origin + pathname, form));
  return endpoint.serve(withoutSite(request), env, execution, "GET, HEAD", show);
}

/**
 * Removes the header by which the endpoint recognizes requests of other sites, if the request is a navigation. A person may
 * follow a link from another site to the page, because that site cannot read the page.
 */
function withoutSite(request: Request): Request {
  if (request.headers.get("Sec-Fetch-Mode") !== "navigate") return request;
  const headers = new Headers(request.headers);
  headers.delete("Sec-Fetch-Site");
  return new Request(request, { headers });
}
