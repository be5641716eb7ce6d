/**
 * mcp-edge/worker/files: files of tools in a Worker, stored in Durable Objects and R2.
 *
 * @module
 */
import type { Hono } from "hono/tiny";
import type { HandlerContext } from "../../core/define/handler-context.ts";
import { checkOptions, checkPath, type OptionTable, PERIOD, SIZE, TIMER } from "../../core/protocol/check-options.ts";
import { checkFunction, KitError } from "../../core/protocol/errors.ts";
import { isObject, type JsonObject } from "../../core/protocol/jsonrpc.ts";
import { readMeta } from "../../core/protocol/lifecycle.ts";
import { envRing } from "../../core/seal/env-keys.ts";
import { describeFiles, serverOf, shownName } from "../../files/add-files.ts";
import { FileStore } from "../../files/store.ts";
import type { ReceivedRequest } from "../../http/endpoint-types.ts";
import { type Brand, checkBrand } from "../../look/brand.ts";
import { RoleObjects } from "../bindings.ts";
import { createPlugin } from "../contributions.ts";
import { findExecution } from "../execution.ts";
import { findKeyProblems } from "../key-problems.ts";
import { OBJECTS, type WithMcpObject } from "../object.ts";
import type { HonoEnv } from "../parts.ts";
import type { EndpointServices, KitContribution, Plugin } from "../plugin.ts";
import type { Problem } from "../problems.ts";
import { WorkerFiles } from "./backend.ts";
import { FilesObject, type FilesRpc } from "./files-object.ts";
import { Links } from "./links.ts";
import { type FilesSettings, type Place, SMALL_BYTES_MAX } from "./place.ts";
import { serveLink } from "./routes.ts";

/** Options of {@link files}. */
export interface FilesOptions<Env> extends Brand {
  /** The name on the page. @default the title of the server, or else its name */
  readonly name?: string;
  /**
   * Returns the R2 bucket, such as `(env) => env.FILES`. Files of at most 1 MB are stored in a Durable Object, and do not need it.
   *
   * @default larger files are refused
   */
  readonly bucket?: (env: Env) => R2Bucket | undefined;
  /** The path under which links are served. @default "/files" */
  readonly path?: string;
  /**
   * The URL of the app, to which `path` is added, such as `https://mcp.example.com`.
   *
   * @default the URL to which the request of the call was sent, without the path of the endpoint
   */
  readonly baseUrl?: string;
  /** The maximum number of bytes of a file. Cloudflare limits the body of a request to 100 MB on most plans. @default 100 MB */
  readonly bytesMax?: number;
  /** The maximum number of files that are stored for each principal. Callers without a principal share 16 such places. @default 100 */
  readonly filesMax?: number;
  /** The maximum number of bytes that are stored for each principal, including uploads in progress. @default 500 MB */
  readonly totalBytesMax?: number;
  /** How long a file is kept, and the link to a file that a tool returns works, in milliseconds. @default 1 hour */
  readonly ttlMs?: number;
  /** How long the link for an upload works, in milliseconds. @default 15 minutes */
  readonly linkMs?: number;
  /** How long an upload may take, in milliseconds. @default 10 minutes */
  readonly uploadMs?: number;
  /** How long a call waits for the user to upload a file, in milliseconds. @default 10 minutes */
  readonly waitMs?: number;
}

const OPTIONS: OptionTable<FilesOptions<never>> = {
  name: null,
  logo: null,
  accent: null,
  bucket: null,
  path: null,
  baseUrl: null,
  bytesMax: SIZE,
  filesMax: [1, 1_000],
  totalBytesMax: [1, Number.MAX_SAFE_INTEGER],
  ttlMs: PERIOD,
  linkMs: PERIOD,
  uploadMs: TIMER,
  waitMs: TIMER,
};

const MINUTE_MS = 60_000;
const MB = 1_000_000;

/**
 * Stores the files of a server's tools, as a plugin of `edge()`. A client or a user uploads a file to a link that works once,
 * and a tool returns a file as a link that ends. Small files are stored in a Durable Object for each principal, larger files in
 * R2, through which they stream without being held in memory.
 *
 * A link is sealed, and creating one costs nothing. An upload of a small file costs one Durable Object request and three rows; of
 * a large file two requests and three rows; a download one request. Files are deleted after `ttlMs`.
 *
 * @param store The files of the server that the endpoint serves, from `addFiles()` of `mcp-edge/files`.
 * @throws {KitError} `options-invalid` naming the option.
 * @example
 * ```ts
 * const app = edge(server, { use: [durable(), files(store)] }); // files(store, { bucket: (env) => env.FILES }) for more than 1 MB
 * export default app;
 * export class McpObject extends app.McpObject {}
 * ```
 */
export function files<Env = unknown>(
  store: FileStore,
  options: FilesOptions<Env> = {},
): Plugin<Env, WithMcpObject<Env>> {
  const settings = readOptions(store, options);
  return createPlugin<Env, WithMcpObject<Env>>({
    name: "files()",
    objects: OBJECTS,
    attach: (endpoint) => attach(endpoint, store, options, settings) as KitContribution<Env>,
  });
}

function readOptions<Env>(store: FileStore, options: FilesOptions<Env>): FilesSettings {
  if (!(store instanceof FileStore))
    throw new KitError(
      "options-invalid",
      'files(): the first argument is the result of addFiles() of "mcp-edge/files".',
    );
  checkOptions("files(): ", options, OPTIONS);
  checkBrand("files(): ", options);
  const { path = "/files", baseUrl, bucket } = options;
  checkFunction("files(): bucket", bucket);
  checkPath("files(): path", path);
  if (!/^(\/[\w.-]+)+$/.test(path))
    throw new KitError("options-invalid", `files(): path is ${path}; write a path such as "/files".`);
  if (baseUrl !== undefined && !/^https?:\/\/[^?#\s'"]+$/.test(baseUrl))
    throw new KitError(
      "options-invalid",
      `files(): baseUrl is ${baseUrl}; write a URL such as "https://mcp.example.com".`,
    );
  const { bytesMax = 100 * MB, filesMax = 100, totalBytesMax = 500 * MB, ttlMs = 60 * MINUTE_MS } = options;
  const { linkMs = 15 * MINUTE_MS, uploadMs = 10 * MINUTE_MS, waitMs = 10 * MINUTE_MS } = options;
  return {
    ...{ path, bytesMax, filesMax, totalBytesMax, ttlMs, linkMs, uploadMs, waitMs },
    bucket: (env) => bucket?.(env as Env),
  };
}

function attach<Env>(
  endpoint: EndpointServices,
  store: FileStore,
  options: FilesOptions<Env>,
  settings: FilesSettings,
): KitContribution {
  const { reference, keys = envRing, replay, path } = endpoint;
  const server = serverOf(store);
  if (!server) throw new KitError("options-invalid", 'files(): create the store with addFiles() of "mcp-edge/files".');
  const objects = new RoleObjects<FilesRpc>("files", reference);
  const place: Place = { settings, objects, links: new Links(keys, reference.className), receiving: new Map() };
  const own = options.baseUrl?.replace(/\/+$/, "");
  const baseUrl = (ctx: HandlerContext) => own ?? readBase(ctx);
  store.join(new WorkerFiles({ place, server, hasReplay: replay !== undefined, baseUrl }));
  const largest = Math.min(settings.bytesMax, options.bucket ? Infinity : SMALL_BYTES_MAX);
  describeFiles(server, {
    reference: "the id of an uploaded file (file_...)",
    missing: "the answer says how to upload it",
    bytesMax: largest,
  });
  const { name = shownName(server), logo, accent } = options;
  const brand: Brand = { name, ...(logo ? { logo } : {}), ...(accent ? { accent } : {}) };
  return {
    roles: [{ name: "files", create: (ctx, env) => new FilesObject(ctx, env, settings) }],
    findProblems: (env) => [
      ...(keys === envRing ? findKeyProblems(env) : []),
      ...(options.bucket && !isBucket(settings.bucket(env)) ? [NO_BUCKET] : []),
    ],
    authorize: (received) => noteBase(received, path),
    mount<Own>(app: Hono<HonoEnv<Own>>): void {
      app.all(`${settings.path}/*`, (context) =>
        serveLink(
          { place, page: { brand, server: name } },
          { request: context.req.raw, env: context.env, execution: findExecution(context) },
        ),
      );
    },
  };
}

const NO_BUCKET: Problem =
  '[binding-wrong] files(): the function bucket returned no R2 bucket. In wrangler.toml write: [[r2_buckets]] binding = "FILES" bucket_name = "files"; and in use: bucket: (env) => env.FILES';

function isBucket(value: unknown): boolean {
  return typeof (value as Partial<R2Bucket> | undefined)?.put === "function";
}

/** The member of `_meta` in which handlers find the URL of the app: they may run in an object, which has no request. */
const BASE = "mcp-edge/files-base";

/**
 * Notes the URL of the app in the messages of a request. A value that the client has sent is replaced. The URL is that of the
 * caller's own request, so a wrong host deceives only the caller itself.
 */
function noteBase({ request, messages }: ReceivedRequest, path: string): undefined {
  const { origin, pathname } = new URL(request.url);
  const base = origin + (pathname.endsWith(path) ? pathname.slice(0, pathname.length - path.length) : "");
  for (const parsed of messages) {
    if (parsed.kind !== "request") continue;
    const message = parsed.message as { params?: JsonObject };
    if (isObject(message.params))
      message.params = { ...message.params, _meta: { ...readMeta(message.params), [BASE]: base } };
  }
}

function readBase(ctx: HandlerContext): string {
  const base = ctx.meta[BASE];
  if (typeof base === "string") return base;
  throw new KitError("options-invalid", "files(): the URL of the server is not known here. Set the option baseUrl.");
}
