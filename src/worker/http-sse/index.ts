/**
 * Serves clients that use HTTP+SSE, the transport of 2024-11-05, at the URL that serves all
 * other clients.
 *
 * @module
 */

import { checkOptions, checkPath, type OptionTable, SIZE, TIMER } from "../../core/protocol/check-options.ts";
import type { Execution } from "../../core/protocol/execution.ts";
import type { Endpoint } from "../../http/endpoint.ts";
import type { Admitted } from "../../http/endpoint-types.ts";
import { isHttpSse, type OpenStreams, openHttpSse, postHttpSse } from "../../http/http-sse.ts";
import type { SessionGateway } from "../../http/sessions.ts";
import { findExecution } from "../execution.ts";
import type { HttpSsePart, Part } from "../parts.ts";
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
 * Serves clients that use HTTP+SSE, the transport of 2024-11-05, at the endpoint's own path. Requires `sessions()`.
 *
 * A GET that accepts `text/event-stream`, or anything, and has no `Mcp-Session-Id` and no `Last-Event-ID` opens the
 * stream. Its first event names the same path, with the session in the query, to which the client sends its messages.
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
      // edge() refuses every request to an endpoint with httpSse() and without sessions().
      const responder = createResponders(endpoint, gateway as SessionGateway, open);
      const addRoute = (method: "GET" | "POST", own: string, other: string) =>
        app.all(own, (context) => {
          const { raw } = context.req;
          // The app may be mounted under a path of another app.
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
 * Returns a function that creates responders: one opens a stream for a GET, the other accepts the message of a POST. Both
 * apply the checks of the endpoint first.
 */
function createResponders(endpoint: Endpoint, gateway: SessionGateway, open: OpenStreams) {
  /** @param other The path of the other route. Undefined if the stream and its messages have the same path. */
  return (method: string, other?: string) => (request: Request, env: unknown, execution: Execution | undefined) => {
    const isStream = method === "GET";
    const reply = (admitted: Admitted) =>
      endpoint.guarded(() => {
        const services = endpoint.services("sse", admitted);
        return isStream
          ? openHttpSse(gateway, admitted, services, open, other)
          : postHttpSse(gateway, admitted, services);
      });
    // Both paths are one endpoint, so the session id that the stream sends is valid at the path of the messages.
    return endpoint.serve(request, env, execution, method, reply, isStream ? undefined : other);
  };
}
