/** Calls the tools of a generated project in memory, against a double of the API that is made from its description. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { exampleArguments, exampleOf, expectedRequest } from "../../packages/openapi/src/examples.ts";
import type { Generated } from "../../packages/openapi/src/project.ts";
import type { Tool } from "../../packages/openapi/src/tools.ts";
import { ROOT } from "../tools.ts";

/** The outcome of the calls. */
export interface Called {
  /** The size of the list of tools, in bytes. */
  readonly listed: number;
  readonly passed: number;
  /** The calls that failed, with the reason. */
  readonly failed: readonly string[];
}

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly body: string;
}

/** Lists and calls the tools. */
export async function callTools(
  work: string,
  { functionName, secrets }: Generated,
  tools: readonly Tool[],
  baseUrl: string,
): Promise<Called> {
  const outfile = join(ROOT, "dist", `measured-${process.pid}-${Date.now()}.mjs`);
  const entry = join(work, "src/measured/index.ts");
  const external = ["mcp-edge", "mcp-edge/safe"];
  await build({
    entryPoints: [entry],
    outfile,
    absWorkingDir: ROOT,
    bundle: true,
    format: "esm",
    platform: "node",
    external,
    logLevel: "error",
  });
  const { McpServer } = await import("mcp-edge");
  const { connectInMemory } = await import("mcp-edge/testing");
  const module = (await import(pathToFileURL(outfile).href)) as Record<string, (server: unknown) => void>;
  const server = new McpServer({ name: "measured", version: "1.0.0" });
  module[functionName]?.(server);
  const env = Object.fromEntries(secrets.map((name) => [name, "secret"]));
  const client = await connectInMemory(server as never, { env: env as never });
  const own = globalThis.fetch;
  const sent: Sent[] = [];
  let answer: unknown;
  globalThis.fetch = async (input, init) => {
    sent.push({ method: init?.method ?? "GET", url: String(input), body: await new Response(init?.body ?? "").text() });
    return answer === undefined ? new Response(null, { status: 204 }) : Response.json(answer);
  };
  const failed: string[] = [];
  try {
    const listed = await listAll(client as never);
    for (const tool of tools) {
      sent.length = 0;
      answer = tool.operation.response === undefined ? undefined : exampleOf(tool.response, true);
      const problem = await callOne(client as never, tool, baseUrl, sent).catch((error: Error) => error.message);
      if (problem !== undefined) failed.push(`${tool.name}: ${problem.slice(0, 300)}`);
    }
    return { listed, passed: tools.length - failed.length, failed };
  } finally {
    globalThis.fetch = own;
    await client.close();
    const { rmSync } = await import("node:fs");
    rmSync(outfile, { force: true });
  }
}

interface Client {
  request(method: string, params: object): Promise<Record<string, unknown>>;
}

async function listAll(client: Client): Promise<number> {
  const tools: unknown[] = [];
  let cursor: unknown;
  do {
    const page = await client.request("tools/list", cursor === undefined ? {} : { cursor });
    tools.push(...(page.tools as unknown[]));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return Buffer.byteLength(JSON.stringify(tools));
}

/** Returns what is wrong with a call; undefined if the request is as the description demands, and the response was returned. */
async function callOne(
  client: Client,
  tool: Tool,
  baseUrl: string,
  sent: readonly Sent[],
): Promise<string | undefined> {
  const args = exampleArguments(tool);
  const expected = expectedRequest(tool, baseUrl, args);
  const { isError, content } = await client.request("tools/call", { name: tool.name, arguments: args });
  if (isError === true) return JSON.stringify(content);
  const [first] = sent;
  if (first === undefined) return "no request was sent";
  if (first.method !== tool.operation.method) return `${first.method} was sent`;
  const isKeyInUrl = first.url.startsWith(expected.url);
  if (!isKeyInUrl) return `${first.url} was requested, not ${expected.url}`;
  if (expected.json !== undefined && JSON.stringify(JSON.parse(first.body)) !== JSON.stringify(expected.json))
    return `the body was ${first.body.slice(0, 120)}, not ${JSON.stringify(expected.json).slice(0, 120)}`;
  if (expected.text !== undefined && first.body !== expected.text) return `the body was ${first.body.slice(0, 120)}`;
  return undefined;
}
