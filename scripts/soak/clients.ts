/** The clients of a soak test. Each one performs a typical action, in one session or none, and then leaves or breaks its connection. */
import { setTimeout as pause } from "node:timers/promises";
import { type HttpStream, openStream } from "../../src/testing/http-stream.ts";
import type { Random } from "../../test/chaos/random.ts";

const MODERN = "2026-07-28";
const LEGACY = ["2025-03-26", "2025-06-18", "2025-11-25"] as const;
const INFO = { name: "soak", version: "1.0.0" };
const CAPABILITIES = { elicitation: {}, roots: {} };

/** The server that a client uses, and the source of its random decisions. */
export interface Soaked {
  readonly url: string;
  readonly random: Random;
}

/** Thrown for a response that no client may receive. */
export class Unexpected extends Error {}

type Client = (soaked: Soaked) => Promise<void>;

class LegacySession {
  readonly #url: string;
  readonly #random: Random;
  readonly headers: Record<string, string>;

  private constructor({ url, random }: Soaked, headers: Record<string, string>) {
    this.#url = url;
    this.#random = random;
    this.headers = headers;
  }

  static async open(soaked: Soaked): Promise<LegacySession> {
    const version = LEGACY[soaked.random.int(0, LEGACY.length - 1)] ?? LEGACY[0];
    const params = { protocolVersion: version, capabilities: CAPABILITIES, clientInfo: INFO };
    const opened = await read(soaked.url, {}, { id: 0, method: "initialize", params });
    const id = opened.headers["mcp-session-id"];
    if (id === undefined) throw new Unexpected(`initialize gave no session: ${opened.status} ${opened.raw}`);
    const session = new LegacySession(soaked, { "MCP-Protocol-Version": version, "Mcp-Session-Id": id });
    await session.send({ method: "notifications/initialized" });
    return session;
  }

  send(message: object): Promise<HttpStream> {
    return read(this.#url, this.headers, message);
  }

  /** Sends a call and returns its answer as soon as it begins. */
  start(name: string, args: object = {}, cutAfterBytes = Number.POSITIVE_INFINITY): Promise<HttpStream> {
    const body = { jsonrpc: "2.0", id: this.#random.int(1, 1e9), ...callOf(name, args) };
    return openStream(this.#url, { headers: this.headers, body, cutAfterBytes, cutHow: this.cutHow });
  }

  async call(name: string, args: object = {}): Promise<HttpStream> {
    return ended(await this.start(name, args));
  }

  listen(lastEventId?: string): Promise<HttpStream> {
    const headers = { ...this.headers, ...(lastEventId === undefined ? {} : { "Last-Event-ID": lastEventId }) };
    return openStream(this.#url, { headers });
  }

  get cutHow(): "rst" | "fin" {
    return this.#random.chance(0.5) ? "rst" : "fin";
  }

  async leave(): Promise<void> {
    if (this.#random.chance(0.5)) await ended(await openStream(this.#url, { method: "DELETE", headers: this.headers }));
  }
}

function callOf(name: string, args: object) {
  return { method: "tools/call", params: { name, arguments: args, _meta: { progressToken: 1 } } };
}

async function read(url: string, headers: Record<string, string>, message: object): Promise<HttpStream> {
  return ended(await openStream(url, { headers, body: { jsonrpc: "2.0", ...message } }));
}

async function ended(stream: HttpStream): Promise<HttpStream> {
  await stream.end({ timeoutMs: 30_000 });
  if (stream.status >= 500) throw new Unexpected(`${stream.status} ${stream.raw}`);
  return stream;
}

/** Sends a request and breaks the connection before or while it is answered. */
async function abort(url: string, headers: Record<string, string>, message: object, afterMs: number): Promise<void> {
  const signal = AbortSignal.timeout(afterMs);
  const accept = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...message });
  await fetch(url, { method: "POST", headers: { ...accept, ...headers }, body, signal })
    .then((response) => response.text())
    .catch(() => undefined);
}

const legacy: Readonly<Record<string, Client>> = {
  "lists, calls and leaves": async (soaked) => {
    const session = await LegacySession.open(soaked);
    await session.send({ id: 1, method: "tools/list" });
    for (let call = soaked.random.int(1, 5); call > 0; call -= 1) await session.call("plain");
    await session.leave();
  },
  "streams, is cut, resumes": async (soaked) => {
    const session = await LegacySession.open(soaked);
    const stream = await session.start("telling", { count: 200 }, soaked.random.int(0, 20_000));
    await ended(stream);
    if (stream.ids.length > 0) await ended(await session.listen(stream.ids.at(-1)));
    await session.leave();
  },
  "aborts a call": async (soaked) => {
    const session = await LegacySession.open(soaked);
    await abort(soaked.url, session.headers, callOf("slow", {}), soaked.random.int(1, 100));
    await session.leave();
  },
  "leaves the answers of slow calls": async (soaked) => {
    const session = await LegacySession.open(soaked);
    const streams = [await session.start("slow"), await session.start("telling", { count: 1_000 })];
    await pause(soaked.random.int(0, 300));
    for (const stream of streams) stream.cut(session.cutHow);
  },
  "holds a GET stream, hears of a change, breaks": async (soaked) => {
    const session = await LegacySession.open(soaked);
    const stream = await session.listen();
    await session.call("changing");
    await pause(soaked.random.int(0, 2_000));
    stream.cut(session.cutHow);
    await session.leave();
  },
  "subscribes, sets a level, abandons": async (soaked) => {
    const session = await LegacySession.open(soaked);
    await session.send({ id: 1, method: "resources/subscribe", params: { uri: "soak://a" } });
    await session.send({ id: 2, method: "logging/setLevel", params: { level: "info" } });
  },
  // Versions before 2025-06-18 do not know the question, so it fails there.
  "is asked, answers or does not": async (soaked) => {
    const session = await LegacySession.open(soaked);
    const stream = await session.start("asking");
    await pause(100);
    const question = stream.messages.find((each) => (each as { method?: string }).method === "elicitation/create");
    if (question && soaked.random.chance(0.6)) {
      await session.send({ id: (question as { id: unknown }).id, result: { action: "decline" } });
      await ended(stream);
    }
    stream.cut(session.cutHow);
    await session.leave();
  },
};

const META = {
  "io.modelcontextprotocol/protocolVersion": MODERN,
  "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
};

function modernHeaders(method: string, name?: string): Record<string, string> {
  return { "MCP-Protocol-Version": MODERN, "Mcp-Method": method, ...(name === undefined ? {} : { "Mcp-Name": name }) };
}

function modernCall(name: string, args: object = {}) {
  const message = { method: "tools/call", params: { name, arguments: args, _meta: { ...META, progressToken: 1 } } };
  return { message, headers: modernHeaders("tools/call", name) };
}

const modern: Readonly<Record<string, Client>> = {
  "lists and calls": async ({ url }) => {
    await read(url, modernHeaders("tools/list"), { id: 1, method: "tools/list", params: { _meta: META } });
    const { message, headers } = modernCall("plain");
    await read(url, headers, { id: 2, ...message });
  },
  "streams and is cut": async ({ url, random }) => {
    const { message, headers } = modernCall("telling", { count: 300 });
    const cutAfterBytes = random.int(0, 40_000);
    await ended(await openStream(url, { headers, body: { jsonrpc: "2.0", id: 1, ...message }, cutAfterBytes }));
  },
  "aborts a call": async ({ url, random }) => {
    const { message, headers } = modernCall("slow");
    await abort(url, headers, message, random.int(1, 100));
  },
  "is asked and never answers": async ({ url }) => {
    const { message, headers } = modernCall("asking");
    await read(url, headers, { id: 1, ...message });
  },
  "repeats a call that runs once": async ({ url, random }) => {
    const call = modernCall("booking");
    const key = { "mcp-edge/idempotencyKey": `key-${random.int(1, 1e9)}` };
    const params = { ...call.message.params, _meta: { ...call.message.params._meta, ...key } };
    for (let id = 1; id <= 2; id += 1) await read(url, call.headers, { id, method: "tools/call", params });
  },
  "listens, hears of a change, breaks": async ({ url, random }) => {
    const params = { notifications: { toolsListChanged: true }, _meta: META };
    const body = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params };
    const stream = await openStream(url, { headers: modernHeaders("subscriptions/listen"), body });
    const { message, headers } = modernCall("changing");
    await read(url, headers, { id: 2, ...message });
    await pause(random.int(0, 2_000));
    stream.cut(random.chance(0.5) ? "rst" : "fin");
  },
};

const sse: Readonly<Record<string, Client>> = {
  "connects over HTTP+SSE, calls, breaks": async ({ url, random }) => {
    const stream = await openStream(url);
    await stream.waitFor("the endpoint", ({ events }) => events.some(({ event }) => event === "endpoint"));
    const path = stream.events.find(({ event }) => event === "endpoint")?.data ?? "";
    const post = new URL(path, url).href;
    const params = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: INFO };
    await read(post, {}, { id: 0, method: "initialize", params });
    await read(post, {}, { method: "notifications/initialized" });
    const name = random.chance(0.5) ? "plain" : "slow";
    await read(post, {}, { id: 1, method: "tools/call", params: { name, arguments: {} } });
    await pause(random.int(0, 500));
    stream.cut(random.chance(0.5) ? "rst" : "fin");
  },
};

/** All clients, by the description of their action. */
export const CLIENTS: ReadonlyMap<string, Client> = new Map([
  ...Object.entries(legacy).map(([what, client]): [string, Client] => [`legacy: ${what}`, client]),
  ...Object.entries(modern).map(([what, client]): [string, Client] => [`modern: ${what}`, client]),
  ...Object.entries(sse),
]);
