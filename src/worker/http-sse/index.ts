/**
 * Serves clients that use HTTP+SSE, the transport of 2024-11-05, at the URL that serves all
 * other clients.
 *
 * @module
 */

import { checkOptions, checkPath, type OptionTable, SIZE, TIMER } from "../../core/protocol/check-options.ts";
import type { Route } from "../../http/endpoint-types.ts";
import { isHttpSse, type OpenStreams, openHttpSse, postHttpSse } from "../../http/http-sse.ts";
import { findExecution } from "../execution.ts";
import type { RoutesPart } from "../parts.ts";
import { deliver } from "./delivery.ts";

/** Options of {@link httpSse}. */
export interface HttpSseOptions {
  /**
   * A further path for the stream, such as "/sse", for clients that are configured with that path.
   *
   * @default none, or "/sse" if `messagesPath` is given
   */
  readonly path?: string;
  /** The path to which clients of `path` send messages. @default none, or "/messages" if `path` is given */
  readonly messagesPath?: string;
  /**
   * The maximum number of streams of HTTP+SSE clients that one isolate holds open at once. A further one is answered
   * with 429 before an object is created for it. A stream counts until the runtime reports that its client has
   * disconnected. The runtime notices that when it writes to the stream, so a client that has left counts until the
   * next message or heartbeat (`heartbeatMs`), and one whose network was lost until the connection times out.
   *
   * @default 1000
   */
  readonly streamsMax?: number;
  /**
   * The maximum number of these streams that one principal may hold open in one isolate, so that a single caller cannot
   * take all of them. All anonymous callers together count as one principal: set it to `streamsMax` for a server that
   * authenticates nobody.
   *
   * @default half of `streamsMax`, rounded up
   */
  readonly streamsPerPrincipalMax?: number;
  /**
   * The time, in milliseconds, in which a client must begin its handshake after it has opened its stream. Then the
   * stream ends. Some clients of Streamable HTTP open a stream that they never use.
   *
   * @default 5 minutes
   */
  readonly handshakeMs?: number;
}

const OPTIONS: OptionTable<HttpSseOptions> = {
  path: null,
  messagesPath: null,
  streamsMax: SIZE,
  streamsPerPrincipalMax: SIZE,
  handshakeMs: TIMER,
};

/**
 * Serves clients that speak HTTP+SSE, the transport of 2024-11-05, at the endpoint's own path. Needs sessions.
 *
 * A GET that accepts `text/event-stream`, or anything, and has no `Mcp-Session-Id` and no `Last-Event-ID` opens the
 * stream; its first event names the same path with the session in the query, for the client to POST to.
 *
 * @throws {KitError} `options-invalid` when a path does not begin with a slash, `streamsMax` or
 * `streamsPerPrincipalMax` is not a whole number from 1 on, or `edge()` has no sessions.
 * @example
 * ```ts
 * const app = edge(server, { use: [sessions(), httpSse(), keys()] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
export function httpSse(options: HttpSseOptions = {}): RoutesPart {
  checkOptions("httpSse(): ", options, OPTIONS);
  checkPath("httpSse(): path", options.path);
  checkPath("httpSse(): messagesPath", options.messagesPath);
  const { path = "/sse", messagesPath = "/messages", streamsMax = 1000 } = options;
  const { streamsPerPrincipalMax = Math.ceil(streamsMax / 2), handshakeMs = 5 * 60_000 } = options;
  const open: OpenStreams = {
    max: streamsMax,
    perPrincipalMax: streamsPerPrincipalMax,
    count: 0,
    byPrincipal: new Map(),
    handshakeMs,
  };
  return {
    slot: "httpSse",
    deliver,
    mount: (app, endpoint, gateway) => {
      // edge() has already refused this: see findOptionProblems().
      if (!gateway) return () => undefined;
      /** @param path The path of the endpoint, if it differs from that of the request. */
      const routeFor = (method: string, base?: string, path?: string): Route => ({
        allow: method,
        path,
        respond: (admitted) =>
          endpoint.guarded(() => {
            const call = { gateway, admitted, endpoint };
            return method === "GET" ? openHttpSse(call, open, base) : postHttpSse(call);
          }),
      });
      if (options.path !== undefined || options.messagesPath !== undefined) {
        app.all(path, (context) => {
          const { raw } = context.req;
          // The app may be mounted below a path of another app.
          const base = new URL(raw.url).pathname.slice(0, -path.length);
          return endpoint.handleRoute(routeFor("GET", base + messagesPath), raw, context.env, findExecution(context));
        });
        app.all(messagesPath, (context) => {
          const { raw } = context.req;
          // Both paths are one endpoint, so the session id that the stream sends is valid at the path of the messages.
          const base = new URL(raw.url).pathname.slice(0, -messagesPath.length);
          const route = routeFor("POST", undefined, base + path);
          return endpoint.handleRoute(route, raw, context.env, findExecution(context));
        });
      }
      return (request, env, execution) => {
        return isHttpSse(request) ? endpoint.handleRoute(routeFor(request.method), request, env, execution) : undefined;
      };
    },
  };
}
