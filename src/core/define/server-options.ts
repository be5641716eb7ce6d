/**
 * The options of a server, and the arguments of its functions.
 *
 * @module
 */

import type { SampleHook } from "../ask/sample-hook.ts";
import { CACHE, checkOptions, type OptionTable, SIZE } from "../protocol/check-options.ts";
import type { ClientFacts, Implementation, Principal } from "../protocol/client-facts.ts";
import type { ErrorReporter } from "../protocol/error-reports.ts";
import { checkFunction } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/jsonrpc.ts";
import type { CacheableMethod, CacheHint } from "./cache-hint.ts";
import type { ContextOf } from "./handler-context.ts";
import type { AroundHook, RequestEndHook } from "./hook-types.ts";
import type { PromptDefinition } from "./prompt.ts";
import type { ResourceDefinition, ResourceTemplateDefinition } from "./resource.ts";
import type { ToolDefinition } from "./tool.ts";

/** A definition that `server.add` accepts. */
export type Definition<Env> =
  | ToolDefinition<Env>
  | PromptDefinition<Env>
  | ResourceDefinition<Env>
  | ResourceTemplateDefinition<Env>;

/** An HTTP request without its body; a web `Request` is one. */
export interface RequestFacts {
  /** The URL of the request. */
  readonly url: string;
  /** The headers of the request. Names are case-insensitive. */
  readonly headers: { get(name: string): string | null };
}

/** The caller that `definitions` and `visible` decide about. */
export interface CallerFacts<Env> {
  /** The bindings of the Worker; on stdio, the `env` given to `serveStdio`. */
  readonly env: Env;
  /** The principal that the request acts for; undefined if it is anonymous. */
  readonly principal: Principal | undefined;
}

/** Returns the value of `ctx.context` for the handlers of one request. `request` is undefined on stdio. */
export type ContextFunction<Env> = (
  request: RequestFacts | undefined,
  env: Env,
  principal: Principal | undefined,
) => ContextOf<Env> | Promise<ContextOf<Env>>;

/** The subscriber, and its request. */
export interface SubscriptionPlace<Env> {
  /** The bindings of the Worker; on stdio, the `env` given to `serveStdio`. */
  readonly env: Env;
  /** The principal of the subscriber. Undefined if it is anonymous, and when an unused session ends. */
  readonly principal: Principal | undefined;
  /** The client that subscribes. */
  readonly client: ClientFacts;
  /** Aborts when the request to subscribe or unsubscribe is cancelled, but not when the client disconnects. */
  readonly signal: AbortSignal;
}

/** Stops watching a resource for one subscriber. */
export type SubscriptionHook<Env> = (uri: string, place: SubscriptionPlace<Env>) => void | Promise<void>;

/**
 * Decides whether a client may subscribe to a resource, and starts watching it. `true` or nothing admits the client.
 * `false` refuses it as if there were no such resource. A hook that throws McpError refuses with that error. Anything else
 * is a mistake: the client is refused, and `onError` receives a report.
 */
export type SubscribeHook<Env> = (
  uri: string,
  place: SubscriptionPlace<Env>,
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook without a return statement has the type void.
) => boolean | undefined | void | Promise<boolean | undefined | void>;

/** The description of a server, and the settings of its behavior. */
export interface ServerOptions<Env> extends Implementation {
  /** A text for the model that explains how to use the server. Sent with `initialize` and `server/discover`. */
  readonly instructions?: string;
  /** Tools created by `defineTool`. */
  readonly tools?: readonly ToolDefinition<Env>[];
  /** Prompts created by `definePrompt`. */
  readonly prompts?: readonly PromptDefinition<Env>[];
  /** Resources and resource templates created by `defineResource` and `defineResourceTemplate`. */
  readonly resources?: readonly (ResourceDefinition<Env> | ResourceTemplateDefinition<Env>)[];
  /** The number of entries on a page of each list. @default all entries on one page */
  readonly pageSize?: number;
  /**
   * Members that are added to the capabilities that the server derives from its definitions, or that replace them.
   * `undefined` removes a member.
   */
  readonly capabilities?: JsonObject;
  /** The protocol versions that the server accepts. @default every version that the kit supports */
  readonly protocolVersions?: readonly string[];
  /** How long clients of 2026-07-28 may keep the results of each method. @default clients ask again each time */
  readonly cacheHints?: Partial<Record<CacheableMethod, CacheHint>>;
  /** Hooks that wrap every request. The first one is the outermost. */
  readonly around?: readonly AroundHook<Env>[];
  /**
   * The value of `ctx.context` in every handler, or a function that returns it. The function is called for each
   * request, so that no value of one request reaches another; on stdio it gets no `request`. `WithContext` declares the
   * type of the value.
   */
  readonly context?: ContextOf<Env> | ContextFunction<Env>;
  /**
   * Definitions that depend on stored state or on the caller, in addition to the fixed ones. Called before each
   * request, in the isolate that serves it, so that lists and calls agree. Return the same objects if possible, because
   * each object is compiled only once.
   */
  readonly definitions?: (caller: CallerFacts<Env>) => readonly Definition<Env>[] | Promise<readonly Definition<Env>[]>;
  /**
   * Whether a caller sees a definition. It cannot call a definition that it does not see. Only `true` shows a
   * definition. A result that is not a boolean, such as a Promise, hides it and is reported to `onError` once.
   *
   * @default everything is shown
   */
  readonly visible?: (definition: Definition<Env>, caller: CallerFacts<Env>) => boolean;
  /**
   * Called before a client is subscribed to a resource. Return `false` to refuse as if there were no such resource, or
   * throw McpError to refuse with an error; `subscriptions/listen` leaves the resource out in both cases.
   *
   * @default every resource that the client can see
   */
  readonly onSubscribe?: SubscribeHook<Env>;
  /** Called when a subscription has ended: the client unsubscribed, its listen stream closed, or its session ended. */
  readonly onUnsubscribe?: SubscriptionHook<Env>;
  /**
   * Called once for each request when it has ended, whether it succeeded, failed or was cancelled. An exception of the
   * hook has no effect.
   */
  readonly onRequestEnd?: RequestEndHook<Env>;
  /**
   * Called once for each sampling request that a client was sent, however it ends. An exception of the hook changes
   * nothing. Modern clients answer with their next request: for a client that never returns the hook is not called, and
   * for one that sends its answer twice it is called twice. A question of a task that is never answered is `cancelled`
   * when the task ends.
   */
  readonly onSample?: SampleHook<Env>;
  /**
   * Receives every exception for which the client got only a correlation id, and warnings about mistakes in the server.
   *
   * @default the runtime's log
   */
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

/** Checks the options of a server. @throws {KitError} `options-invalid` for an unknown option or a number out of range. */
export function checkServerOptions(options: ServerOptions<unknown>): void {
  checkFunction("visible of new McpServer()", options.visible);
  checkOptions("new McpServer(): ", options, OPTIONS);
  const { cacheHints = {} } = options;
  checkOptions("new McpServer(): cacheHints: ", cacheHints, CACHEABLE);
  for (const [method, hint] of Object.entries(cacheHints)) {
    checkOptions(`new McpServer(): cacheHints["${method}"].`, hint, CACHE);
  }
}
