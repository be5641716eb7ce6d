/**
 * The Worker: a Hono app that serves an MCP server at one path, for both eras.
 *
 * @module
 */
import { Hono } from "hono/tiny";
import type { ErrorReporter } from "../core/context.ts";
import { DEFAULT_LIMITS, type Limits } from "../core/limits.ts";
import type { McpServer } from "../core/server.ts";
import { type AuthHook, createHttpHandler } from "../http/handler.ts";
import type { OriginRules } from "../http/origin.ts";
import type { SessionGate } from "../http/sessions.ts";
import { EnvKeys } from "./env-keys.ts";

/** What an attached part (sessions now; hub, tasks later) is given: the one server and how it is served. */
export interface EdgeRuntime<Env> {
  readonly server: McpServer<Env>;
  readonly limits: Limits;
  readonly onError: ErrorReporter;
}

/**
 * A way to keep sessions, as a value from an entry of its own: what is not imported is not bundled.
 * `durable()` of `mcp-edge/worker/sessions` is one.
 */
export interface SessionsPart<Env, Objects extends object> {
  attach(runtime: EdgeRuntime<Env>): { readonly gate: SessionGate<Env>; readonly objects: Objects };
}

export interface EdgeOptions<Env, Objects extends object> extends OriginRules {
  /** Path of the endpoint within the app. @default "/mcp" */
  readonly path?: string;
  /** Sessions for legacy clients. Without them each legacy request stands alone. */
  readonly sessions?: SessionsPart<Env, Objects>;
  /** Decides who a request acts for. @default everyone is anonymous */
  readonly auth?: AuthHook<Env>;
  readonly limits?: Partial<Limits>;
}

type Bindings<Env> = { Bindings: Env extends object ? Env : object };

/**
 * What {@link edge} makes: a Hono app (the Worker's default export, or mounted with `parent.route()`), carrying the
 * Durable Object classes to export.
 */
export type EdgeApp<Env, Objects extends object> = Hono<Bindings<Env>> & Objects;

/**
 * Serves an MCP server as a Worker.
 *
 * @example
 * ```ts
 * const app = edge(server, { sessions: durable() });
 * export default app;
 * export const { McpSession } = app; // bound in wrangler.toml
 * ```
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http
 */
export function edge<Env, Objects extends object = Record<never, never>>(
  server: McpServer<Env>,
  options: EdgeOptions<Env, Objects> = {},
): EdgeApp<Env, Objects> {
  const { path = "/mcp", sessions, limits, ...http } = options;
  const runtime: EdgeRuntime<Env> = { server, limits: { ...DEFAULT_LIMITS, ...limits }, onError: logError };
  const part = sessions?.attach(runtime);
  const keys = new EnvKeys("request state", "Or do without requestState.");
  const stateKeys = (env: Env) => keys.ring(env);
  const handle = createHttpHandler(server, {
    ...http,
    ...runtime,
    stateKeys,
    ...(part ? { sessions: part.gate } : {}),
  });
  const app = new Hono<Bindings<Env>>();
  // Hono's Bindings are the Env of the server: the type only widens where Env is unknown.
  app.all(path, (context) => handle(context.req.raw, context.env as Env));
  return Object.assign(app, part?.objects ?? ({} as Objects));
}

/** Into the Worker's log, with the reference the client got. */
const logError: ErrorReporter = (error, where) => {
  console.error(
    `mcp-edge: ${where.method}${where.tool ? ` ${where.tool}` : ""} failed (${where.correlationId})`,
    error,
  );
};
