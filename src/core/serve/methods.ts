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
import type { JSONRPCRequest, JsonObject, JsonText } from "../protocol/jsonrpc.ts";
import { instructionsOf, negotiate, type TransportFeatures } from "../protocol/lifecycle.ts";
import { readLevel } from "../protocol/logging.ts";
import { uriKey } from "../protocol/uri.ts";
import type { Era } from "../protocol/versions.ts";
import type { Call, Method, MethodTable, Serve } from "../run/call.ts";
import { FIRST_ROUND, type Round } from "../run/round.ts";
import { runRounds } from "../run/run-rounds.ts";
import { requireReader } from "./find-resource.ts";
import { type ListMethod, listResult, MEMBERS } from "./list-methods.ts";
import { callTool } from "./tool-call.ts";
import { withTimedContext } from "./with-context.ts";

const always = () => true;
const hasTools = (server: Registry) => server.offers("tools");
const hasPrompts = (server: Registry) => server.offers("prompts");
const hasResources = (server: Registry) => server.offers("resources");

function list(method: ListMethod, isOffered: (server: Registry) => boolean): Method {
  const serve: Serve = (server, request, call) => {
    return listResult(method, server[MEMBERS[method]].list(call.client.rules), server, request, call);
  };
  return { serve, isOffered, isStatic: always };
}

const BOTH: MethodTable = {
  "tools/list": list("tools/list", hasTools),
  "tools/call": { serve: callTool, isOffered: hasTools },
  "prompts/list": list("prompts/list", hasPrompts),
  "prompts/get": { serve: getPrompt, isOffered: hasPrompts },
  "resources/list": { serve: listResources, isOffered: hasResources, isStatic: (server) => !server.provider?.list },
  "resources/templates/list": list("resources/templates/list", hasResources),
  "resources/read": { serve: read, isOffered: hasResources },
  "completion/complete": { serve: completeArgument, isOffered: (server) => hasPrompts(server) || hasResources(server) },
};

/** The methods of each era. */
export const METHODS: Readonly<Record<Era, MethodTable>> = {
  legacy: {
    ...BOTH,
    initialize: {
      serve: (server, request, call) =>
        negotiate(server, request, featuresOf(call, call.setLogLevel !== undefined)).result,
    },
    ping: { serve: () => ({}), isStatic: always },
    "logging/setLevel": { serve: setLevel, isOffered: (_, call) => call.setLogLevel !== undefined },
  },
  modern: { ...BOTH, "server/discover": { serve: discover } },
};

function featuresOf({ methods, once }: Call, logLevel: boolean): TransportFeatures {
  return { logLevel, notices: methods !== undefined, declare: once?.declare };
}

function discover(server: Registry, _: JSONRPCRequest, call: Call): JsonObject {
  return {
    supportedVersions: server.versions.modern.map((rules) => rules.version),
    capabilities: server.capabilities(call.client.rules, featuresOf(call, true)),
    ...instructionsOf(server),
    ...server.cacheHint("server/discover"),
  };
}

async function setLevel(_: Registry, request: JSONRPCRequest, call: Call): Promise<JsonObject> {
  await call.setLogLevel?.(readLevel(request.params?.level, "params.level"));
  return {};
}

async function getPrompt(server: Registry, request: JSONRPCRequest, call: Call): Promise<JsonObject> {
  const name = request.params?.name;
  if (typeof name !== "string") throw invalidParams("prompts/get: params.name is not a string.", { field: "name" });
  const prompt = server.prompts.find(name);
  if (!prompt) throw invalidParams(`Unknown prompt: ${quote(name)}`, { field: "name" });
  const args = await readPromptArguments(prompt, request.params?.arguments);
  const outcome = await runRounds(server, request, call, (round) => {
    return timed(`Prompt ${quote(name)}`, server, request, call, round, (ctx) => prompt.handler(args, ctx));
  });
  return "asked" in outcome ? outcome.asked : toPromptResult(prompt, outcome.returned, call.client.rules);
}

async function listResources(server: Registry, request: JSONRPCRequest, call: Call): Promise<JsonText> {
  const { rules } = call.client;
  const defined = server.resources.list(rules);
  const { provider } = server;
  const provided = provider?.list
    ? await timed("The list of resources", server, request, call, FIRST_ROUND, (ctx) => provider.list?.(ctx))
    : [];
  // By URI, because a resource that is also defined, or listed twice, would break the cursors that name it.
  const others = new Map<string, ListedResource>();
  for (const resource of provided ?? []) {
    checkMediaType(`the listed resource ${quote(String(resource.uri))}`, resource.mimeType);
    const { uri } = resource;
    if (!server.resources.find(uri) && !server.hides("resource", uri)) others.set(uriKey(uri), resource);
  }
  const more = [...others.values()].map((resource): ListedEntry => {
    return { key: resource.uri, text: JSON.stringify(listedResource(resource, rules)) };
  });
  return listResult("resources/list", more.length > 0 ? [...defined, ...more] : defined, server, request, call);
}

async function read(server: Registry, request: JSONRPCRequest, call: Call): Promise<JsonObject> {
  const uri = request.params?.uri;
  if (typeof uri !== "string") throw invalidParams("resources/read: params.uri is not a string.", { field: "uri" });
  const { rules } = call.client;
  const found = requireReader(server, uri, rules);
  const outcome = await runRounds(server, request, call, (round) =>
    timed(`The reader of ${quote(uri)}`, server, request, call, round, (ctx) => found.read(ctx)),
  );
  if ("asked" in outcome) return outcome.asked;
  const returned = outcome.returned as ReadReturn;
  const contents = toContents(returned, uri, found.mimeType, rules);
  const own = pick(returned as ReadResult, ["ttlMs", "cacheScope"]);
  const hint = rules.resultEnvelope ? { ...server.cacheHint("resources/read"), ...found.cache, ...own } : {};
  return { contents, ...hint };
}

async function completeArgument(server: Registry, request: JSONRPCRequest, call: Call): Promise<JsonObject> {
  const asked = readCompletionRequest(request.params);
  const completers = findCompleters(server, asked.ref);
  const what = `The completer of ${quote(asked.name)}`;
  return timed(what, server, request, call, FIRST_ROUND, (ctx) => complete(completers, asked, ctx));
}

/** Finds the completers of a reference. @throws {McpError} -32602 if it names nothing on this server. */
function findCompleters(server: Registry, ref: ReturnType<typeof readCompletionRequest>["ref"]) {
  if (ref.type === "ref/prompt") {
    const prompt = server.prompts.find(ref.name);
    if (!prompt) throw invalidParams(`completion/complete: unknown prompt ${quote(ref.name)}.`, { field: "ref" });
    return prompt.options.complete;
  }
  const template = server.resourceTemplates.find(ref.uri);
  if (template) return template.definition.options.complete;
  // A plain resource has no variables, but completing it is not an error.
  if (server.resources.find(ref.uri)) return undefined;
  throw invalidParams(`completion/complete: unknown resource or resource template ${quote(ref.uri)}.`, {
    field: "ref",
  });
}

/** Serves a custom method. */
export async function serveCustom(server: Registry, request: JSONRPCRequest, call: Call): Promise<JsonObject> {
  const handler = server.methods.get(request.method);
  const { method, params = {} } = request;
  const what = `Method ${quote(method)}`;
  const value = await timed(what, server, request, call, FIRST_ROUND, (ctx) => handler?.(params, ctx));
  return toCustomResult(value, call.client.rules);
}

/** Runs any handler except a tool's, within `limits.handlerTimeoutMs`. */
function timed<Result>(
  what: string,
  server: Registry,
  request: JSONRPCRequest,
  call: Call,
  round: Round,
  work: (ctx: HandlerContext) => Result | Promise<Result>,
): Promise<Result> {
  return withTimedContext(what, call.limits.handlerTimeoutMs, server, request, call, round, work);
}
