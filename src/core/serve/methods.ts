/**
 * The functions that serve the methods, with the conditions under which a server offers each of them.
 *
 * @module
 */

import { quote } from "../basics/quote.ts";
import type { ListedEntry } from "../define/catalog.ts";
import { complete, readCompletionRequest } from "../define/completion.ts";
import { toCustomResult } from "../define/custom-methods.ts";
import type { HandlerContext } from "../define/handler-context.ts";
import { readPromptArguments, toPromptResult } from "../define/prompt.ts";
import type { Registry } from "../define/registry.ts";
import {
  type ListedResource,
  listedResource,
  type ReadResult,
  type ReadReturn,
  toContents,
} from "../define/resource.ts";
import { checkMediaType, pick } from "../protocol/content.ts";
import { invalidParams } from "../protocol/errors.ts";
import type { JsonObject, JsonText } from "../protocol/jsonrpc.ts";
import { getInstructions, negotiate, type TransportFeatures } from "../protocol/lifecycle.ts";
import { readLevel } from "../protocol/logging.ts";
import { CLIENT_REQUESTS, type RequestName } from "../protocol/methods.ts";
import { readTarget } from "../protocol/targets.ts";
import { uriKey } from "../protocol/uri.ts";
import { listNames } from "../protocol/versions.ts";
import type { Method, RequestContext } from "../run/request-context.ts";
import { FIRST_ROUND, type Round } from "../run/round.ts";
import { runRounds } from "../run/run-rounds.ts";
import { requireReader } from "./find-resource.ts";
import { type ListMethod, listResult } from "./list-methods.ts";
import { callTool } from "./tool-call.ts";
import { withTimedContext } from "./with-context.ts";

/**
 * The methods that a transport or a part adds for the clients that it can serve them to: notifications reach only some
 * clients, and tasks need storage.
 */
type AddedMethod =
  | "resources/subscribe"
  | "resources/unsubscribe"
  | "subscriptions/listen"
  | Extract<RequestName, `tasks/${string}`>;

const always = () => true;

function list(method: ListMethod): Method {
  return {
    serve: (context) =>
      listResult(method, context.registry[CLIENT_REQUESTS[method].list].list(context.client.rules), context),
    isStatic: always,
  };
}

/** The functions that serve the methods, in the versions that have them. */
export const METHODS: Readonly<Record<Exclude<RequestName, AddedMethod>, Method>> = {
  initialize: {
    serve: (context) =>
      negotiate(context.registry, context.request, listFeatures(context, context.setLogLevel !== undefined)).result,
  },
  ping: { serve: () => ({}), isStatic: always },
  "server/discover": { serve: discover },
  "tools/list": list("tools/list"),
  "tools/call": { serve: callTool },
  "prompts/list": list("prompts/list"),
  "prompts/get": { serve: getPrompt },
  "resources/list": { serve: listResources, isStatic: (registry) => !registry.provider?.list },
  "resources/templates/list": list("resources/templates/list"),
  "resources/read": { serve: read },
  "completion/complete": {
    serve: completeArgument,
    isOffered: ({ registry }) => registry.offers("prompts") || registry.offers("resources"),
  },
  "logging/setLevel": { serve: setLevel, isOffered: (context) => context.setLogLevel !== undefined },
};

function listFeatures({ methods, once }: RequestContext, logLevel: boolean): TransportFeatures {
  return { logLevel, notifications: methods !== undefined, declare: once?.declare };
}

function discover(context: RequestContext): JsonObject {
  const { registry } = context;
  return {
    supportedVersions: listNames(registry.versions.modern),
    capabilities: registry.capabilities(context.client.rules, listFeatures(context, true)),
    ...getInstructions(registry),
    ...registry.cacheHint("server/discover"),
  };
}

async function setLevel(context: RequestContext): Promise<JsonObject> {
  await context.setLogLevel?.(readLevel(context.request.params?.level, "params.level"));
  return {};
}

async function getPrompt(context: RequestContext): Promise<JsonObject> {
  const name = readTarget(context.request);
  const prompt = context.registry.prompts.find(name);
  if (!prompt) throw invalidParams(`Unknown prompt: ${quote(name)}`, { field: "name" });
  const args = await readPromptArguments(prompt, context.request.params?.arguments);
  const outcome = await runRounds(context, (round) => {
    return timed(`Prompt ${quote(name)}`, context, round, (ctx) => prompt.handler(args, ctx));
  });
  return "asked" in outcome ? outcome.asked : toPromptResult(prompt, outcome.returned, context.client.rules);
}

async function listResources(context: RequestContext): Promise<JsonText> {
  const { client, registry } = context;
  const { rules } = client;
  const defined = registry.resources.list(rules);
  const { provider } = registry;
  const provided = provider?.list
    ? await timed("The list of resources", context, FIRST_ROUND, (ctx) => provider.list?.(ctx))
    : [];
  // By URI, because cursors contain the URI: a resource that is also defined, or listed twice, would break them.
  const others = new Map<string, ListedResource>();
  for (const resource of provided ?? []) {
    checkMediaType(`the listed resource ${quote(String(resource.uri))}`, resource.mimeType);
    const { uri } = resource;
    if (!registry.resources.find(uri) && !registry.hides("resource", uri)) others.set(uriKey(uri), resource);
  }
  const more = [...others.values()].map((resource): ListedEntry => {
    return { key: resource.uri, text: JSON.stringify(listedResource(resource, rules)) };
  });
  return listResult("resources/list", more.length > 0 ? [...defined, ...more] : defined, context);
}

async function read(context: RequestContext): Promise<JsonObject> {
  const uri = readTarget(context.request);
  const { rules } = context.client;
  const found = requireReader(context.registry, uri, rules);
  const outcome = await runRounds(context, (round) =>
    timed(`The reader of ${quote(uri)}`, context, round, (ctx) => found.read(ctx)),
  );
  if ("asked" in outcome) return outcome.asked;
  const returned = outcome.returned as ReadReturn;
  const contents = toContents(returned, uri, found.mimeType, rules);
  const own = pick(returned as ReadResult, ["ttlMs", "cacheScope"]);
  const hint = rules.resultEnvelope ? { ...context.registry.cacheHint("resources/read"), ...found.cache, ...own } : {};
  return { contents, ...hint };
}

async function completeArgument(context: RequestContext): Promise<JsonObject> {
  const asked = readCompletionRequest(context.request.params);
  const completers = findCompleters(context.registry, asked.ref);
  const what = `The completer of ${quote(asked.name)}`;
  return timed(what, context, FIRST_ROUND, (ctx) => complete(completers, asked, ctx));
}

/** Finds the completers of a reference. @throws {McpError} -32602 if the server does not have what it names. */
function findCompleters(registry: Registry, ref: ReturnType<typeof readCompletionRequest>["ref"]) {
  if (ref.type === "ref/prompt") {
    const prompt = registry.prompts.find(ref.name);
    if (!prompt) throw invalidParams(`completion/complete: unknown prompt ${quote(ref.name)}.`, { field: "ref" });
    return prompt.options.complete;
  }
  const template = registry.resourceTemplates.find(ref.uri);
  if (template) return template.definition.options.complete;
  // A resource has no variables, but completing it is not an error.
  if (registry.resources.find(ref.uri)) return undefined;
  throw invalidParams(`completion/complete: unknown resource or template ${quote(ref.uri)}.`, {
    field: "ref",
  });
}

/** Serves a custom method. */
export async function serveCustom(context: RequestContext): Promise<JsonObject> {
  const handler = context.registry.methods.get(context.request.method);
  const { method, params = {} } = context.request;
  const what = `Method ${quote(method)}`;
  const value = await timed(what, context, FIRST_ROUND, (ctx) => handler?.(params, ctx));
  return toCustomResult(value, context.client.rules);
}

/** Runs a handler, other than the handler of a tool, within `limits.handlerTimeoutMs`. */
function timed<Result>(
  what: string,
  context: RequestContext,
  round: Round,
  work: (ctx: HandlerContext) => Result | Promise<Result>,
): Promise<Result> {
  return withTimedContext(context, { what, timeoutMs: context.limits.handlerTimeoutMs, round }, work);
}
