// @module-tag long
/** Every server in the guides and in doc comments is run on workerd exactly as printed. */
import { describe, expect, test } from "vitest";
import { startWorker, type TestWorker } from "../../src/testing/index.ts";
import { expectLogs } from "../harness/logs.ts";
import { commentBlocks, documentBlocks, isSnippet } from "./blocks.ts";

expectLogs(
  // bearer(), at the first request.
  /^mcp-edge: tokens must have the issuer/,
  // The audits of the guides.
  /^call undefined hello ok$/,
  /^call undefined undefined ok$/,
  // The guide about plugins.
  /^\{"audit":\{"kind":"refusal"/,
  /^refused undefined insufficient_scope 403$/,
  // The guide about operating: the binding of Analytics Engine is not configured here, and debug() logs each message.
  /^mcp-edge: a record of the audit was lost KitError: audit\(\): the binding "USAGE" is missing/,
  /^\{"mcp":\{"direction":"(in|out)"/,
);

/** Code that a snippet relies on: a server, and functions of the reader. */
const BEFORE = `
import { McpServer } from "mcp-edge";
import * as z from "zod";
const server = new McpServer({ name: "snippet", version: "1.0.0" });
server.tool("hello", {}, () => "Hello!");
server.tool("export_all", {}, () => "Everything.");
const reserve = (size, key) => ({ number: 7, price: 3, size, key });
const build = (key) => ({ version: "1.2.3", key });
const publish = (version, key) => "Published " + version + ".";
const verify = () => ({ issuer: "https://issuer.example", subject: "ada" });
`;

/** What the code of a snippet with files relies on. */
const STORE = `
import { addFiles } from "mcp-edge/files";
const store = addFiles(server);
`;

/** The modules that doc comments import from. */
const MODULES: Readonly<Record<string, string>> = {
  edge: "mcp-edge/worker",
  anonymous: "mcp-edge/worker",
  authenticate: "mcp-edge/worker",
  definePlugin: "mcp-edge/worker",
  objects: "mcp-edge/worker",
  durable: "mcp-edge/worker/durable",
  sessions: "mcp-edge/worker/durable",
  hub: "mcp-edge/worker/durable",
  keys: "mcp-edge/worker/durable",
  once: "mcp-edge/worker/once",
  replay: "mcp-edge/worker/durable",
  tasks: "mcp-edge/worker/durable",
  workflows: "mcp-edge/worker/workflows",
  httpSse: "mcp-edge/worker/durable",
  page: "mcp-edge/worker",
  bearer: "mcp-edge/worker/auth",
  workersOAuthProvider: "mcp-edge/worker/auth",
  dpop: "mcp-edge/worker/durable",
  authorizationServer: "mcp-edge/authorization-server",
  oidc: "mcp-edge/authorization-server",
  rates: "mcp-edge/worker/durable",
  audit: "mcp-edge/worker",
  debug: "mcp-edge/worker",
  health: "mcp-edge/worker",
  files: "mcp-edge/worker/files",
};

interface Snippet {
  readonly title: string;
  readonly source: string;
  /** Names of the classes that it exports. */
  readonly classes: readonly string[];
}

function snippetOf(title: string, source: string): Snippet {
  const classes = [...source.matchAll(/export class (\w+) extends app\./g)].map(([, name = ""]) => name);
  // The server and its store are in the code before the snippet.
  const own = source.replace(/^import \{ server, store \} from "\.\/server\.ts";$/m, "");
  return { title, source: /\bstore\b/.test(own) ? STORE + own : own, classes };
}

/** The server for a block that only defines tools. */
const SERVED = `
import { edge } from "mcp-edge/worker";
import { durable } from "mcp-edge/worker/durable";
const app = edge(server, { use: [durable()] });
export default app;
export class McpObject extends app.McpObject {}
`;

/** The servers of the guides, and their tools, which are served with all parts. */
function guideSnippets(): Snippet[] {
  return documentBlocks()
    .filter(isSnippet)
    .map(({ title, text }) => {
      if (/^server\.tool\(/m.test(text)) return snippetOf(title, text + SERVED);
      // A fragment that shows only options.
      const isFragment = !text.includes('from "mcp-edge/worker"');
      return snippetOf(title, isFragment ? `import { edge } from "mcp-edge/worker";\n${text}` : text);
    });
}

/** Doc comments use names without importing them. */
function commentSnippets(): Snippet[] {
  return commentBlocks()
    .filter(isSnippet)
    .map(({ title, text }) => {
      const used = Object.keys(MODULES).filter((name) => new RegExp(`\\b${name}\\(`).test(text));
      const imports = used.map((name) => `import { ${name} } from "${MODULES[name]}";\n`).join("");
      return snippetOf(title, imports + text);
    });
}

const CONTENT = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
const INFO = { name: "reader", version: "1.0.0" };

async function answer(response: Response): Promise<Record<string, unknown>> {
  const text = await response.text();
  const data = text.startsWith("{")
    ? text
    : text
        .split("\n")
        .findLast((line) => line.startsWith("data: {"))
        ?.slice(6);
  return { status: response.status, session: response.headers.get("Mcp-Session-Id"), ...JSON.parse(data ?? "{}") };
}

async function post(worker: TestWorker, message: object, headers: Record<string, string> = {}) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...message });
  return answer(await fetch(worker.url("/mcp"), { method: "POST", headers: { ...CONTENT, ...headers }, body }));
}

/** A request of a 2026-07-28 client that can be asked and supports tasks. */
function modern(worker: TestWorker, method: string, params: Record<string, unknown>) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": INFO,
    "io.modelcontextprotocol/clientCapabilities": {
      elicitation: { form: {} },
      extensions: { "io.modelcontextprotocol/tasks": {} },
    },
    // The rounds of a call have one key, and each call another.
    "mcp-edge/idempotencyKey": `the reader's key for ${method} ${params.name ?? params.taskId}`,
  };
  const named = String(params.name ?? params.taskId);
  const headers = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": named };
  return post(worker, { method, params: { ...params, _meta } }, headers);
}

const HELLO = { content: [{ type: "text", text: "Hello!" }] };

/** Connects as a legacy client and calls a tool, with a session if the snippet configures sessions. */
async function useAsLegacy(worker: TestWorker, hasSessions: boolean, hasNotifications: boolean): Promise<void> {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: INFO };
  const opened = await post(worker, { method: "initialize", params });
  expect(opened).toMatchObject({ status: 200, session: hasSessions ? expect.any(String) : null });
  const session: Record<string, string> = hasSessions ? { "Mcp-Session-Id": String(opened.session) } : {};
  const headers = { "MCP-Protocol-Version": "2025-11-25", ...session };
  const called = await post(worker, { method: "tools/call", params: { name: "hello", arguments: {} } }, headers);
  expect(called).toMatchObject({ status: 200, result: HELLO });
  if (!hasSessions) return;
  const cut = new AbortController();
  const stream = await fetch(worker.url("/mcp"), {
    headers: { ...headers, Accept: "text/event-stream" },
    signal: cut.signal,
  });
  // Without notifications, the server has nothing to send outside of calls.
  expect(stream.status).toBe(hasNotifications ? 200 : 405);
  cut.abort();
}

/** Calls a server that needs a token without one, and follows its challenge. */
async function useWithoutToken(worker: TestWorker): Promise<void> {
  const refused = await fetch(worker.url("/mcp"), { method: "POST" });
  const challenge = refused.headers.get("WWW-Authenticate") ?? "";
  expect([refused.status, challenge]).toEqual([401, expect.stringMatching(/^Bearer .*resource_metadata="[^"]+"$/)]);
  const { pathname } = new URL(challenge.slice(challenge.lastIndexOf("=") + 2, -1));
  const metadata = await (await fetch(worker.url(pathname))).json();
  expect(metadata).toMatchObject({ resource: expect.any(String), authorization_servers: [expect.any(String)] });
}

/** Uses the handler of a snippet: answers its questions. */
const HANDLERS: Readonly<Record<string, (worker: TestWorker) => Promise<void>>> = {
  order: async (worker) => {
    const call = { name: "order", arguments: {} };
    const asked = await modern(worker, "tools/call", call);
    expect(asked.result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
    const { inputRequests, requestState } = asked.result as { inputRequests: object; requestState: string };
    const [key = ""] = Object.keys(inputRequests);
    const inputResponses = { [key]: { action: "accept", content: { size: "M" } } };
    const again = await modern(worker, "tools/call", { ...call, inputResponses, requestState });
    expect(JSON.stringify(again.result)).toContain("Order number 7: pay 3?");
  },
  publish: async (worker) => {
    const made = await modern(worker, "tools/call", { name: "publish", arguments: {} });
    expect(made.result).toMatchObject({ resultType: "task" });
    const { taskId } = made.result as { taskId: string };
    const look = async () => (await modern(worker, "tasks/get", { taskId })).result;
    await expect.poll(look, { timeout: 10_000 }).toMatchObject({ status: "input_required" });
  },
};

/** Calls the tool that the plugin of a guide keeps for callers with a paid plan. */
async function useWithoutPlan(worker: TestWorker): Promise<void> {
  const refused = await modern(worker, "tools/call", { name: "export_all", arguments: {} });
  expect(refused).toMatchObject({ status: 403, error: { code: -32600, message: "This tool needs a paid plan." } });
}

const SNIPPETS = [...guideSnippets(), ...commentSnippets()];

describe("servers in the documentation", () => {
  test("are all found", () => {
    expect(SNIPPETS.filter(({ title }) => title.startsWith("docs")).length).toBeGreaterThanOrEqual(8);
    expect(SNIPPETS.filter(({ title }) => title.startsWith("src")).length).toBeGreaterThanOrEqual(9);
  });

  test.each(SNIPPETS)("work as printed: $title (%#)", { timeout: 60_000 }, async ({ source, classes }) => {
    const objects = classes.filter((name) => name.endsWith("Object"));
    const workflows = classes.includes("McpTaskWorkflow") ? { MCP_TASK_WORKFLOW: "McpTaskWorkflow" } : {};
    await using worker = await startWorker({ entry: { source: `${BEFORE}${source}` }, objects, workflows });
    if (/bearer\(|authorizationServer\(/.test(source)) return await useWithoutToken(worker);
    if (/cloudflareAccess\(|userId|X-User/.test(source)) {
      return expect((await fetch(worker.url("/mcp"), { method: "POST" })).status).toBe(401);
    }
    await useAsLegacy(worker, /sessions\(|durable\(/.test(source), /hub\(|durable\(/.test(source));
    expect(await modern(worker, "tools/call", { name: "hello", arguments: {} })).toMatchObject({ result: HELLO });
    if (source.includes("paidTools(")) await useWithoutPlan(worker);
    for (const [name, use] of Object.entries(HANDLERS)) if (source.includes(`server.tool("${name}"`)) await use(worker);
  });
});
