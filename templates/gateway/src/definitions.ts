/** Converts the tools, prompts and templates of the servers to definitions of the gateway, with prefixed names. */
import {
  type Completer,
  type Definition,
  definePrompt,
  defineResourceTemplate,
  defineTool,
  type HandlerContext,
  type PromptReturn,
  type ReadReturn,
  type ToolResult,
} from "mcp-edge";
import type { CompletionReference, Prompt, ResourceTemplate, ServerFacts, Tool } from "mcp-edge/client";
import { cleanText, mapText } from "mcp-edge/safe";
import { open } from "./connection.ts";
import { forward } from "./forward.ts";
import type { Listing } from "./lists.ts";
import {
  type GatewayEnv,
  prefixName,
  prefixUri,
  prefixUris,
  tokenFor,
  type Upstream,
  withPrefix,
} from "./upstreams.ts";

type Ctx = HandlerContext<GatewayEnv>;

/** The time limit of a call, in milliseconds. It is long, because servers have their own limits. */
const CALL_MS = 60 * 60_000;

/** Returns the definitions of one server. Definitions that the gateway cannot use are left out, and the log says why. */
export function createDefinitions(upstream: Upstream, listing: Listing): Definition<GatewayEnv>[] {
  const { server, tools, prompts, templates } = listing;
  const attempt = (what: string, define: () => Definition<GatewayEnv>): Definition<GatewayEnv>[] => {
    try {
      return [define()];
    } catch (error) {
      console.warn(`gateway: ${what} of "${upstream.name}" is left out:`, error);
      return [];
    }
  };
  return [
    ...tools.flatMap((tool) => attempt(`The tool ${tool.name}`, () => createTool(upstream, server, tool))),
    ...prompts.flatMap((prompt) => attempt(`The prompt ${prompt.name}`, () => createPrompt(upstream, server, prompt))),
    ...templates.flatMap((each) =>
      attempt(`The template ${each.uriTemplate}`, () => createTemplate(upstream, server, each)),
    ),
  ];
}

/** Removes invisible characters, because a model reads the servers' descriptions and results. */
const clean = <T>(value: T): T => mapText(value, (text) => cleanText(text));

/** Removes members that are undefined. */
const given = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>;

function createTool(upstream: Upstream, server: ServerFacts | undefined, tool: Tool) {
  const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } = tool;
  return defineTool(
    prefixName(upstream.name, name),
    {
      ...clean(given({ title, description, annotations })),
      ...given({ icons, _meta }),
      input: shown(inputSchema),
      ...(outputSchema ? { output: shown(outputSchema) } : {}),
      timeoutMs: CALL_MS,
    },
    async (args: unknown, ctx: Ctx) => {
      const result = await forward(upstream, server, "tools/call", { name, arguments: args }, ctx);
      if (!("content" in result || "structuredContent" in result)) return result as ToolResult;
      const { content = [], structuredContent, isError } = result as ToolResult;
      return {
        content: prefixUris(upstream.name, clean(content)),
        ...given({ structuredContent, isError }),
      } as ToolResult;
    },
  );
}

function createPrompt(upstream: Upstream, server: ServerFacts | undefined, prompt: Prompt) {
  const { name, title, description, icons, _meta, arguments: parameters = [] } = prompt;
  const reference = { type: "ref/prompt", name } as const;
  return definePrompt(
    prefixName(upstream.name, name),
    {
      ...clean(given({ title, description })),
      ...given({ icons, _meta }),
      arguments: clean(parameters),
      ...completers(
        upstream,
        server,
        reference,
        parameters.map((parameter) => parameter.name),
      ),
    },
    async (args, ctx: Ctx) => {
      const result = await forward(upstream, server, "prompts/get", { name, arguments: args }, ctx);
      return ("messages" in result ? prefixUris(upstream.name, clean(given(result))) : result) as PromptReturn;
    },
  );
}

function createTemplate(upstream: Upstream, server: ServerFacts | undefined, template: ResourceTemplate) {
  const { uriTemplate, name, title, description, mimeType, annotations, icons, _meta } = template;
  const variables = [...uriTemplate.matchAll(/\{[+#./;?&]?([^{}]*)\}/g)].flatMap(([, names = ""]) => names.split(","));
  return defineResourceTemplate(
    prefixUri(upstream.name, uriTemplate),
    {
      ...clean(given({ name, title, description })),
      ...given({ mimeType, annotations, icons, _meta }),
      ...completers(upstream, server, { type: "ref/resource", uri: uriTemplate }, variables),
    },
    (uri, _variables, ctx: Ctx) => readResource(upstream, server, uri.slice(upstream.name.length + 1), ctx),
  );
}

/** Reads a resource of a server by its original URI. */
export async function readResource(
  upstream: Upstream,
  server: ServerFacts | undefined,
  uri: string,
  ctx: Ctx,
): Promise<ReadReturn> {
  const result = await forward(upstream, server, "resources/read", { uri }, ctx);
  if (!("contents" in result)) return result as ReadReturn;
  const { contents } = result as { contents: readonly object[] };
  return { contents: contents.map((each) => withPrefix(upstream.name, clean(each)) as object) } as ReadReturn;
}

/** Wraps a server's JSON Schema without changing it. The gateway does not validate values, because the server does. */
function shown(schema: Readonly<Record<string, unknown>>) {
  return {
    "~standard": {
      version: 1 as const,
      vendor: "gateway",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => ({ ...schema }), output: () => ({ ...schema }) },
    },
  };
}

function completers(
  upstream: Upstream,
  server: ServerFacts | undefined,
  reference: CompletionReference,
  names: readonly string[],
): { complete?: Record<string, Completer<GatewayEnv>> } {
  if (!server?.capabilities.completions) return {};
  const complete =
    (name: string): Completer<GatewayEnv> =>
    async (value, chosen, ctx) => {
      const client = await open(upstream, tokenFor(upstream, ctx.env, ctx.auth?.subject), { serverFacts: server });
      try {
        return (await client.complete(reference, name, value, { context: chosen, signal: ctx.signal })).values;
      } finally {
        await client.close();
      }
    };
  return { complete: Object.fromEntries(names.map((name) => [name, complete(name)])) };
}
