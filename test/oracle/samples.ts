/** Valid messages of each version, for the oracle's own tests. */

import type { About } from "./check.ts";
import { isModern, LEGACY, VERSIONS } from "./methods.ts";

export interface Sample {
  readonly name: string;
  readonly message: unknown;
  readonly about: About;
}

const IMAGE = { type: "image", data: "aGk=", mimeType: "image/png" };
const EMBEDDED = { type: "resource", resource: { uri: "test://a", mimeType: "text/plain", text: "hi" } };
const AUDIO = { type: "audio", data: "aGk=", mimeType: "audio/wav" };
const LINK = { type: "resource_link", uri: "test://a", name: "a" };
const PNG_ICON = { src: "https://example.com/a.png", mimeType: "image/png", sizes: ["48x48"] };
const INPUT = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
const NUMBER_FORM = {
  message: "How warm?",
  requestedSchema: { type: "object", properties: { t: { type: "number", minimum: 0.5, maximum: 9.5 } } },
};

export const MODERN_META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

export function request(method: string, params?: object, id: unknown = 1): object {
  return { jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) };
}
export function notification(method: string, params?: object): object {
  return { jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) };
}
export function result(value: object, id: unknown = 1): object {
  return { jsonrpc: "2.0", id, result: value };
}
export function failure(code: number, data?: unknown, id: unknown = 1): object {
  return { ...idLess(code, data), id };
}
/** An error for a request without a readable id. */
export function idLess(code: number, data?: unknown): object {
  return { jsonrpc: "2.0", error: { code, message: "no", ...(data === undefined ? {} : { data }) } };
}

/** Whether a version is at least `first`; allows one list below for all versions. */
function since(version: string, first: string): boolean {
  return version >= first;
}

function toolOf(version: string): object {
  return {
    name: "t",
    description: "d",
    inputSchema: INPUT,
    ...(since(version, "2025-03-26") ? { annotations: { title: "T", readOnlyHint: true } } : {}),
    ...(since(version, "2025-06-18") ? { title: "T", outputSchema: INPUT, _meta: { "x/y": 1 } } : {}),
    ...(since(version, "2025-11-25") ? { icons: [PNG_ICON] } : {}),
  };
}

function serverInfoOf(version: string): object {
  return {
    name: "s",
    version: "1",
    ...(since(version, "2025-06-18") ? { title: "S" } : {}),
    ...(since(version, "2025-11-25") ? { icons: [PNG_ICON], websiteUrl: "https://example.com", description: "d" } : {}),
  };
}

function contentOf(version: string): object[] {
  const annotated = { type: "text", text: "hi", annotations: { audience: ["user"], priority: 0.5 } };
  return [
    annotated,
    IMAGE,
    EMBEDDED,
    ...(since(version, "2025-03-26") ? [AUDIO] : []),
    ...(since(version, "2025-06-18") ? [LINK] : []),
  ];
}

function complete(version: string, value: object): object {
  return isModern(version) ? { resultType: "complete", ...value } : value;
}
function cached(version: string, value: object): object {
  return isModern(version) ? complete(version, { ttlMs: 0, cacheScope: "private", ...value }) : value;
}

function everyVersion(version: string): Sample[] {
  const params = isModern(version) ? { _meta: MODERN_META } : {};
  const ask = (method: string, more: object = {}): Sample => ({
    name: `${method} request`,
    message: request(method, { ...params, ...more }),
    about: { version, from: "client" },
  });
  const answer = (method: string, value: object): Sample => ({
    name: `${method} result`,
    message: result(value),
    about: { version, from: "server", requestMethod: method },
  });
  const tell = (method: string, value?: object): Sample => ({
    name: method,
    message: notification(method, value),
    about: { version, from: "server" },
  });
  const readable = { uri: "test://a", mimeType: "text/plain" };
  return [
    ask("tools/list", { cursor: "c" }),
    ask("tools/call", { name: "t", arguments: { a: "b" } }),
    ask("prompts/list"),
    ask("prompts/get", { name: "p" }),
    ask("resources/list"),
    ask("resources/templates/list"),
    ask("resources/read", { uri: "test://a" }),
    ask("completion/complete", { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }),
    ask("nobody/knows"),
    answer("tools/list", cached(version, { tools: [toolOf(version)], nextCursor: "n" })),
    answer("tools/call", complete(version, { content: contentOf(version), isError: false, _meta: { a: 1 } })),
    answer("prompts/list", cached(version, { prompts: [{ name: "p", arguments: [{ name: "a", required: true }] }] })),
    answer("prompts/get", complete(version, { messages: [{ role: "user", content: { type: "text", text: "x" } }] })),
    answer("resources/list", cached(version, { resources: [{ ...readable, name: "a" }] })),
    answer(
      "resources/templates/list",
      cached(version, { resourceTemplates: [{ uriTemplate: "test://{a}", name: "a" }] }),
    ),
    answer(
      "resources/read",
      cached(version, {
        contents: [
          { ...readable, text: "x" },
          { uri: "test://b", blob: "aGk=" },
        ],
      }),
    ),
    answer("completion/complete", complete(version, { completion: { values: ["a"], total: 1, hasMore: false } })),
    tell("notifications/progress", { progressToken: 0, progress: 0.5, total: 1 }),
    tell("notifications/message", { level: "info", logger: "l", data: { a: 1 } }),
    tell("notifications/cancelled", { requestId: "x", reason: "r" }),
    tell("notifications/tools/list_changed"),
    tell("notifications/prompts/list_changed", { _meta: {} }),
    tell("notifications/resources/list_changed"),
    tell("notifications/resources/updated", { uri: "test://a" }),
    { name: "an error", message: failure(-32602, { any: "thing" }, ""), about: { version, from: "server" } },
    { name: "an error of its own", message: failure(1234), about: { version, from: "server" } },
  ];
}

function legacyVersion(version: string): Sample[] {
  const client = { version, from: "client" } as const;
  const server = { version, from: "server" } as const;
  const info = { name: "c", version: "1" };
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true },
    prompts: {},
    logging: {},
    experimental: { any: { thing: 1 } },
    ...(since(version, "2025-03-26") ? { completions: {} } : {}),
  };
  const messages = [{ role: "user", content: { type: "text", text: "x" } }];
  const sampled = { role: "assistant", content: { type: "text", text: "x" }, model: "m", stopReason: "endTurn" };
  const samples: Sample[] = [
    {
      name: "initialize request",
      message: request("initialize", { protocolVersion: version, capabilities: { roots: {} }, clientInfo: info }),
      about: client,
    },
    {
      name: "initialize result",
      message: result({ protocolVersion: version, capabilities, serverInfo: serverInfoOf(version), instructions: "i" }),
      about: { ...server, requestMethod: "initialize" },
    },
    { name: "initialized", message: notification("notifications/initialized"), about: client },
    { name: "ping of a client", message: request("ping"), about: client },
    { name: "ping of a server", message: request("ping", { _meta: {} }, "p"), about: server },
    { name: "ping result", message: result({}), about: { ...server, requestMethod: "ping" } },
    { name: "setLevel request", message: request("logging/setLevel", { level: "debug" }), about: client },
    { name: "setLevel result", message: result({}), about: { ...server, requestMethod: "logging/setLevel" } },
    { name: "subscribe request", message: request("resources/subscribe", { uri: "test://a" }), about: client },
    { name: "subscribe result", message: result({}), about: { ...server, requestMethod: "resources/subscribe" } },
    {
      name: "sampling request",
      message: request("sampling/createMessage", { messages, maxTokens: 100, temperature: 0.5 }),
      about: server,
    },
    {
      name: "sampling result",
      message: result(sampled),
      about: { ...client, requestMethod: "sampling/createMessage" },
    },
    { name: "roots request", message: request("roots/list"), about: server },
    {
      name: "roots result",
      message: result({ roots: [{ uri: "file:///a" }] }),
      about: { ...client, requestMethod: "roots/list" },
    },
    { name: "resource not found", message: failure(-32002), about: server },
    {
      name: "an error whose request had no readable id",
      message: idLess(-32700),
      about: { ...server, unreadableId: true },
    },
  ];
  if (!since(version, "2025-06-18")) return samples;
  samples.push(
    { name: "elicitation request", message: request("elicitation/create", NUMBER_FORM), about: server },
    {
      name: "elicitation result",
      message: result({ action: "accept", content: { t: 1.5 } }),
      about: { ...client, requestMethod: "elicitation/create" },
    },
    {
      name: "structured result",
      message: result({ content: [], structuredContent: { a: "b" } }),
      about: { ...server, requestMethod: "tools/call" },
    },
  );
  return samples;
}

const TASK = {
  taskId: "t",
  status: "working",
  createdAt: "2025-11-25T00:00:00Z",
  lastUpdatedAt: "2025-11-25T00:00:00Z",
  ttl: null,
};

function onlyIn2025_11(): Sample[] {
  const about: About = { version: "2025-11-25", from: "server" };
  const url = { mode: "url", message: "m", url: "https://example.com", elicitationId: "e" };
  return [
    { name: "URL elicitation required", message: failure(-32042, { elicitations: [url] }), about },
    { name: "URL elicitation", message: request("elicitation/create", url), about },
    {
      name: "elicitation complete",
      message: notification("notifications/elicitation/complete", { elicitationId: "e" }),
      about,
    },
    {
      name: "a task in place of a result",
      message: result({ task: TASK }),
      about: { ...about, requestMethod: "tools/call", requestParams: { name: "t", task: { ttl: 1 } } },
    },
    {
      name: "sampling result with tool use",
      message: result({
        role: "assistant",
        model: "m",
        content: [{ type: "tool_use", id: "u", name: "n", input: {} }],
      }),
      about: { version: "2025-11-25", from: "client", requestMethod: "sampling/createMessage" },
    },
    { name: "an error without an id", message: idLess(-32600), about },
  ];
}

function onlyModern(): Sample[] {
  const version = "2026-07-28";
  const about: About = { version, from: "server" };
  const answer = (name: string, requestMethod: string, value: object): Sample => {
    return { name, message: result(value), about: { ...about, requestMethod } };
  };
  const inputRequests = {
    form: { method: "elicitation/create", params: { mode: "form", ...NUMBER_FORM } },
    url: { method: "elicitation/create", params: { mode: "url", message: "m", url: "https://example.com" } },
    roots: { method: "roots/list" },
  };
  const task = { taskId: "t", status: "working", createdAt: "c", lastUpdatedAt: "l", ttlMs: null };
  const serverInfo = { "io.modelcontextprotocol/serverInfo": serverInfoOf(version) };
  const discovered = { supportedVersions: [version], capabilities: { tools: {}, extensions: { "a/b": { c: 1 } } } };
  const listen = { _meta: MODERN_META, notifications: { toolsListChanged: true } };
  const tag = { "io.modelcontextprotocol/subscriptionId": 1 };
  const anySchema = { ...toolOf(version), outputSchema: { type: "array", items: { type: "string" } } };
  return [
    {
      name: "discover",
      message: request("server/discover", { _meta: MODERN_META }),
      about: { version, from: "client" },
    },
    answer("discover result", "server/discover", cached(version, { ...discovered, _meta: serverInfo })),
    { name: "listen", message: request("subscriptions/listen", listen), about: { version, from: "client" } },
    {
      name: "listen acknowledged",
      message: notification("notifications/subscriptions/acknowledged", {
        _meta: tag,
        notifications: { taskIds: ["t"] },
      }),
      about,
    },
    answer("listen result", "subscriptions/listen", { resultType: "complete", _meta: tag }),
    answer("structured list", "tools/call", { resultType: "complete", content: [], structuredContent: [1] }),
    answer("output schema of a list", "tools/list", cached(version, { tools: [anySchema] })),
    answer("input_required", "tools/call", { resultType: "input_required", inputRequests, requestState: "s" }),
    answer("input_required by state alone", "prompts/get", { resultType: "input_required", requestState: "s" }),
    answer("a task", "tools/call", { resultType: "task", ...task }),
    answer("tasks/get result", "tasks/get", { resultType: "complete", ...task }),
    answer("a result of an unknown method", "nobody/knows", { resultType: "complete", any: "thing" }),
    { name: "header mismatch", message: failure(-32020), about },
    { name: "missing capability", message: failure(-32021, { requiredCapabilities: { sampling: {} } }), about },
    { name: "unsupported version", message: failure(-32022, { supported: [version], requested: "x" }), about },
    { name: "an error without an id", message: idLess(-32600), about },
  ];
}

export const SAMPLES: readonly Sample[] = [
  ...VERSIONS.flatMap(everyVersion),
  ...LEGACY.flatMap(legacyVersion),
  ...onlyIn2025_11(),
  ...onlyModern(),
];
