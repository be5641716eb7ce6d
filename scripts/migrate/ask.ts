/** Sends the same requests to any server, and returns its results. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

/** The results, by request. */
export type Answers = Record<string, unknown>;

interface Json {
  readonly [key: string]: unknown;
}

type Send = (method: string, params: Json) => Promise<unknown>;

/** How long a server may take to respond, in milliseconds. */
const ANSWER_MS = 15_000;
/** The version that all of the servers support. */
const VERSION = "2025-11-25";
const CALLS_MAX = 40;

/** Asks a process over stdio. */
export async function askProcess(command: readonly string[], cwd: string): Promise<Answers> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    cwd,
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH, HOME: cwd },
  });
  const errors: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  try {
    return await ask(stdioSender(child, cwd), {
      sampling: {},
      elicitation: { form: {}, url: {} },
      roots: { listChanged: true },
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}: ${Buffer.concat(errors).toString().slice(0, 400)}`);
  } finally {
    child.kill("SIGKILL");
  }
}

/** Asks a process that listens at a port. */
export async function askPort(command: readonly string[], cwd: string, port: number): Promise<Answers> {
  const url = `http://127.0.0.1:${port}/mcp`;
  if (await isListening(url)) throw new Error(`port ${port} is in use`);
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd, stdio: "ignore", env: { PATH: process.env.PATH, HOME: cwd } });
  try {
    const until = Date.now() + ANSWER_MS;
    while (!(await isListening(url))) {
      if (Date.now() > until) throw new Error(`nothing listens at port ${port}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return await askFetch((request) => fetch(request), url);
  } finally {
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("close", resolve));
  }
}

async function isListening(url: string): Promise<boolean> {
  try {
    await fetch(url, { method: "OPTIONS" });
    return true;
  } catch {
    return false;
  }
}

/** Answers a question of the server. The old and the new server get the same answer. */
function reply({ method, params }: Json, folder: string): Json {
  const { requestedSchema } = (params ?? {}) as Json;
  switch (method) {
    case "sampling/createMessage":
      return { result: { role: "assistant", model: "measure", content: { type: "text", text: "sampled" } } };
    case "elicitation/create":
      return { result: { action: "accept", ...(requestedSchema ? { content: sample(requestedSchema as Json) } : {}) } };
    case "roots/list":
      return { result: { roots: [{ uri: pathToFileURL(folder).href, name: "data" }] } };
    case "ping":
      return { result: {} };
    default:
      return { error: { code: -32601, message: "no" } };
  }
}

function stdioSender(child: ChildProcess, folder: string): Send {
  const waiting = new Map<number, (message: Json) => void>();
  child.stdin?.on("error", () => undefined);
  createInterface({ input: child.stdout ?? process.stdin }).on("line", (line) => {
    try {
      const message = JSON.parse(line) as Json;
      if (typeof message.id === "number" && !("method" in message)) waiting.get(message.id)?.(message);
      else if ("method" in message && "id" in message) {
        child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, ...reply(message, folder) })}\n`);
      }
    } catch {
      // Other output of the program.
    }
  });
  let id = 0;
  return (method, params) => {
    const isNotification = method.startsWith("notifications/");
    const message = { jsonrpc: "2.0", ...(isNotification ? {} : { id: ++id }), method, params };
    child.stdin?.write(`${JSON.stringify(message)}\n`);
    if (isNotification) return Promise.resolve(undefined);
    const own = id;
    return within(new Promise<Json>((resolve) => waiting.set(own, resolve)), method).then(outcome);
  };
}

/** Sends the requests to a function that returns responses. */
export function askFetch(handle: (request: Request) => Promise<Response>, url: string): Promise<Answers> {
  let id = 0;
  let session: string | undefined;
  const send: Send = async (method, params) => {
    const isNotification = method.startsWith("notifications/");
    const body = JSON.stringify({ jsonrpc: "2.0", ...(isNotification ? {} : { id: ++id }), method, params });
    const headers: Record<string, string> = {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      Host: new URL(url).host,
      ...(method === "initialize" ? {} : { "MCP-Protocol-Version": VERSION }),
      ...(session === undefined ? {} : { "Mcp-Session-Id": session }),
    };
    const response = await within(handle(new Request(url, { method: "POST", headers, body })), method);
    session ??= response.headers.get("mcp-session-id") ?? undefined;
    const text = await within(response.text(), method);
    if (isNotification) return undefined;
    const lines = response.headers.get("content-type")?.includes("event-stream")
      ? text
          .split("\n")
          .filter((line) => line.startsWith("data: {"))
          .map((line) => line.slice(6))
      : [text];
    const messages = lines.map((line) => JSON.parse(line) as Json);
    return outcome(messages.find((message) => message.id === id) ?? { error: { status: response.status, text } });
  };
  return ask(send, {});
}

const outcome = (message: Json): unknown => ("error" in message ? { error: message.error } : message.result);

async function within<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer to ${what}`)), ANSWER_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

async function ask(send: Send, capabilities: Json): Promise<Answers> {
  const answers: Answers = {};
  const params = { protocolVersion: VERSION, capabilities, clientInfo: { name: "measure", version: "1" } };
  answers.initialize = await send("initialize", params);
  await send("notifications/initialized", {});
  for (const method of ["tools/list", "prompts/list", "resources/list", "resources/templates/list"])
    answers[method] = await send(method, {});
  const list = (method: string, member: string) => ((answers[method] as Json | undefined)?.[member] ?? []) as Json[];
  const attempt = async (key: string, method: string, given: Json) => {
    answers[key] = await send(method, given).catch((error: Error) => ({ timeout: error.message }));
  };
  for (const tool of list("tools/list", "tools").slice(0, CALLS_MAX)) {
    await attempt(`call ${tool.name} with arguments`, "tools/call", {
      name: tool.name,
      arguments: sample(tool.inputSchema as Json),
    });
    await attempt(`call ${tool.name} without arguments`, "tools/call", { name: tool.name, arguments: {} });
  }
  await attempt("call of an unknown tool", "tools/call", { name: "no_such_tool", arguments: {} });
  for (const prompt of list("prompts/list", "prompts")) {
    const given = Object.fromEntries(((prompt.arguments ?? []) as Json[]).map(({ name }) => [name, "1"]));
    await attempt(`prompt ${prompt.name}`, "prompts/get", { name: prompt.name, arguments: given });
  }
  for (const resource of list("resources/list", "resources").slice(0, 5))
    await attempt(`read ${resource.uri}`, "resources/read", { uri: resource.uri });
  for (const template of list("resources/templates/list", "resourceTemplates").slice(0, 5)) {
    const uri = String(template.uriTemplate).replaceAll(/\{[^}]*\}/g, "1");
    await attempt(`read ${uri}`, "resources/read", { uri });
  }
  return answers;
}

/** Returns a value that fits a JSON Schema of the usual kind. */
function sample(schema: Json | undefined): unknown {
  if (!schema) return {};
  if ("default" in schema) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if ("const" in schema) return schema.const;
  const choice = ((schema.anyOf ?? schema.oneOf) as Json[] | undefined)?.[0];
  if (choice) return sample(choice);
  switch (schema.type) {
    case "object": {
      const required = (schema.required ?? []) as string[];
      const properties = (schema.properties ?? {}) as Record<string, Json>;
      return Object.fromEntries(required.map((name) => [name, sample(properties[name])]));
    }
    case "array":
      return [sample(schema.items as Json)];
    case "number":
    case "integer":
      return Math.max(1, Number(schema.minimum ?? 1));
    case "boolean":
      return true;
    default:
      return "sample";
  }
}
