/**
 * The routes of the recorder: its page, and the API that the page uses.
 *
 * They are served at the origin of the endpoint, but only to this machine. Requests from pages of other sites, from other
 * machines, and with a host name that does not belong to this machine (DNS rebinding) are refused.
 *
 * @module
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import {
  type Copied,
  DEV_HEADER,
  type FaultRequest,
  type FaultResult,
  type ObjectState,
  RECORDER_PATH,
  type RecorderInfo,
} from "../../recorder/api.ts";
import type { Recorder } from "../../recorder/recorder.ts";
import { EventFeed } from "./event-feed.ts";
import { isLoopback } from "./loopback.ts";
import { readPageFile } from "./page-files.ts";

export interface RouteOptions {
  readonly recorder: Recorder;
  readonly info: () => RecorderInfo;
  readonly objects: () => Promise<readonly ObjectState[]>;
  readonly causeFault: (request: FaultRequest) => Promise<FaultResult>;
  readonly copyAsCurl: (id: string) => Copied | undefined;
  readonly copyAsTest: (id: string) => Copied | undefined;
  readonly exportRecording: () => unknown;
  /** @throws {Error} if the file is invalid. The message is a sentence for the user. */
  readonly importRecording: (file: unknown) => unknown;
  /** @throws {Error} if the request is invalid. The message is a sentence for the user. */
  readonly compare: (request: unknown) => unknown;
}

/** A JSON response. Undefined if the response was already written. */
type Reply = { readonly status: number; readonly json: unknown } | undefined;

/** A route: its method, its path in `/__mcp-edge/`, and its handler. */
interface Route {
  readonly method: "GET" | "POST";
  readonly path: RegExp;
  serve(exchange: RouteExchange, id: string): Reply | Promise<Reply>;
}

interface RouteExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
}

/** The maximum size of a body, such as an imported recording, in bytes. */
const BODY_BYTES_MAX = 128 * 1024 * 1024;

const API = "api/";

/** Returns the request listener of the routes. */
export function createRoutes(options: RouteOptions): RequestListener {
  const feed = new EventFeed(options.recorder);
  const routes = [...readingRoutes(options, feed), ...changingRoutes(options, feed)];
  return (request, response) => {
    serve(request, response, routes).catch((error: unknown) => {
      const problem = error instanceof Error ? error.message : String(error);
      if (!response.headersSent) sendJson(response, 400, { problem });
      else response.destroy();
    });
  };
}

function readingRoutes(options: RouteOptions, feed: EventFeed): readonly Route[] {
  const { recorder } = options;
  const copied = (found: Copied | undefined): Reply => {
    if (!found) return { status: 404, json: { problem: "There is no such entry." } };
    return { status: "problem" in found ? 409 : 200, json: found };
  };
  return [
    { method: "GET", path: /^api\/info$/, serve: () => ok(options.info()) },
    {
      method: "GET",
      path: /^api\/entries$/,
      serve: ({ query }) => ok(recorder.summaries(Number(query.get("after") ?? 0) || 0)),
    },
    {
      method: "GET",
      path: /^api\/entries\/(\d+)$/,
      serve: (_, id) => {
        const entry = recorder.entry(id);
        return entry ? ok(entry) : { status: 404, json: { problem: "There is no such entry." } };
      },
    },
    { method: "GET", path: /^api\/entries\/(\d+)\/curl$/, serve: (_, id) => copied(options.copyAsCurl(id)) },
    { method: "GET", path: /^api\/entries\/(\d+)\/test$/, serve: (_, id) => copied(options.copyAsTest(id)) },
    {
      method: "GET",
      path: /^api\/events$/,
      serve: ({ request, response }) => {
        feed.add(request, response);
        return undefined;
      },
    },
    { method: "GET", path: /^api\/objects$/, serve: async () => ok(await options.objects()) },
    {
      method: "GET",
      path: /^api\/recording$/,
      serve: ({ response }) => {
        response.setHeader("Content-Disposition", 'attachment; filename="recording.json"');
        return ok(options.exportRecording());
      },
    },
  ];
}

function changingRoutes(options: RouteOptions, feed: EventFeed): readonly Route[] {
  return [
    {
      method: "POST",
      path: /^api\/faults$/,
      serve: async ({ request }) => ok(await options.causeFault(readFault(await readJson(request)))),
    },
    {
      method: "POST",
      path: /^api\/recording$/,
      serve: async ({ request }) => ok(options.importRecording(await readJson(request))),
    },
    {
      method: "POST",
      path: /^api\/compare$/,
      serve: async ({ request }) => ok(options.compare(await readJson(request))),
    },
    {
      method: "POST",
      path: /^api\/clear$/,
      serve: () => {
        options.recorder.clear();
        feed.cleared();
        return ok({});
      },
    },
  ];
}

function ok(json: unknown): Reply {
  return { status: 200, json };
}

async function serve(request: IncomingMessage, response: ServerResponse, routes: readonly Route[]): Promise<void> {
  const problem = findProblem(request);
  if (problem !== undefined) {
    sendJson(response, 403, { problem });
    return;
  }
  const url = new URL(request.url ?? "/", "http://localhost");
  const path = url.pathname.slice(RECORDER_PATH.length);
  if (!path.startsWith(API)) {
    await servePage(path, request, response);
    return;
  }
  const found = routes.filter((route) => route.path.test(path));
  const route = found.find(({ method }) => method === request.method);
  if (!route) {
    const allow = found.map(({ method }) => method).join(", ");
    if (allow !== "") response.setHeader("Allow", allow);
    sendJson(response, allow === "" ? 404 : 405, { problem: "There is no such route." });
    return;
  }
  const [, id = ""] = route.path.exec(path) ?? [];
  const reply = await route.serve({ request, response, query: url.searchParams }, id);
  if (reply) sendJson(response, reply.status, reply.json);
}

async function servePage(path: string, { method }: IncomingMessage, response: ServerResponse): Promise<void> {
  const file = method === "GET" || method === "HEAD" ? await readPageFile(path) : undefined;
  if (!file) {
    sendJson(response, 404, { problem: "There is no such file." });
    return;
  }
  response.writeHead(200, { ...SAFE_HEADERS, ...file.headers });
  response.end(method === "HEAD" ? undefined : file.bytes);
}

const SAFE_HEADERS = {
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
} as const;

function sendJson(response: ServerResponse, status: number, json: unknown): void {
  if (response.headersSent) return;
  response.writeHead(status, { ...SAFE_HEADERS, "Content-Type": "application/json" });
  response.end(JSON.stringify(json ?? null));
}

/** Matches Host headers that refer to this machine. */
const LOCAL_HOST = /^(?:localhost|(?:[a-z\d-]+\.)+localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** Returns the reason why a request is refused. Undefined if it is allowed. */
function findProblem({ headers, method, socket }: IncomingMessage): string | undefined {
  const isLocal = (socket as { isLocal?: boolean }).isLocal ?? isLoopback(socket.remoteAddress ?? "");
  if (!isLocal) return "The recorder can only be opened on the machine on which it runs.";
  const host = headers.host ?? "";
  if (!LOCAL_HOST.test(host)) return "The recorder can only be opened at localhost or a loopback address.";
  const { origin } = headers;
  const site = headers["sec-fetch-site"];
  if (origin !== undefined && origin !== `http://${host}`) return "The recorder refuses requests from other origins.";
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    return "The recorder refuses requests from other sites.";
  }
  const isReading = method === "GET" || method === "HEAD";
  if (!isReading && headers[DEV_HEADER.toLowerCase()] !== "1") return `The header ${DEV_HEADER}: 1 is missing.`;
  return undefined;
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new Error(`The body is larger than ${BODY_BYTES_MAX} bytes.`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new Error("The body is not JSON.");
  }
}

const FAULTS: readonly string[] = ["cut", "abort", "evict", "kill", "clock", "alarm", "delay"];

function readFault(body: unknown): FaultRequest {
  const { kind, entry, object, ms } = isObject(body) ? body : ({} as JsonObject);
  if (typeof kind !== "string" || !FAULTS.includes(kind))
    throw new Error(`"kind" must be one of ${FAULTS.join(", ")}.`);
  if (object !== undefined && !(typeof object === "string" && /^[\da-f]{64}$/.test(object))) {
    throw new Error('"object" must be an id of 64 hexadecimal digits.');
  }
  if (ms !== undefined && !(typeof ms === "number" && ms >= 0 && ms <= MS_MAX)) {
    throw new Error(`"ms" must be a number from 0 to ${MS_MAX}.`);
  }
  return {
    kind: kind as FaultRequest["kind"],
    ...(typeof entry === "string" ? { entry } : {}),
    ...(typeof object === "string" ? { object } : {}),
    ...(typeof ms === "number" ? { ms } : {}),
  };
}

/** The maximum by which the clock can be advanced, in milliseconds: ten years. */
const MS_MAX = 10 * 365 * 24 * 60 * 60_000;
