/**
 * What an author says about a server, and what the ways of serving tell it.
 *
 * @module
 */

import type { SampleHook } from "../ask/sampling-audit.ts";
import { CACHE, checkOptions, type OptionTable, SIZE } from "../protocol/check-options.ts";
import type { ClientFacts, Implementation, Principal } from "../protocol/client-facts.ts";
import type { ErrorReporter } from "../protocol/error-reports.ts";
import { checkFunction } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { ContextOf } from "./handler-context.ts";
import type { AroundHook, RequestEndHook } from "./hook-types.ts";
import type { PromptDefinition } from "./prompt.ts";
import type { ResourceDefinition, TemplateDefinition } from "./resource.ts";
import type { ToolDefinition } from "./tool.ts";

/** How long a client may keep a result, and who may share it. @see MCP 2026-07-28, server/utilities/caching */
export interface CacheHint {
  /** Milliseconds, an integer; 0 means "ask again each time". @default 0 */
  readonly ttlMs?: number;
  /** `public`: the same for every caller. @default "private" */
  readonly cacheScope?: "public" | "private";
}

/** The methods whose results carry a {@link CacheHint}. */
export type CacheableMethod =
  | "server/discover"
  | "tools/list"
  | "prompts/list"
  | "resources/list"
  | "resources/templates/list"
  | "resources/read";

/** Anything `add` takes. */
export type Definition<Env> =
  | ToolDefinition<Env>
  | PromptDefinition<Env>
  | ResourceDefinition<Env>
  | TemplateDefinition<Env>;

/** What is known of an HTTP request beside its body; a web `Request` is one. */
export interface RequestFacts {
  /** The URL of the request. */
  readonly url: string;
  /** The headers of the request; names have no case. */
  readonly headers: { get(name: string): string | null };
}

/** For whom a server is asked what it offers. */
export interface CallerFacts<Env> {
  /** The bindings of the Worker; on stdio what was given to `serveStdio`. */
  readonly env: Env;
  /** Who the request acts for; undefined for an anonymous one. */
  readonly principal: Principal | undefined;
}

/** Makes the value that the handlers of one request get as `ctx.context`. `request` is undefined on stdio. */
export type ContextFunction<Env> = (
  request: RequestFacts | undefined,
  env: Env,
  principal: Principal | undefined,
) => ContextOf<Env> | Promise<ContextOf<Env>>;

/** Whose subscription it is. */
export interface SubscriptionPlace<Env> {
  /** The bindings of the Worker; on stdio what was given to `serveStdio`. */
  readonly env: Env;
  /** Undefined when anonymous, and when a session that nobody uses any more ends. */
  readonly principal: Principal | undefined;
  /** The client that subscribes. */
  readonly client: ClientFacts;
  /** Aborts when the request that subscribes or unsubscribes is cancelled; never where the client is simply gone. */
  readonly signal: AbortSignal;
}

/** Stops watching a resource for one subscriber. */
export type SubscriptionHook<Env> = (uri: string, place: SubscriptionPlace<Env>) => void | Promise<void>;

/**
 * Decides whether a client may subscribe to a resource, and starts watching it. `true` or nothing admits the client.
 * `false` refuses it as if there were no such resource. A hook that throws McpError refuses with that error. Anything else
 * is a mistake: the client is refused, and `onError` is told.
 */
export type SubscribeHook<Env> = (
  uri: string,
  place: SubscriptionPlace<Env>,
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook without a return statement has the type void.
) => boolean | undefined | void | Promise<boolean | undefined | void>;

/** Describes a server and says how it behaves. */
export interface ServerOptions<Env> extends Implementation {
  /** How to use the server, for the model; sent with `initialize` and `server/discover`. */
  readonly instructions?: string;
  /** Tools made by `defineTool`. */
  readonly tools?: readonly ToolDefinition<Env>[];
  /** Prompts made by `definePrompt`. */
  readonly prompts?: readonly PromptDefinition<Env>[];
  /** Resources and templates made by `defineResource` and `defineResourceTemplate`. */
  readonly resources?: readonly (ResourceDefinition<Env> | TemplateDefinition<Env>)[];
  /** Entries on a page of each list. @default all at once */
  readonly pageSize?: number;
  /** Members put over the capabilities that follow from what is defined; `undefined` removes one. */
  readonly capabilities?: JsonObject;
  /** Protocol versions to serve. @default all the kit knows */
  readonly protocolVersions?: readonly string[];
  /** How long clients of 2026-07-28 may keep results, for each method. @default they ask again each time */
  readonly cacheHints?: Partial<Record<CacheableMethod, CacheHint>>;
  /** Around every request, the first one outermost. */
  readonly around?: readonly AroundHook<Env>[];
  /**
   * What every handler gets as `ctx.context`: a value, or a function called for each request (with no `request` on
   * stdio), so that nothing of one person's request reaches another's. See `WithContext` for its type.
   */
  readonly context?: ContextOf<Env> | ContextFunction<Env>;
  /**
   * Definitions that depend on stored state or on the caller, beside the fixed ones. Asked before each request, in
   * whichever isolate serves it, so that none lists what another refuses. Return the same objects where you can: they
   * are compiled once each.
   */
  readonly definitions?: (caller: CallerFacts<Env>) => readonly Definition<Env>[] | Promise<readonly Definition<Env>[]>;
  /**
   * Whether a caller sees a definition. What it does not see it cannot call either. Only `true` shows it: anything that
   * is not a boolean, such as a Promise, hides it, and `onError` is told once.
   *
   * @default everything is shown
   */
  readonly visible?: (definition: Definition<Env>, caller: CallerFacts<Env>) => boolean;
  /**
   * Called before a client is subscribed to a resource. Return `false` to refuse as if there were no such resource, or
   * throw McpError to refuse with an error; `subscriptions/listen` leaves out what is refused either way.
   *
   * @default every resource that the client can see
   */
  readonly onSubscribe?: SubscribeHook<Env>;
  /** After a client is no longer subscribed: it said so, its listen stream closed, or its session ended. */
  readonly onUnsubscribe?: SubscriptionHook<Env>;
  /** Called once for each request, however it ends. Its own failure changes nothing. */
  readonly onRequestEnd?: RequestEndHook<Env>;
  /**
   * Called once for each sampling request that a client was sent, however it ends. Its own failure changes nothing.
   * Modern clients answer with their next request, and are heard of then: one that never comes back is not, one that
   * presents its answer twice is twice. What a task asked and nobody answered is `cancelled` when the task ends.
   */
  readonly onSample?: SampleHook<Env>;
  /** Hears of every exception a client was only given a correlation id for. @default the runtime's log */
  readonly onError?: ErrorReporter;
}

const OPTIONS: OptionTable<ServerOptions<unknown>> = {
  name: null,
  version: null,
  title: null,
  description: null,
  websiteUrl: null,
  icons: null,
  instructions: null,
  tools: null,
  prompts: null,
  resources: null,
  pageSize: SIZE,
  capabilities: null,
  protocolVersions: null,
  cacheHints: null,
  around: null,
  context: null,
  definitions: null,
  visible: null,
  onSubscribe: null,
  onUnsubscribe: null,
  onRequestEnd: null,
  onSample: null,
  onError: null,
};

const CACHEABLE: OptionTable<Record<CacheableMethod, CacheHint>> = {
  "server/discover": null,
  "tools/list": null,
  "prompts/list": null,
  "resources/list": null,
  "resources/templates/list": null,
  "resources/read": null,
};

/** @throws {KitError} `options-invalid` for an option that does not exist, or a number out of its range. */
export function checkServerOptions(options: ServerOptions<unknown>): void {
  checkFunction("visible of new McpServer()", options.visible);
  checkOptions("new McpServer(): ", options, OPTIONS);
  const { cacheHints = {} } = options;
  checkOptions("new McpServer(): cacheHints: ", cacheHints, CACHEABLE);
  for (const [method, hint] of Object.entries(cacheHints)) {
    checkOptions(`new McpServer(): cacheHints["${method}"].`, hint, CACHE);
  }
}
