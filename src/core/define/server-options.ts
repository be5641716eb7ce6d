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
import { CLIENT_REQUESTS } from "../protocol/methods.ts";
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

/** The caller for which `definitions` and `visible` decide. */
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

/** The subscriber of a resource, and its request. */
export interface SubscriptionContext<Env> {
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
export type SubscriptionHook<Env> = (uri: string, context: SubscriptionContext<Env>) => void | Promise<void>;

/**
 * Decides whether a client may subscribe to a resource, and starts watching it. `true` or undefined admits the client.
 * `false` refuses it as if the resource did not exist. A hook that throws McpError refuses with that error. Any other
 * result is a mistake: the client is refused, and `onError` receives a report.
 */
export type SubscribeHook<Env> = (
  uri: string,
  context: SubscriptionContext<Env>,
  // biome-ignore lint/suspicious/noConfusingVoidType: a hook without a return statement has the type void.
) => boolean | undefined | void | Promise<boolean | undefined | void>;

/** The description of a server, and the settings of its behavior. */
export interface ServerOptions<Env> extends Implementation {
  /** Instructions for the model on how to use the server. Sent with `initialize` and `server/discover`. */
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
  /** How long modern clients may cache the results of each method. @default results are not cached */
  readonly cacheHints?: Partial<Record<CacheableMethod, CacheHint>>;
  /** Hooks that wrap every request. The first hook is the outermost. */
  readonly around?: readonly AroundHook<Env>[];
  /**
   * The value of `ctx.context` in every handler, or a function that returns it. The function is called for each
   * request, so that no value of one request reaches another request; on stdio, `request` is undefined. `WithContext`
   * declares the type of the value.
   */
  readonly context?: ContextOf<Env> | ContextFunction<Env>;
  /**
   * Definitions that depend on stored state or on the caller, in addition to the fixed definitions. Called before each
   * request, in the isolate that serves it, so that lists and calls agree. Return the same objects if possible, because
   * each object is compiled only once.
   */
  readonly definitions?: (caller: CallerFacts<Env>) => readonly Definition<Env>[] | Promise<readonly Definition<Env>[]>;
  /**
   * Whether a caller sees a definition. A caller cannot use a definition that it does not see. Only `true` shows a
   * definition. A result that is not a boolean, such as a Promise, hides it and is reported to `onError` once.
   *
   * @default every definition is shown
   */
  readonly visible?: (definition: Definition<Env>, caller: CallerFacts<Env>) => boolean;
  /**
   * Called before a client is subscribed to a resource. Return `false` to refuse as if the resource did not exist, or
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
   * Called once for each sampling request that was sent to a client, however it ends. An exception of the hook has no
   * effect. Modern clients answer with their next request: if a client does not send it, the hook is not called, and if
   * it sends the answer twice, the hook is called twice. The outcome of an unanswered question of a task is
   * `cancelled`, when the task ends.
   */
  readonly onSample?: SampleHook<Env>;
  /**
   * Receives every exception of which the client received only a correlation id, and warnings about mistakes in the
   * server.
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

const CACHEABLE = Object.fromEntries(
  Object.entries(CLIENT_REQUESTS).flatMap(([method, row]) => ("isCacheable" in row ? [[method, null] as const] : [])),
);

/**
 * Checks the options of a server.
 *
 * @throws {KitError} `options-invalid` for an unknown option or a number out of range.
 */
export function checkServerOptions(options: ServerOptions<unknown>): void {
  checkFunction("visible of new McpServer()", options.visible);
  checkOptions("new McpServer(): ", options, OPTIONS);
  const { cacheHints = {} } = options;
  checkOptions("new McpServer(): cacheHints: ", cacheHints, CACHEABLE);
  for (const [method, hint] of Object.entries(cacheHints)) {
    checkOptions(`new McpServer(): cacheHints["${method}"].`, hint, CACHE);
  }
}
