/**
 * The methods of each era, with the conditions under which a server offers them.
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
import { uriKey } from "../protocol/uri.ts";
import type { Era } from "../protocol/versions.ts";
import type { Method, MethodTable, RequestContext, Serve } from "../run/request-context.ts";
import { FIRST_ROUND, type Round } from "../run/round.ts";
import { runRounds } from "../run/run-rounds.ts";
import { requireReader } from "./find-resource.ts";
import { type ListMethod, listResult, MEMBERS } from "./list-methods.ts";
import { callTool } from "./tool-call.ts";
import { withTimedContext } from "./with-context.ts";

const always = () => true;
const hasTools = ({ registry }: RequestContext) => registry.offers("tools");
const hasPrompts = ({ registry }: RequestContext) => registry.offers("prompts");
const hasResources = ({ registry }: RequestContext) => registry.offers("resources");

function list(method: ListMethod, isOffered: (call: RequestContext) => boolean): Method {
  const serve: Serve = (call) => {
    return listResult(method, call.registry[MEMBERS[method]].list(call.client.rules), call);
  };
  return { serve, isOffered, isStatic: always };
}

const BOTH: MethodTable = {
  "tools/list": list("tools/list", hasTools),
  "tools/call": { serve: callTool, isOffered: hasTools },
  "prompts/list": list("prompts/list", hasPrompts),
  "prompts/get": { serve: getPrompt, isOffered: hasPrompts },
  "resources/list": { serve: listResources, isOffered: hasResources, isStatic: (registry) => !registry.provider?.list },
  "resources/templates/list": list("resources/templates/list", hasResources),
  "resources/read": { serve: read, isOffered: hasResources },
  "completion/complete": {
    serve: completeArgument,
    isOffered: (call) => hasPrompts(call) || hasResources(call),
  },
};

/** The methods of each era. */
export const METHODS: Readonly<Record<Era, MethodTable>> = {
  legacy: {
    ...BOTH,
    initialize: {
      serve: (call) =>
        negotiate(call.registry, call.request, listFeatures(call, call.setLogLevel !== undefined)).result,
    },
    ping: { serve: () => ({}), isStatic: always },
    "logging/setLevel": { serve: setLevel, isOffered: (call) => call.setLogLevel !== undefined },
  },
  modern: { ...BOTH, "server/discover": { serve: discover } },
};

function listFeatures({ methods, once }: RequestContext, logLevel: boolean): TransportFeatures {
  return { logLevel, notifications: methods !== undefined, declare: once?.declare };
}

function discover(call: RequestContext): JsonObject {
  const { registry } = call;
  return {
    supportedVersions: registry.versions.modern.map((rules) => rules.version),
    capabilities: registry.capabilities(call.client.rules, listFeatures(call, true)),
    ...getInstructions(registry),
    ...registry.cacheHint("server/discover"),
  };
}

async function setLevel(call: RequestContext): Promise<JsonObject> {
  await call.setLogLevel?.(readLevel(call.request.params?.level, "params.level"));
  return {};
}

async function getPrompt(call: RequestContext): Promise<JsonObject> {
  const name = call.request.params?.name;
  if (typeof name !== "string") throw invalidParams("prompts/get: params.name is not a string.", { field: "name" });
  const prompt = call.registry.prompts.find(name);
  if (!prompt) throw invalidParams(`Unknown prompt: ${quote(name)}`, { field: "name" });
  const args = await readPromptArguments(prompt, call.request.params?.arguments);
  const outcome = await runRounds(call, (round) => {
    return timed(`Prompt ${quote(name)}`, call, round, (ctx) => prompt.handler(args, ctx));
  });
  return "asked" in outcome ? outcome.asked : toPromptResult(prompt, outcome.returned, call.client.rules);
}

async function listResources(call: RequestContext): Promise<JsonText> {
  const { client, registry } = call;
  const { rules } = client;
  const defined = registry.resources.list(rules);
  const { provider } = registry;
  const provided = provider?.list
    ? await timed("The list of resources", call, FIRST_ROUND, (ctx) => provider.list?.(ctx))
    : [];
  // By URI, because a resource that is also defined, or listed twice, would break the cursors that name it.
  const others = new Map<string, ListedResource>();
  for (const resource of provided ?? []) {
    checkMediaType(`the listed resource ${quote(String(resource.uri))}`, resource.mimeType);
    const { uri } = resource;
    if (!registry.resources.find(uri) && !registry.hides("resource", uri)) others.set(uriKey(uri), resource);
  }
  const more = [...others.values()].map((resource): ListedEntry => {
    return { key: resource.uri, text: JSON.stringify(listedResource(resource, rules)) };
  });
  return listResult("resources/list", more.length > 0 ? [...defined, ...more] : defined, call);
}

async function read(call: RequestContext): Promise<JsonObject> {
  const uri = call.request.params?.uri;
  if (typeof uri !== "string") throw invalidParams("resources/read: params.uri is not a string.", { field: "uri" });
  const { rules } = call.client;
  const found = requireReader(call.registry, uri, rules);
  const outcome = await runRounds(call, (round) =>
    timed(`The reader of ${quote(uri)}`, call, round, (ctx) => found.read(ctx)),
  );
  if ("asked" in outcome) return outcome.asked;
  const returned = outcome.returned as ReadReturn;
  const contents = toContents(returned, uri, found.mimeType, rules);
  const own = pick(returned as ReadResult, ["ttlMs", "cacheScope"]);
  const hint = rules.resultEnvelope ? { ...call.registry.cacheHint("resources/read"), ...found.cache, ...own } : {};
  return { contents, ...hint };
}

async function completeArgument(call: RequestContext): Promise<JsonObject> {
  const asked = readCompletionRequest(call.request.params);
  const completers = findCompleters(call.registry, asked.ref);
  const what = `The completer of ${quote(asked.name)}`;
  return timed(what, call, FIRST_ROUND, (ctx) => complete(completers, asked, ctx));
}

/** Finds the completers of a reference. @throws {McpError} -32602 if it names nothing on this server. */
function findCompleters(registry: Registry, ref: ReturnType<typeof readCompletionRequest>["ref"]) {
  if (ref.type === "ref/prompt") {
    const prompt = registry.prompts.find(ref.name);
    if (!prompt) throw invalidParams(`completion/complete: unknown prompt ${quote(ref.name)}.`, { field: "ref" });
    return prompt.options.complete;
  }
  const template = registry.resourceTemplates.find(ref.uri);
  if (template) return template.definition.options.complete;
  // A plain resource has no variables, but completing it is not an error.
  if (registry.resources.find(ref.uri)) return undefined;
  throw invalidParams(`completion/complete: unknown resource or resource template ${quote(ref.uri)}.`, {
    field: "ref",
  });
}

/** Serves a custom method. */
export async function serveCustom(call: RequestContext): Promise<JsonObject> {
  const handler = call.registry.methods.get(call.request.method);
  const { method, params = {} } = call.request;
  const what = `Method ${quote(method)}`;
  const value = await timed(what, call, FIRST_ROUND, (ctx) => handler?.(params, ctx));
  return toCustomResult(value, call.client.rules);
}

/** Runs any handler except a tool's, within `limits.handlerTimeoutMs`. */
function timed<Result>(
  what: string,
  call: RequestContext,
  round: Round,
  work: (ctx: HandlerContext) => Result | Promise<Result>,
): Promise<Result> {
  return withTimedContext(what, call.limits.handlerTimeoutMs, call, round, work);
}
