/**
 * Serves clients that use HTTP+SSE, the transport of 2024-11-05, at the same URL as all other clients.
 *
 * @module
 */

import { checkOptions, checkPath, type OptionTable, SIZE, TIMER } from "../../core/protocol/check-options.ts";
import type { Execution } from "../../core/protocol/execution.ts";
import type { Endpoint } from "../../http/endpoint.ts";
import type { Route } from "../../http/endpoint-types.ts";
import { isHttpSse, type OpenStreams, openHttpSse, postHttpSse } from "../../http/http-sse.ts";
import type { SessionGateway } from "../../http/sessions.ts";
import { findExecution } from "../execution.ts";
import type { HttpSsePart, Part } from "../parts.ts";
import { deliver } from "./delivery.ts";

/** Options of {@link httpSse}. */
export interface HttpSseOptions {
  /**
   * An additional path for the stream, such as "/sse", for clients that are configured with that path.
   *
   * @default none, or "/sse" if `messagesPath` is given
   */
  readonly path?: string;
  /** The path to which clients of `path` send their messages. @default none, or "/messages" if `path` is given */
  readonly messagesPath?: string;
  /**
   * The maximum number of streams of HTTP+SSE clients that one isolate holds open at once. Additional streams are refused
   * with 429 before a Durable Object is created. A stream counts until the runtime reports that its client has
   * disconnected. The runtime detects this when it writes to the stream, so a client that has left counts until the next
   * message or heartbeat (`heartbeatMs`), and a client that has lost its network counts until the connection times out.
   *
   * @default 1000
   */
  readonly streamsMax?: number;
  /**
   * The maximum number of these streams that one principal may hold open in one isolate, so that a single caller cannot
   * use all of them. All anonymous callers together count as one principal. For a server without authentication, set this
   * option to `streamsMax`.
   *
   * @default half of `streamsMax`, rounded up
   */
  readonly streamsPerPrincipalMax?: number;
  /**
   * How long a stream stays open without a handshake, in milliseconds. Some clients of Streamable HTTP open a stream that
   * they never use.
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
 * Serves clients that use HTTP+SSE, the transport of 2024-11-05, at the endpoint's own path. Requires `sessions()`.
 *
 * A GET that accepts `text/event-stream` (or any type) and has neither `Mcp-Session-Id` nor `Last-Event-ID` opens the
 * stream. Its first event contains the URL to which the client sends its messages: the same path, with the session in the
 * query.
 *
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * const app = edge(server, { use: [sessions(), httpSse(), keys()] });
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 *
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
export function httpSse(options: HttpSseOptions = {}): Part {
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
  const part: HttpSsePart = {
    slot: "httpSse",
    deliver,
    mount: (app, { endpoint, gateway }) => {
      // The gateway exists, because edge() refuses all requests to an endpoint with httpSse() but without sessions().
      const responder = createResponders(endpoint, gateway as SessionGateway, open);
      const addRoute = (method: "GET" | "POST", own: string, other: string) =>
        app.all(own, (context) => {
          const { raw } = context.req;
          // The app may be mounted at a path of another app.
          const base = new URL(raw.url).pathname.slice(0, -own.length);
          return responder(method, base + other)(raw, context.env, findExecution(context));
        });
      if (options.path !== undefined || options.messagesPath !== undefined) {
        addRoute("GET", path, messagesPath);
        addRoute("POST", messagesPath, path);
      }
      return (request, env, execution) =>
        isHttpSse(request) ? responder(request.method)(request, env, execution) : undefined;
    },
  };
  return part;
}

/**
 * Returns a function that creates responders. The responder for GET opens a stream, and the responder for POST accepts a
 * message. Both first apply the checks of the endpoint.
 */
function createResponders(endpoint: Endpoint, gateway: SessionGateway, open: OpenStreams) {
  /** @param other The path of the other route. Undefined if the stream and its messages have the same path. */
  return (method: string, other?: string) => (request: Request, env: unknown, execution: Execution | undefined) => {
    const isStream = method === "GET";
    const route: Route = {
      allow: method,
      // Both paths belong to one endpoint, so the session id from the stream is valid at the path of the messages.
      path: isStream ? undefined : other,
      respond: (admitted) =>
        endpoint.guarded(() => {
          const call = { gateway, admitted, endpoint };
          return isStream ? openHttpSse(call, open, other) : postHttpSse(call);
        }),
    };
    return endpoint.handleRoute(route, request, env, execution);
  };
}
