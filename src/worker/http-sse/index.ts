/**
 * mcp-edge/worker/http-sse: the two endpoints of 2024-11-05 clients, beside the one of Streamable HTTP.
 *
 * @module
 */
import { KitError } from "../../core/errors.ts";
import { openHttpSse, postHttpSse } from "../../http/http-sse.ts";
import type { RoutesPart } from "../edge.ts";
import { deliver } from "./delivery.ts";

export interface HttpSseOptions {
  /** Path that clients GET the stream from. @default "/sse" */
  readonly path?: string;
  /** Path that they POST messages to. @default "/messages" */
  readonly messagesPath?: string;
}

/**
 * Serves clients that speak HTTP+SSE, the transport of 2024-11-05. Needs sessions.
 *
 * @example
 * ```ts
 * const app = edge(server, { sessions: durable(), httpSse: httpSse() });
 * ```
 *
 * @see MCP 2024-11-05, basic/transports, "HTTP with SSE"
 */
export function httpSse<Env>(options: HttpSseOptions = {}): RoutesPart<Env> {
  const { path = "/sse", messagesPath = "/messages" } = options;
  return {
    deliver,
    mount: (app, endpoint, gate) => {
      if (!gate) throw new KitError("options-invalid", "edge(): the option httpSse needs the option sessions.");
      const add = (path: string, method: "GET" | "POST", serve: Serve<Env>) => {
        app.all(path, (context) =>
          endpoint.serve(context.req.raw, context.env as Env, method, (admitted) =>
            endpoint.guarded(() => serve(gate, admitted, endpoint.surroundings("sse", admitted))),
          ),
        );
      };
      add(path, "GET", (gate, admitted, around) => {
        // The app may be mounted below a path of another.
        const base = new URL(admitted.request.url).pathname.slice(0, -path.length);
        return openHttpSse(gate, admitted, around, base + messagesPath);
      });
      add(messagesPath, "POST", postHttpSse);
    },
  };
}

type Serve<Env> = typeof postHttpSse<Env>;
